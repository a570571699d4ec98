"""A book made by hand: what it answers, and which files are none."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load, save, save_file

from loadstone.books.book import Book, Failure, Recollection, open_book
from loadstone.memories.files import write_tensors

#: With W = 1 a score is a product of two vectors.
BOOK = Book(
    np.eye(2), ("East", "north", "east"), ("right", "up", "left"), np.array([0, 1, 2]),
    np.array([[2.0, 0.5], [0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]),
    np.array([True, True, False]), {"family": "full", "conflicts": [["a -> b", 3]]},
)  # fmt: skip


def test_answers_come_with_scores_and_margins():
    assert BOOK.recall("East", 5) == [
        Recollection("right", 2.0, 1.5), Recollection("up", 0.5, -1.5), Recollection("left", -2.0, -4.0),
    ]  # fmt: skip
    assert BOOK.recall("North") == [Recollection("up", 1.0, 1.0)]
    with pytest.raises(ValueError, match="top is 0"):
        BOOK.recall("North", 0)
    assert BOOK.margins().tolist() == [1.5, 1.0, -2.0]
    assert BOOK.failures() == [Failure("east", "left", "right", -2.0)]


def test_a_name_is_looked_up_as_written_and_then_in_small_letters():
    assert [BOOK.row(name) for name in ("East", "east", "EAST", "NORTH")] == [0, 2, 2, 1]
    twice = replace(BOOK, subjects=("north", "north", "East"))
    assert twice.row("north") == 0 and twice.row("EAST") == 2
    for name, hint in (("norht", r" \(did you mean 'north'\?\)"), ("x" * 300 + "north", "")):
        with pytest.raises(KeyError, match=f"is not in the book{hint}."):
            BOOK.row(name)


def test_what_a_book_says_of_itself():
    assert repr(BOOK) == "<Book: 2 of 3 facts stored, 3 answers, d = 2>" and BOOK.family == "full" and len(BOOK) == 3
    assert repr(replace(BOOK, about={"proved": True})) == "<Book: 2 of 3 facts stored (proved), 3 answers, d = 2>"
    assert (
        replace(BOOK, about={"family": "symmetric"}).family == "symmetric" and replace(BOOK, about={}).family == "full"
    )
    assert BOOK.conflicts() == [["a -> b", "3"]] and replace(BOOK, about={"conflicts": "all"}).conflicts() == []
    vectors = BOOK.vectors()
    assert list(vectors) == ["right", "up", "left", "East", "north", "east"]
    assert vectors["up"].tolist() == [0, 1] and vectors["East"].tolist() == [2, 0.5]


def contents(path):
    """Metadata and arrays of the book's file, without the checksum."""
    BOOK.save(path)
    with safe_open(str(path), framework="numpy") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    del metadata["loadstone checksum"]
    return metadata, arrays


def written(path, changed):
    """The file of the book with some of its arrays or words changed, and the right checksum."""
    metadata, arrays = contents(path)
    words = json.loads(metadata["words"])
    words |= {name: changed[name] for name in changed if name in words}
    arrays |= {name: np.asarray(changed[name]) for name in changed if name not in words}
    write_tensors(path, arrays, metadata=metadata | {"words": json.dumps(words)})
    return path


@pytest.mark.parametrize("changed, sentence", [
    ({"targets": [0, 1, 3]}, "a target is not one of the answers"),
    ({"targets": [0, 1, -1]}, "a target is not one of the answers"),
    ({"targets": [0, 1]}, r"targets is int64\(2,\) instead of \(3,\)"),
    ({"targets": [0.0, 1.0, 2.0]}, "targets is float64"),
    ({"stored": [1, 1, 0]}, "stored is int64"),
    ({"stored": [True]}, r"stored is bool\(1,\) instead of \(3,\)"),
    ({"weights": [[1.0, 0.0], [0.0, np.inf]]}, "weights has numbers that are not finite"),
    ({"inputs": [[1.0, 0.0], [0.0, np.nan], [1.0, 1.0]]}, "inputs has numbers that are not finite"),
    ({"inputs": [[1.0, 0.0]]}, r"inputs is float64\(1, 2\) instead of \(3, 2\)"),
    ({"outputs": np.ones((3, 3))}, r"outputs is float64\(3, 3\) instead of \(3, 2\)"),
    ({"weights": np.ones((3, 2))}, r"weights is float64\(3, 2\) instead of \(2, 2\)"),
    ({"weights": np.ones((2, 2), int)}, "weights is int64"),
    ({"subjects": []}, "instead of"),
    ({"answers": ["right"], "outputs": np.ones((1, 2)), "targets": [0, 0, 0]}, "a target is not one of the answers"),
    ({"subjects": [], "inputs": np.ones((0, 2)), "targets": np.zeros(0, int), "stored": np.zeros(0, bool)}, "a target"),
    ({"more": [1.0]}, "unexpected keyword argument"),
    ({"about": []}, "it does not say what it is about"), ({"subjects": "Een"}, "its subjects are not a list of words"),
    ({"answers": [1, 2, 3]}, "its answers are not a list of words"),
    ({"about": {"conflicts": [1, 2]}}, r"'conflicts' cannot be \[1, 2\]"),
    ({"about": {"conflicts": "all"}}, "'conflicts' cannot be 'all'"),
    ({"about": {"edits": [[]]}}, r"'edits' cannot be \[\[\]\]"), ({"about": {"family": 3}}, "'family' cannot be 3"),
    ({"about": {"proved": "yes"}}, "'proved' cannot be 'yes'"), ({"about": {"averaged": None}}, "'averaged' cannot be"),
    ({"about": {"out_of_vocabulary": {"a": 1}}}, "'out_of_vocabulary' cannot be"),
    ({"about": {"impossible": [["a -> b"]]}}, "'impossible' cannot be"),
])  # fmt: skip
def test_a_damaged_book_is_refused(changed, sentence, tmp_path):
    with pytest.raises(ValueError, match=f"but must be undamaged .*{sentence}"):
        open_book(written(tmp_path / "b.safetensors", changed))


def test_the_smallest_book_is_one(tmp_path):
    changed = {"subjects": ["a"], "inputs": np.ones((1, 2)), "targets": [1], "stored": [True]}
    changed |= {"answers": ["x", "y"], "outputs": np.ones((2, 2))}
    assert len(open_book(written(tmp_path / "b.safetensors", changed))) == 1
    with pytest.raises(FileNotFoundError):
        open_book(tmp_path / "none")


def test_what_is_no_book_is_refused_in_one_sentence(tmp_path):
    path, words = tmp_path / "b.safetensors", '{"subjects": ["a"], "answers": ["b", "c"], "about": {}}'
    BOOK.save(path)
    whole = path.read_bytes()
    for raw in (b"", whole[:-5]):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match="must be a file that `loadstone facts store` wrote"):
            open_book(path)
    for metadata, sentence in (
        ({}, "a book, which this file is not"), ({"format": "loadstone book 9"}, "is of a later one"),
        ({"format": "loadstone book 1"}, "undamaged"), ({"format": "loadstone book 1", "words": "{"}, "undamaged"),
        ({"format": "loadstone book 1", "words": words}, "undamaged"),
        ({"format": "loadstone book 2", "words": words}, "undamaged .it has no checksum"),
    ):  # fmt: skip
        save_file({"weights": np.eye(2)}, path, metadata)
        with pytest.raises(ValueError, match=sentence) as error:
            open_book(path)
        assert "\n" not in str(error.value)


def random_change(whole, chance):
    """The bytes of a book with one thing changed: bits, a byte, the end, two pieces, two arrays, or the JSON."""
    changed, kind = bytearray(whole), chance.choice(["bit", "byte", "end", "pieces", "arrays", "negated", "words"])
    where = chance.randrange(len(whole))
    if kind == "bit":
        changed[where] ^= 1 << chance.randrange(8)
    elif kind == "byte":
        changed[where] = chance.choice([byte for byte in range(256) if byte != whole[where]])
    elif kind == "end":
        return whole[:where]
    elif kind == "pieces":
        one, other = sorted(chance.sample(range(len(whole) - 16), 2))
        changed[one : one + 16], changed[other : other + 16] = whole[other : other + 16], whole[one : one + 16]
    else:
        return exchanged(whole, kind, chance)
    return bytes(changed)


def exchanged(whole, kind, chance):
    """The book with two arrays exchanged, one negated or something else said, as another program would write it."""
    length = int.from_bytes(whole[:8], "little")
    metadata, arrays = json.loads(whole[8 : 8 + length])["__metadata__"], load(whole)
    words = json.loads(metadata["words"])
    if kind == "arrays":
        one, other = chance.sample(["weights", "inputs", "outputs"], 2)
        arrays[one], arrays[other] = arrays[other], arrays[one]
    elif kind == "negated":
        name = chance.choice(["weights", "inputs", "outputs", "stored"])
        arrays[name] = ~arrays[name] if name == "stored" else -arrays[name]
    else:
        name = chance.choice(["subjects", "answers", "about"])
        words[name] = words[name][::-1] if name != "about" else words[name] | {"proved": True}
        if words == json.loads(metadata["words"]):
            words["about"] = {}
    return save(arrays, metadata | {"words": json.dumps(words)})


@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.soak)])
def test_every_change_of_a_book_is_refused_in_one_sentence(count, tmp_path):
    """Of a change that alters nothing, such as one of white space, the book remains the same."""
    path, chance = tmp_path / "b.safetensors", random.Random(count)
    BOOK.save(path)
    whole, same = path.read_bytes(), repr_of(BOOK)
    for _ in range(count):
        changed = random_change(whole, chance)
        if changed == whole:
            continue
        path.write_bytes(changed)
        try:
            book = open_book(path)
        except ValueError as error:
            assert str(error).startswith("book is ") and "\n" not in str(error)
        else:
            assert repr_of(book) == same


def repr_of(book):
    """All that is in a book."""
    return json.dumps([repr(value.tolist()) if hasattr(value, "tolist") else value for value in vars(book).values()])


def first_format(path, changed):
    """The file of the book as the first format had it, with some arrays changed."""
    metadata, arrays = contents(path)
    save_file(arrays | changed, path, metadata | {"format": "loadstone book 1"})
    return path


def test_a_book_without_a_checksum_says_what_is_measured(tmp_path):
    path = tmp_path / "b.safetensors"
    book = open_book(first_format(path, {}))
    assert book.stored.tolist() == [True, True, False] and book.recall("East")[0].answer == "right"
    upside_down = open_book(first_format(path, {"weights": -np.eye(2), "stored": np.ones(3, bool)}))
    assert upside_down.stored.tolist() == [False, False, True] and len(upside_down.failures()) == 2
    assert upside_down.about["proved"] is False
    upside_down.save(path)
    assert open_book(path).stored.tolist() == [False, False, True]  # from now on with a checksum
