"""A store as a flat table for other programs: one row for each record, in CSV or Parquet.

Columns are the key, the spec (the paper's protocol as the solver `paper` with `protocol_steps` and so on, `hold` as
`form_asked`), the numbers and words of the result under their own names, and the circumstances as `run_seconds` and so
on. Traces, spectra and histograms stay in the records.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import IO, cast

from loadstone.arguments import choice
from loadstone.files import write_whole
from loadstone.runs.record import canonical
from loadstone.runs.store import Store
from loadstone.tasks.fields import PROTOCOL

FORMATS = ("csv", "parquet")

Cell = str | int | float | bool | None

#: These columns come first, in this order, in every table; all others follow in alphabetical order.
_FIRST = (
    "key problem d kappa p seed solver law form_asked stored_dtype meaning protocol_learning_rate protocol_steps "
    "protocol_warmup protocol_stop protocol_precision status accuracy violations loss margin steps form "
    "p_c storable not_storable run_seconds run_device run_machine run_loadstone run_jax run_python"
).split()
_SORTED_BY = "problem d kappa p seed solver law key".split()
#: Names, or their beginnings, of columns that come from the spec or the circumstances.
_NOT_OF_RESULTS = ("protocol_", "solver_", "run_", "form_asked")
#: A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
#: How a record writes the numbers that JSON cannot hold.
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def rows(store: Store) -> list[dict[str, Cell]]:
    """One row for each record, all with the same columns in the same order; None where a record has no value."""
    flat = [_row(key, summary) for key, summary in store.summaries().items()]
    names = (*_FIRST, *sorted({name for row in flat for name in row} - set(_FIRST)))
    return sorted(
        ({name: row.get(name) for name in names} for row in flat),
        key=lambda row: [_rank(row[name]) for name in _SORTED_BY],
    )


def export(store: Store, path: str | Path, format: str) -> int:
    """Write the table of a store and return its number of rows."""
    choice("format", format, FORMATS)
    table = rows(store)
    columns = {name: [row[name] for row in table] for name in (table[0] if table else _FIRST)}
    write_whole(path, lambda file: (_write_csv if format == "csv" else _write_parquet)(file, columns))
    return len(table)


def _row(key: str, summary: dict[str, dict[str, object]]) -> dict[str, Cell]:
    spec = {"form_asked" if name == "form" else name: value for name, value in summary["spec"].items()}
    protocol = spec.pop("protocol", None)
    if (solver := spec.get("solver")) == PROTOCOL:
        spec["solver"] = "paper"
    elif isinstance(solver, dict):  # every solver but the paper's is written with its parameters
        spec["solver"] = solver.get("name")
        spec |= {f"solver_{name}": value for name, value in solver.items() if name != "name"}
    parts = {name: value for name, value in summary["result"].items() if not name.startswith(_NOT_OF_RESULTS)}
    parts |= {f"run_{name}": value for name, value in summary["circumstances"].items()}
    if isinstance(protocol, dict):
        parts |= {f"protocol_{name}": value for name, value in protocol.items()}
    # If a result uses a name of the spec, the spec wins; the key wins over both.
    return {_text(name): _cell(value) for name, value in (parts | spec | {"key": key}).items()}


def _cell(value: object) -> Cell:
    if isinstance(value, list | dict):
        return canonical(value)
    if isinstance(value, str):
        return _NUMBERS.get(value, _text(value))
    return cast(Cell, value)  # records hold only what JSON can


def _text(word: str) -> str:
    """The word without lone surrogates: JSON can hold them, but a file cannot."""
    return word.encode(errors="backslashreplace").decode()


def _rank(value: Cell) -> tuple:
    """For sorting: numbers first, then words, then missing values."""
    if value is None or value != value:
        return (2,)
    return (1, value) if isinstance(value, str) else (0, value)


def _write_csv(file: IO[bytes], columns: dict[str, list[Cell]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow([_harmless(name) for name in columns])
    writer.writerows([_harmless(value) for value in row] for row in zip(*columns.values()))
    text.detach()  # flushed, but not closed: the caller opened the file


def _harmless(value: Cell) -> str:
    """The text of a cell: numbers with all their digits, words so that no spreadsheet takes them for a formula."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if value is None else repr(value)


def _write_parquet(file: IO[bytes], columns: dict[str, list[Cell]]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("format is 'parquet', but pyarrow is missing: pip install 'loadstone[parquet]'.") from error
    arrays = {name: pyarrow.array(*_typed(values)) for name, values in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)


def _typed(values: list[Cell]) -> tuple[list[Cell], str]:
    """A column in the narrowest type that holds it exactly; text if words and numbers are mixed."""
    kinds = {type(value) for value in values if value is not None}
    numbers = [value for value in values if isinstance(value, int | float)]
    if kinds == {bool}:
        return values, "bool"
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in numbers):
        return values, "int64"
    if kinds == {int} and all(0 <= value < 2**64 for value in numbers):
        return values, "uint64"
    if kinds and kinds <= {int, float} and all(isinstance(value, float) or abs(value) <= 2**53 for value in numbers):
        return [None if value is None else float(value) for value in values], "float64"
    return [value if value is None or isinstance(value, str) else repr(value) for value in values], "string"
