"""Facts as pairs of words, from files and from Python: each subject with its answer."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from loadstone.arguments import refuse
from loadstone.books.spelling import composed

#: A row of a table: its line in the file, or 0, and its cells.
Row = tuple[Any, ...]
#: Two columns of a table: where the subject is, and where its answer is.
Columns = tuple[str, str]
COLUMNS: Columns = ("subject", "object")


class Pair(NamedTuple):
    """One fact in words.

    subject, answer: 'France', 'Paris'.
    line: where it was read; 0 if it does not come from a file.
    """

    subject: str
    answer: str
    line: int = 0


def pairs_of(source: Any, columns: Columns = COLUMNS) -> Iterator[Pair]:
    """The pairs in a file (CSV, TSV, JSON lines, Parquet), a table (pandas, polars, pyarrow), a mapping, or any pairs.

    Text is taken as it is, except for blanks around it and accents, which are joined with their letters.
    """
    for where, (line, subject, answer) in rows_of(source, columns):
        yield Pair(text_of(where, "subject", subject), text_of(where, "answer", answer), line)


def rows_of(source: Any, columns: Columns, more: tuple[str, ...] = ()) -> Iterator[tuple[str, Row]]:
    """The place of each row, in words, and the row: its line (0 if it does not come from a file), its cells in the two
    columns and in the columns of `more` that are present."""
    if len(columns) != 2 or columns[0] == columns[1] or not all(isinstance(name, str) and name for name in columns):
        raise refuse("columns", columns, "two different names")
    if isinstance(source, str | Path):
        return _placed(Path(source).name, _from_file(Path(source), columns, more))
    if hasattr(source, "collect"):  # a lazy table of polars
        source = source.collect()
    if hasattr(source, "columns"):
        return _placed("the table", _from_table(source, columns, more))
    if isinstance(source, Mapping):
        return _placed("facts", ((0, *pair) for pair in source.items()))
    return _placed("facts", _listed(source, 2 + bool(more)))


def _placed(name: str, rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    return ((f"line {row[0]} of {name}" if row[0] else name, row) for row in rows)


def _listed(source: Iterable[Any], most: int) -> Iterator[Row]:
    for number, pair in enumerate(source):
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(cells := list(pair)) < 2:
            raise refuse(f"facts[{number}]", pair, "a subject and an answer")
        yield 0, *cells[:most]


def _from_table(table: Any, columns: Columns, more: tuple[str, ...]) -> Iterator[Row]:
    # In pyarrow, `columns` are the columns themselves.
    names = [str(name) for name in getattr(table, "column_names", table.columns)]
    wanted = [table[name] for name in _wanted("the table", columns, more, names)]
    cells = [column.to_list() if hasattr(column, "to_list") else column.to_pylist() for column in wanted]
    return ((number + 1, *row) for number, row in enumerate(zip(*cells)))


def _from_file(path: Path, columns: Columns, more: tuple[str, ...]) -> Iterator[Row]:
    tsv = partial(_csv, delimiter="\t")
    readers: dict[str, Callable[..., Iterator[Row]]]
    readers = {".csv": _csv, ".tsv": tsv, ".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise refuse("facts", str(path), f"a file that ends in {', '.join(readers)}")
    return readers[path.suffix.lower()](path, columns, more)


def is_empty(value: Any) -> bool:
    """Whether a cell has nothing in it: None, a NaN or, in pandas, a value that cannot be compared with itself."""
    missing = value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
    return missing or (isinstance(value, str) and not value.strip())


def text_of(where: str, what: str, value: Any) -> str:
    """A cell as text. Numbers are facts too, such as years, but truth values and lists are not."""
    if is_empty(value):
        raise ValueError(f"{where} has no {what}: fill it in, or leave the line out.")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{where} has {value!r} as its {what}, but must have a text or a number there.")
    text = composed(str(value).strip())
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(f"{where} has {text!r} as its {what}, but half a character is no text: correct the name.")
    return text


def _csv(path: Path, columns: Columns, more: tuple[str, ...], delimiter: str = ",") -> Iterator[Row]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            if not header:
                raise ValueError(f"{path.name} has nothing in its first line, which must name its columns.")
            indices = [header.index(name) for name in _wanted(path.name, columns, more, header)]
            for row in reader:
                if any(cell.strip() for cell in row):  # empty lines are no facts
                    cells = row + [""] * (len(header) - len(row))
                    yield reader.line_num, *(cells[index] for index in indices)
        except (csv.Error, UnicodeDecodeError) as error:
            # A line that is no text has not been counted yet.
            raise _damaged(path, reader.line_num + isinstance(error, UnicodeDecodeError), error) from error


def _json_lines(path: Path, columns: Columns, more: tuple[str, ...]) -> Iterator[Row]:
    with open(path, "rb") as file:
        for line, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                row = json.loads(raw.decode("utf-8-sig").rstrip())
            except (ValueError, RecursionError) as error:
                raise _damaged(path, line, error) from error
            if not isinstance(row, dict) or not set(columns) <= row.keys():
                wanted = " and ".join(map(repr, columns))
                raise ValueError(f"line {line} of {path.name} must be an object with {wanted} (see --columns).")
            yield line, row[columns[0]], row[columns[1]], *(row[name] for name in more if name in row)


def _parquet(path: Path, columns: Columns, more: tuple[str, ...]) -> Iterator[Row]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise ValueError(f"{path.name} is Parquet, which needs pyarrow: pip install pyarrow.") from None
    line = 0
    try:
        with parquet.ParquetFile(path) as file:
            wanted = _wanted(path.name, columns, more, list(file.schema_arrow.names))
            for batch in file.iter_batches(columns=wanted):
                for row in batch.to_pylist():
                    line += 1
                    yield line, *(row[name] for name in wanted)
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise _damaged(path, line + 1, error) from error


def _wanted(name: str, columns: Columns, more: tuple[str, ...], present: list[str]) -> list[str]:
    """The columns, and those of `more` that are present; each must be present once."""
    wanted = [*columns, *(column for column in more if column in present)]
    for column in wanted:
        if present.count(column) != 1:
            shown = ", ".join(present[:20]) or "none"
            often = "is there twice" if column in present else "is not there"
            raise ValueError(
                f"column {column!r} {often} in {name}, which has {shown}: name two of them with --columns."
            )
    return wanted


def _damaged(path: Path, line: int, error: Exception) -> ValueError:
    if isinstance(error, UnicodeDecodeError):
        # A file is decoded in large pieces: the line that was read last may lie far before the one at fault.
        with open(path, "rb") as file:
            line = next((number for number, raw in enumerate(file, 1) if not _is_text(raw)), line)
        return ValueError(f"line {line} of {path.name} is not UTF-8 text: save the file as UTF-8.")
    reason = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
    return ValueError(f"line {line} of {path.name} cannot be read ({' '.join(reason.split())[:120]}).")


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
