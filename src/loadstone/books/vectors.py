"""Vectors of words, from the files that people have and from Python. Only the words that are asked for are kept.

Nothing in a file is executed: archives are read without pickles, and stated sizes are checked before memory is taken.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from safetensors import SafetensorError, safe_open

from loadstone.arguments import refuse
from loadstone.problems.archive import read_archive, read_npy, tensor
from loadstone.problems.arrays import exact_floats
from loadstone.progress import Progress, silent

Vector = Float[np.ndarray, "d"]
#: Where a word was found, the word, and its numbers.
Entry = tuple[str, str, Any]
#: A file, a mapping from words to vectors, or a function that knows the vector of a word or returns None.
Source = str | Path | Mapping[str, ArrayLike] | Callable[[str], ArrayLike | None]
#: `progress` is called once in so many words.
_NOW_AND_THEN = 5000
#: A longer word in a binary file means that it is no file of word2vec.
_LONGEST_WORD = 10_000


def read_vectors(
    source: Source, wanted: Collection[str], words: str | Path | None = None, progress: Progress = silent
) -> dict[str, Vector]:
    """The vectors of those wanted words that the source has.

    words: for .npy and .safetensors, a text file with one word a line [default: beside it, ending in .txt].
    progress: called with how many bytes of a file are read; only text and binary files, which are read from beginning
        to end, call it.
    """
    vectors: dict[str, Vector] = {}
    for where, word, values in _entries(source, set(wanted), words, progress):
        vector = _vector(f"the vector of {word!r}{where}", values)
        if vectors and len(vector) != len(next(iter(vectors.values()))):
            length = len(next(iter(vectors.values())))
            raise ValueError(f"the vector of {word!r}{where} has {len(vector)} numbers, but others have {length}.")
        if word in vectors and not np.array_equal(vectors[word], vector):
            raise ValueError(f"the word {word!r}{where} is there twice, with different vectors: leave one out.")
        vectors[word] = vector
    return vectors


def _entries(source: Source, wanted: set[str], words: str | Path | None, progress: Progress) -> Iterator[Entry]:
    """Where each of the wanted words was found, the word, and its numbers."""
    if isinstance(source, str | Path):
        path = Path(source)
        readers = {".npz": _npz, ".npy": _npy, ".safetensors": _safetensors}
        suffix = path.suffix.lower()
        if words is not None and suffix not in (".npy", ".safetensors"):
            raise refuse("words", str(words), f"left out, because {path.name} has its words in it")
        read = readers.get(suffix)
        streamed = _binary if suffix == ".bin" else _text
        entries = read(path, wanted, words) if read else streamed(path, wanted, progress)
        for where, word, values in entries:
            yield f" ({where} of {path.name})", word, values
    elif isinstance(source, Mapping):
        yield from (("", word, source[word]) for word in sorted(wanted) if word in source)
    elif callable(source):
        yield from (("", word, values) for word in sorted(wanted) if (values := source(word)) is not None)
    else:
        raise refuse("vectors", type(source).__name__, "a file, a mapping from words to vectors, or a function")


def _vector(name: str, values: Any) -> Vector:
    try:
        vector = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is not a list of numbers.") from error
    if vector.ndim != 1 or vector.size == 0 or vector.dtype.kind not in "fiu":
        raise ValueError(f"{name} is {vector.dtype} of shape {vector.shape}, but must be a list of real numbers.")
    if not np.isfinite(vector).all() or not vector.any():
        what = "only zeros" if not vector.any() else "numbers that are not finite"
        raise ValueError(f"{name} has {what}, so nothing can be asked with it: leave the word out.")
    exact = exact_floats(name, values)  # refuses what float64 does not hold, such as whole numbers beyond 2^53
    return exact if vector.dtype in (np.float32, np.float64) else _in_few_digits(exact)


def _in_few_digits(vector: Vector) -> Vector:
    """The vector in float32, which takes half the memory, if that holds all its numbers."""
    with np.errstate(over="ignore", under="ignore"):
        single = vector.astype(np.float32)
    return single if np.array_equal(single, vector) else vector


def _text(path: Path, wanted: set[str], progress: Progress) -> Iterator[Entry]:
    """The entries of a text file: a word and its numbers a line. In word2vec's format a first line gives the number of
    vectors and their length; it is not taken for a word because a vector has more than one number."""
    width = None
    with open(path, "rb") as file:
        for line, raw in enumerate(file, 1):
            if line % _NOW_AND_THEN == 0:
                progress(file.tell(), f"bytes of {path.name} are read")
            if line == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise ValueError(f"{path.name} is not UTF-8 text: save the file as UTF-8.")
            raw = raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw
            parts = raw.rstrip().split(b" ") if b"\t" not in raw else raw.rstrip().split(b"\t")
            if line == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                width = int(parts[1])
                continue
            if len(parts) < 2:
                if parts == [b""]:
                    continue
                raise ValueError(f"line {line} of {path.name} has no numbers; it must have a word and its vector.")
            width = width or len(parts) - 1
            # A word may contain blanks, as a few of GloVe's do: the numbers are counted from the end.
            word, numbers = b" ".join(parts[:-width]).decode("utf-8", "replace"), parts[-width:]
            first = parts[0].decode("utf-8", "replace")
            if word in wanted or first in wanted:
                try:
                    values = np.array([float(part) for part in numbers])
                    more = first in wanted and len(parts) != width + 1 and all(map(_is_number, parts[1:-width]))
                except ValueError:
                    more = True
                if more:
                    raise ValueError(f"line {line} of {path.name} has {first!r} without a vector of {width} numbers.")
                if (large := _rounded(numbers, values)) is not None:
                    given = large.decode("ascii")
                    raise ValueError(
                        f"line {line} of {path.name} has {given} for {word!r}, which no float64 is: "
                        "give numbers of fewer digits."
                    )
                yield f"line {line}", word, _in_few_digits(values)


def _rounded(numbers: list[bytes], values: Vector) -> bytes | None:
    """A whole number that float64 does not hold. Decimal fractions stand for the float64 nearest to them."""
    large = np.flatnonzero(np.isfinite(values) & (np.abs(values) >= 2.0**53))
    whole = [(numbers[index], float(values[index])) for index in large if numbers[index].lstrip(b"+-").isdigit()]
    return next((number for number, value in whole if int(number) != value), None)


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _binary(path: Path, wanted: set[str], progress: Progress) -> Iterator[Entry]:
    """The entries of word2vec's binary format: the number of words and their vectors' length, then word by word."""
    with open(path, "rb") as file:
        header = file.readline(100).split()
        if len(header) != 2 or not all(part.isdigit() for part in header):
            raise refuse("vectors", str(path), "a binary file of word2vec, which begins with two whole numbers")
        count, width = map(int, header)
        if count * width * 4 > path.stat().st_size:
            raise ValueError(f"{path.name} is damaged: it is too short for {count} vectors of {width} numbers.")
        for number in range(1, count + 1):
            if number % _NOW_AND_THEN == 0:
                progress(file.tell(), f"bytes of {path.name} are read")
            word, raw = _word(path, file, number), file.read(4 * width)
            if len(raw) != 4 * width:
                raise ValueError(f"{path.name} is damaged: it ends within entry {number}.")
            if word in wanted:
                yield f"entry {number}", word, np.frombuffer(raw, "<f4")


def _word(path: Path, file: IO[bytes], number: int) -> str:
    letters = bytearray()
    while (letter := file.read(1)) != b" ":
        letters += letter
        if not letter or len(letters) > _LONGEST_WORD:
            raise ValueError(f"{path.name} is damaged: entry {number} has no word.")
    return letters.lstrip(b"\n").decode("utf-8", "replace")


def _npz(path: Path, wanted: set[str], words: object) -> Iterator[Entry]:
    try:
        arrays, _ = read_archive(path, ("words", "vectors"))
    except ValueError as error:
        raise refuse("vectors", str(path), f"an .npz with 'words' and 'vectors' ({error})") from error
    if arrays.keys() != {"words", "vectors"} or arrays["words"].dtype.kind != "U" or arrays["words"].ndim != 1:
        allowed = "an .npz with 'words', an array of texts, and 'vectors', an array of numbers"
        raise refuse("vectors", str(path), allowed)
    return _rows(path, arrays["words"].tolist(), arrays["vectors"], wanted)


def _npy(path: Path, wanted: set[str], words: str | Path | None) -> Iterator[Entry]:
    try:
        vectors = read_npy(path, mapped=True)
    except ValueError as error:
        raise refuse("vectors", str(path), f"an .npy with one vector a row ({error})") from error
    return _rows(path, _word_list(path, words), vectors, wanted)


def _safetensors(path: Path, wanted: set[str], words: str | Path | None) -> Iterator[Entry]:
    try:
        with safe_open(str(path), framework="numpy") as file:
            tables = [name for name in file.keys() if len(file.get_slice(name).get_shape()) == 2]
            name = "vectors" if "vectors" in tables else tables[0] if len(tables) == 1 else None
            if name is None:
                shown = ", ".join(tables[:20]) or "none"
                allowed = f"a file with one table of vectors, or one called 'vectors' ({shown})"
                raise refuse("vectors", str(path), allowed)
            try:
                vectors = tensor(file, name)
            except ValueError as error:
                raise refuse("vectors", str(path), f"a table of other numbers ({error})") from error
    except SafetensorError as error:
        raise refuse("vectors", str(path), f"a safetensors file ({error})") from error
    return _rows(path, _word_list(path, words), vectors, wanted)


def _word_list(path: Path, words: str | Path | None) -> list[str]:
    listed = Path(words) if words is not None else path.with_suffix(".txt")
    if words is None and not listed.exists():
        raise refuse("words", None, f"a text file with one word a line, because {path.name} has numbers only")
    try:
        text = listed.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{listed.name} is not UTF-8 text: save the file as UTF-8.") from error
    # `splitlines` would also end a line at signs that words contain, such as U+2028.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _rows(path: Path, words: Iterable[str], vectors: np.ndarray, wanted: set[str]) -> Iterator[Entry]:
    listed = list(words)
    if vectors.ndim != 2 or vectors.shape[0] != len(listed):
        raise ValueError(f"{path.name} has vectors of shape {vectors.shape}, but {len(listed)} words go with them.")
    return ((f"row {row}", word, vectors[row]) for row, word in enumerate(listed) if word in wanted)
