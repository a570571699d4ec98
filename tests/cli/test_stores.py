"""pack, unpack, export, run and status as a user runs them: files and exit codes."""

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import pyarrow.parquet
import pytest

from loadstone.cli import run
from loadstone.runs.pack import pack
from loadstone.runs.record import Record, key_of
from loadstone.runs.result import perform
from loadstone.runs.store import Store
from loadstone.studies.registry import named_sweep, specs_of
from tests.cli.folder import GRID


def record(number):
    spec = {"problem": "original", "d": 20, "p": 60 + number}
    return Record(key_of(spec), spec, {"loss": number / 3}, {"seconds": 0.1})


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "store")
    for number in range(4):
        made.put(record(number))
    return made


def test_shipped_records_are_redrawn_without_a_run(tmp_path, command):
    made, specs = Store(tmp_path / "made"), [spec for spec in named_sweep("hebbian") if spec.seed == 0]
    for spec in specs[:2]:
        (found,) = perform([spec])
        made.put(found)
    (tmp_path / "results" / "quick").mkdir(parents=True)
    pack(made, tmp_path / "results" / "quick" / "some.zip")
    drawn = command("reproduce", "hebbian", "single", "--seeds", 1, "--from-shipped", "--out", "out", cwd=tmp_path)
    assert drawn.returncode == 0 and "hebbian: 1 of 3 runs are not among the shipped records." in drawn.stderr
    panels = json.loads((tmp_path / "out" / "hebbian.json").read_text())["panels"]
    assert [panel["p"] for panel in panels] == [spec.p for spec in specs[:2]]
    # A figure without any record is not drawn, not even in part.
    assert not (tmp_path / "out" / "single.svg").exists() and (tmp_path / "out" / "report.html").exists()


def test_a_store_travels_in_one_file(store, tmp_path, command):
    file, new = tmp_path / "store.zip", tmp_path / "new"
    path = store.records / record(3).key[:2] / f"{record(3).key}.record"
    path.write_bytes(path.read_bytes()[:-1])
    packed = command("pack", "--store", store.folder, "--out", file, "--json")
    assert packed.returncode == 0 and packed.stderr == "", packed.stderr
    assert json.loads(packed.stdout) == {"store": str(store.folder), "out": str(file), "records": 3, "damaged": 1}

    there = command("unpack", file, "--store", new, "--json")
    assert there.returncode == 0, there.stderr
    assert json.loads(there.stdout) == {"file": str(file), "store": str(new), "added": 3, "already_there": 0}
    assert Store(new).get(record(2).key) == record(2)

    again = command("unpack", file, "--store", new)
    assert again.returncode == 0 and again.stdout == ""
    assert again.stderr == f"{new}: 0 records added, 3 were there already.\n"
    pack(Store(new), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == file.read_bytes()


def test_a_table_in_either_format(store, tmp_path, command):
    told = command("export", "--store", store.folder, "--out", tmp_path / "t.csv")
    assert told.returncode == 0 and told.stdout == "" and told.stderr == f"{tmp_path / 't.csv'}: 4 records as csv.\n"
    with open(tmp_path / "t.csv", newline="") as file:
        assert [float(row["loss"]) for row in csv.DictReader(file)] == [0, 1 / 3, 2 / 3, 1]

    done = command("export", "--store", store.folder, "--out", tmp_path / "t.txt", "--format", "parquet", "--json")
    assert done.returncode == 0 and done.stdout.count("\n") == 1, done.stderr
    expected = {"store": str(store.folder), "out": str(tmp_path / "t.txt"), "format": "parquet", "records": 4}
    assert json.loads(done.stdout) == expected
    table = pyarrow.parquet.read_table(tmp_path / "t.txt")
    assert table.column("loss").to_pylist() == [0, 1 / 3, 2 / 3, 1]
    assert table.column("p").to_pylist() == [60, 61, 62, 63]


def test_a_damaged_file_is_refused_and_the_store_stays_as_it_was(store, tmp_path, command):
    pack(store, tmp_path / "store.zip")
    content = (tmp_path / "store.zip").read_bytes()
    (tmp_path / "store.zip").write_bytes(content[:150] + bytes([content[150] ^ 4]) + content[151:])
    other = Store(tmp_path / "other")
    other.put(record(9))
    done = command("unpack", tmp_path / "store.zip", "--store", other.folder, "--json")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "store.zip cannot be unpacked: 'records/" in done.stderr
    assert other.keys() == {record(9).key}


def test_the_time_that_is_left_is_that_of_the_device_of_most_runs(command, tmp_path):
    """Two runs of two seconds on average on one device, and a long one on another; two runs are missing."""
    (tmp_path / "grid.toml").write_text(GRID.replace("[0, 1]", "[0, 1, 2, 3, 4]").replace("[6, 8]", "6"))
    specs, store = specs_of(str(tmp_path / "grid.toml"), "quick"), Store(tmp_path / "s")

    def status(*options):
        return command("status", "grid.toml", "--store", "s", *options, cwd=tmp_path).stdout

    assert json.loads(status("--json"))["seconds_left"] is None and "unknown" in status() and "none" in status()
    beside = replace(specs[0], p=7)  # not of the grid, and counted only among all records
    runs = zip([*specs[:3], beside], [(1.0, "cpu"), (3.0, "cpu"), (90.0, "other"), (50.0, "cpu")])
    for spec, (seconds, device) in runs:
        result, circumstances = {"status": "closed form"}, {"seconds": seconds, "device": device}
        store.put(Record(spec.key, spec.identity(), result, circumstances))
    record = json.loads(status("--json"))
    assert (record["total"], record["done"], record["missing"], record["records"]) == (5, 3, 2, 4)
    assert record["seconds_left"] == pytest.approx(4.0) and record["statuses"] == {"closed form": 3}
    assert json.loads(status("--workers", 4, "--json"))["seconds_left"] == pytest.approx(1.0)
    assert "00:00:04" in status() and "3 closed form" in status()


def test_ten_damaged_records_are_named(command, tmp_path):
    made = Store(tmp_path / "store")
    for number in range(11):
        made.put(record(number))
    for path in made.records.rglob("*.record"):
        path.write_bytes(b"damaged")
    (made.folder / "index.json").unlink(missing_ok=True)
    done = command("status", "--store", "store", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr.count("quarantined: ") == 10 and "11" in done.stdout


def test_a_sweep_ends_with_a_report(capfd):
    def said(**changes):
        known = dict.fromkeys(("quarantined", "lost_workers", "diverged", "missing"), 0) | {"stopped": "", "failed": {}}
        known |= {"total": 9, "before": 4, "done": 5, "seconds": 61.0, "complete": True}
        run.report(SimpleNamespace(**known | changes), json=False)
        return capfd.readouterr().err.splitlines()

    last = "9 runs: 4 were recorded before, 5 done in 00:01:01; complete."
    assert said() == [last]
    assert said(quarantined=2)[0] == "2 damaged records were set aside and their runs repeated."
    assert said(lost_workers=1)[0] == "1 workers were lost; their runs were given to others."
    assert said(stopped="no room")[0] == "stopped: no room" and said(diverged=3)[0].startswith("3 runs diverged")
    assert said(complete=False, missing=2)[-1].endswith("done in 00:01:01; 2 missing, start again to run them.")
    for count, more in ((10, []), (11, ["failed: 1 more."]), (12, ["failed: 2 more."])):
        failed = {str(number): f"why {number}" for number in range(count)}
        assert said(failed=failed) == [*(f"failed: why {number}" for number in range(10)), *more, last]


def test_an_interrupted_sweep_says_what_is_recorded(command, monkeypatch, tmp_path):
    def interrupted(specs, records, engine, watch):
        records.put(Record(specs[0].key, specs[0].identity(), {"status": "closed form"}, {}))
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.runs.sweep.run_sweep", interrupted)
    (tmp_path / "grid.toml").write_text(GRID)
    done = command("run", "grid.toml", "--store", "s", "--workers", 1, cwd=tmp_path)
    assert done.returncode == 130 and done.stderr.splitlines() == [
        "1 of 4 runs are recorded; start again to run the rest.",
        "loadstone: interrupted; nothing half-written was left behind.",
    ]  # fmt: skip
