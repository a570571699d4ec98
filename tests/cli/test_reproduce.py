"""loadstone reproduce, as far as it takes no training: shipped records, and what becomes of them."""

import base64
import json
import subprocess
import sys
from collections import Counter

import pytest

import loadstone
from loadstone.runs.pack import PackedStore, pack
from loadstone.runs.record import Record
from loadstone.runs.result import perform
from loadstone.runs.store import Store
from loadstone.runs.sweep import Outcome
from loadstone.studies.registry import named_sweep, study_of


@pytest.fixture
def shipped(tmp_path):
    """A checkout with the records of three Hebbian runs of 100 seconds each on two devices, the last one diverged."""
    made = Store(tmp_path / "made")
    specs = [spec for spec in named_sweep("hebbian") if spec.seed == 0]
    for spec, device in zip(specs, ("slow", "fast", "slow"), strict=True):
        (found,) = perform([spec])
        result = found.result | ({"status": "diverged"} if spec == specs[2] else {})
        made.put(Record(found.key, found.spec, result, found.circumstances | {"seconds": 100.0, "device": device}))
    (tmp_path / "results" / "quick").mkdir(parents=True)
    pack(made, tmp_path / "results" / "quick" / "some.zip")
    return specs


def test_a_result_cannot_say_that_it_belongs_to_another_run(shipped, command, tmp_path, monkeypatch):
    """One that says so, in a file that was packed elsewhere, counts as damaged and is not drawn."""
    made = Store(tmp_path / "made")
    found = made.get(shipped[1].key)
    false = Record(found.key, found.spec, found.result | {"d": 7, "p": 9, "seed": 5}, found.circumstances)
    monkeypatch.setattr(made, "get", lambda key, get=made.get: false if key == false.key else get(key))
    assert pack(made, tmp_path / "results" / "quick" / "some.zip").records == 3
    done = command("reproduce", "hebbian", "--seeds", 1, "--from-shipped", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    panels = json.loads((tmp_path / "out" / "hebbian.json").read_text())["panels"]
    assert [(panel["d"], panel["p"]) for panel in panels] == [(shipped[0].d, shipped[0].p)]
    assert "hebbian: 1 of 3 runs are not among the shipped records." in done.stderr
    compared = json.loads((tmp_path / "out" / "report.json").read_text())["comparisons"]
    assert len(compared) == 2 and all("d = 200" in one["what"] and one["chance"] > one["level"] for one in compared)


def test_the_report_says_what_it_has_and_what_it_lacks(shipped, command, tmp_path):
    done = command("reproduce", "hebbian", "single", "--seeds", 2, "--from-shipped", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "hebbian: 1 of 6 runs diverged and are left out." in done.stderr
    assert "hebbian: 3 of 6 runs are not among the shipped records." in done.stderr
    assert "single is not drawn: there are no records of its runs." in done.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert "From 2 runs, 100 s on fast, 100 s on slow." in page and "4 of 6 runs are missing or diverged" in page
    assert study_of("single").caption.title not in page
    assert not list((tmp_path / "out").glob("single*")) and (tmp_path / "out" / "explore.html").exists()


def test_each_record_is_read_once_for_all_figures(shipped, command, tmp_path, monkeypatch):
    reads, get = Counter(), PackedStore.get

    def counted(store, key):
        reads[key] += 1
        return get(store, key)

    monkeypatch.setattr(PackedStore, "get", counted)
    names = ("scores", "hebbian", "single", "hebbian")
    done = command("reproduce", *names, "--seeds", 1, "--from-shipped", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    specs = {spec.key for name in names for spec in named_sweep(name) if spec.seed == 0}
    assert reads == Counter(specs)
    assert not (tmp_path / "out" / "store").exists()  # nothing is unpacked


def test_records_of_a_store_come_before_shipped_ones(shipped, command, tmp_path):
    """So that runs of one's own can be drawn among them; the store is only read."""
    own, made = Store(tmp_path / "own"), Store(tmp_path / "made")
    diverged = made.get(shipped[2].key)
    own.put(Record(diverged.key, diverged.spec, diverged.result | {"status": "closed form"}, diverged.circumstances))
    chosen = ("reproduce", "hebbian", "--seeds", 1, "--from-shipped", "--out", "out", "--store", "own")
    done = command(*chosen, cwd=tmp_path)
    assert done.returncode == 0 and "diverged" not in done.stderr, done.stderr
    assert own.keys() == {diverged.key}


def test_outside_a_checkout_one_sentence_says_where_the_records_are(command, tmp_path, monkeypatch):
    monkeypatch.setattr(loadstone, "__file__", str(tmp_path / "lib" / "site" / "loadstone" / "__init__.py"))
    done = command("reproduce", "--scale", "paper", "--from-shipped", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "in the folder results/paper of loadstone's repository, not in the installed package" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_scale_without_shipped_records_is_named(shipped, command, tmp_path, monkeypatch):
    monkeypatch.setattr(loadstone, "__file__", str(tmp_path / "lib" / "site" / "loadstone" / "__init__.py"))
    done = command("reproduce", "--scale", "paper", "--from-shipped", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2 and "scale is 'paper', but records are shipped for quick only." in done.stderr


def test_without_matplotlib_one_sentence_says_what_to_install(tmp_path):
    program = "import sys; sys.modules['matplotlib'] = None  # as if it were not installed\n"
    program += "from loadstone.cli.app import main\nmain()"
    command = [sys.executable, "-c", program, "reproduce", "entropy", "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and not (tmp_path / "out").exists()
    assert done.stderr == "loadstone: figures need matplotlib: pip install 'loadstone[figures]'.\n"


def test_without_a_number_of_seeds_all_are_wanted(shipped, command, tmp_path):
    done = command("reproduce", "hebbian", "--from-shipped", "--out", "out", cwd=tmp_path)
    every = len(named_sweep("hebbian"))
    assert f"hebbian: {every - 3} of {every} runs are not among the shipped records." in done.stderr
    drawn = base64.b64encode((tmp_path / "out" / "hebbian.svg").read_bytes()).decode()
    assert drawn in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("changes, reason", [
    ({"failed": {name: f"why {name}" for name in "abcd"}}, "why a; why b; why c"), ({"stopped": "no room"}, "no room"),
])  # fmt: skip
def test_it_ends_where_runs_are_missing(changes, reason, command, tmp_path, monkeypatch):
    known = {"total": 5, "before": 0, "done": 1, "diverged": 0, "missing": 4, "failed": {}, "lost_workers": 0}
    outcome = Outcome(**known | {"quarantined": 0, "seconds": 1.0, "stopped": ""} | changes)
    monkeypatch.setattr("loadstone.runs.sweep.run_sweep", lambda *_: outcome)
    done = command("reproduce", "hebbian", "--workers", 1, "--out", "out", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == f"loadstone: 4 of 5 runs are missing: {reason}\n"
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_folder_that_cannot_be_filled_is_refused(tmp_path, command):
    (tmp_path / "taken" / "accuracy.json").mkdir(parents=True)
    done = command("reproduce", "accuracy", "--out", tmp_path / "taken")
    assert done.returncode == 2 and "accuracy.json is a folder: give the name of a file." in done.stderr
