"""The records that come with a checkout: whole, possible, and each the record of its spec."""

import hashlib
import json
import os
import re
import zipfile
from pathlib import Path

import pytest

from loadstone.runs.record import from_bytes
from loadstone.runs.spec import Spec
from loadstone.runs.validity import check_values
from loadstone.studies.registry import SWEEPS, named_sweep

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "results" / "paper").glob("*.zip"), key=lambda file: file.stat().st_size)
#: Of each packed store: how many records it has, and digests of their keys and of the identities of their specs, of
#: every record and of one in so many. `python -m tests.runs.test_shipped` writes them: only where records are added.
KEPT, ONE_IN = Path(__file__).with_name("shipped_keys.json"), 50


def digests(file: Path, one_in: int = ONE_IN) -> dict[str, object]:
    """The digest of all keys, and that of the identities of one spec in so many, in the order of their keys."""
    with zipfile.ZipFile(file) as packed:
        places = {Path(name).stem: name for name in packed.namelist() if name.endswith(".record")}
        keys = sorted(places)
        specs = (Spec.from_identity(from_bytes(packed.read(places[key])).spec) for key in keys[::one_in])
        identities = [json.dumps(spec.identity(), sort_keys=True) for spec in specs]
    return {"records": len(keys), "keys": _sum(keys), f"one in {one_in}": _sum(identities)}


def _sum(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_keys_and_identities_of_shipped_records_are_the_same_for_good(file):
    kept = json.loads(KEPT.read_text())[file.name]
    found = digests(file) | (digests(file, 1) if "LOADSTONE_SOAK" in os.environ else {})
    assert found == {name: kept[name] for name in found}


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
                # To read all records takes half a minute: `make soak` does. Keys are compared above.
                if number % (1 if len(sums) < 100 or "LOADSTONE_SOAK" in os.environ else 20) == 0:
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


def test_every_run_of_the_sweeps_has_its_record():
    """So that figures are drawn from shipped records without a run, and no run of the sweeps changes by mistake."""
    shipped = {Path(name).stem for file in SHIPPED for name in zipfile.ZipFile(file).namelist()}
    runs = {name: {spec.key for spec in named_sweep(name, "paper")} for name in SWEEPS}
    assert not {name for name, keys in runs.items() if keys - shipped}


if __name__ == "__main__":
    KEPT.write_text(json.dumps({file.name: digests(file, 1) | digests(file) for file in SHIPPED}, indent=1) + "\n")
