"""The records that come with a checkout: whole, possible, and each the record of its spec."""

import hashlib
import json
import os
import re
import zipfile
from pathlib import Path

from loadstone.runs.record import from_bytes
from loadstone.runs.spec import Spec
from loadstone.runs.validity import check_values
from loadstone.sweeps.catalogue import CATALOGUE, named_sweep

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "results" / "paper").glob("*.zip"), key=lambda file: file.stat().st_size)


def test_every_shipped_record_is_whole_and_possible_and_that_of_its_spec():
    """In one test, because reading all of them takes seconds."""
    assert sum(file.stat().st_size for file in SHIPPED) < 60e6
    records = set()  # some are in two packs
    for file in SHIPPED:
        with zipfile.ZipFile(file) as packed:
            sums = json.loads(packed.read("manifest.json"))["records"]
            assert packed.namelist() == [*sums, "manifest.json"] and len(sums) >= 10
            for number, (name, found) in enumerate(sums.items()):
                content = packed.read(name)
                assert hashlib.sha256(content).hexdigest() == found
                # To read all records takes half a minute: `make soak` does. Keys are compared below.
                if number % (1 if len(sums) < 1000 or "LOADSTONE_SOAK" in os.environ else 5) == 0:
                    record = from_bytes(content)
                    assert Spec.from_identity(record.spec).key == record.key == Path(name).stem
                    check_values(record)
        records |= sums.keys()
    stated = re.search(r"(\d+) runs from one NVIDIA H200, (\d+) from", (ROOT / "docs" / "measured.md").read_text())
    assert len(records) == sum(map(int, stated.groups()))


def test_the_largest_file_is_the_sweep_whose_time_is_stated():
    with zipfile.ZipFile(SHIPPED[-1]) as packed:
        keys = {Path(name).stem for name in packed.namelist() if name.endswith(".record")}
    # But for runs of 'scores' that were added later.
    with zipfile.ZipFile(ROOT / "results" / "paper" / "scores.zip") as packed:
        added = {Path(name).stem for name in packed.namelist() if name.endswith(".record")}
    assert keys | added == {spec.key for spec in named_sweep("paper", "paper")} and not keys & added


def test_every_run_of_the_catalogue_has_its_record():
    """So that figures are drawn from shipped records without a run, and no run of the catalogue changes by mistake."""
    shipped = {Path(name).stem for file in SHIPPED for name in zipfile.ZipFile(file).namelist()}
    runs = {name: {spec.key for spec in named_sweep(name, "paper")} for name in CATALOGUE}
    assert not {name for name, keys in runs.items() if keys - shipped}
