"""The shipped records of a sweep, as rows, and the tables that the docs make of them."""

import zipfile
from pathlib import Path

from loadstone.runs.record import Record, from_bytes
from loadstone.studies.kit.rows import Row, row_of
from loadstone.studies.registry import named_sweep

RESULTS = Path(__file__).parents[2] / "results" / "paper"


def shipped_rows(sweep: str, *packs: str) -> list[Row]:
    """The records of a sweep's paper scale that lie in these packs."""
    found = shipped_records({spec.key for spec in named_sweep(sweep, "paper")}, *packs)
    return [row_of(record.spec, record.result) for record in found.values()]


def shipped_records(keys: set[str], *packs: str) -> dict[str, Record]:
    """Those of the records with these keys that lie in these packs."""
    found = {}
    for name in packs:
        with zipfile.ZipFile(RESULTS / f"{name}.zip") as packed:
            chosen = [name for name in packed.namelist() if Path(name).stem in keys]
            found |= {Path(name).stem: from_bytes(packed.read(name)) for name in chosen}
    return found


def docs_table(heading: str) -> list[list[str]]:
    """The table of docs/space.md whose first line begins so: the cells of each line below its headings."""
    text = (RESULTS.parents[1] / "docs" / "space.md").read_text()
    lines = text[text.index(heading) :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
