"""pack, unpack and export as a user runs them: real processes, real files, exit codes."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from loadstone.runs.pack import pack
from loadstone.runs.record import Record, key_of
from loadstone.runs.result import perform
from loadstone.runs.store import Store
from loadstone.studies.registry import named_sweep

LOADSTONE = Path(sys.executable).with_name("loadstone")


def process(*arguments, **options):
    """A command as a process of its own, where that is the point: it takes seconds to start."""
    return subprocess.run([LOADSTONE, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


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


BAD = {
    "pack nothing": (("pack", "--store", "nowhere", "--out", "s.zip"), "store is 'nowhere', but must be the folder of"),
    "export no store": (("export", "--store", ".", "--out", "t.csv"), "store is '.', but must be the folder of"),
    "no such folder": (("pack", "--store", "store", "--out", "no/s.zip"), "no is not a folder: make it first"),
    "no such file": (("unpack", "nowhere.zip", "--store", "new"), "nowhere.zip is not a file: give the name"),
    "no packed store": (("unpack", "text", "--store", "new"), "text cannot be unpacked: File is not a zip file."),
    "store is a file": (("unpack", "text", "--store", "text"), "store is 'text', which is a file"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_and_leaves_nothing(name, store, command, tmp_path):
    arguments, sentence = BAD[name]
    (tmp_path / "text").write_text("not a zip")
    before = sorted(tmp_path.rglob("*"))
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert sentence in done.stderr and done.stderr.count("\n") == 1
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != "index.json"] == before


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
