"""The shipped records of a sweep, as rows."""

import zipfile
from pathlib import Path

from loadstone.evidence.rows import Row, row_of
from loadstone.records.record import from_bytes
from loadstone.sweeps.catalogue import named_sweep

RESULTS = Path(__file__).parents[2] / "results" / "paper"


def shipped_rows(sweep: str, *packs: str) -> list[Row]:
    """The records of a sweep's paper scale that lie in these packs."""
    keys = {spec.key for spec in named_sweep(sweep, "paper")}
    rows = []
    for name in packs:
        with zipfile.ZipFile(RESULTS / f"{name}.zip") as packed:
            records = [from_bytes(packed.read(name)) for name in packed.namelist() if Path(name).stem in keys]
        rows += [row_of(record.spec, record.result) for record in records]
    return rows
