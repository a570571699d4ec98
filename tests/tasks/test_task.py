"""Every task: asked for in a grid, it leaves a record with the fields that it states."""

import itertools
import subprocess
import sys
from types import SimpleNamespace

import pytest

from loadstone import deadline
from loadstone.runs.grid import read_grid
from loadstone.runs.record import from_bytes, to_bytes
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.runs.validity import check_values
from loadstone.tasks import TASKS, task_of
from loadstone.tasks.fields import FIELDS, RESULT
from loadstone.tasks.task import OneAtATime, Task
from loadstone.tasks.train import TRAIN

#: A small run of each task with parameters of its own, as a grid writes it; and one word of what it must leave.
GRIDS = {
    "train": ('solver = "paper"\nsteps = 40\nwarmup = 4', "scores"),
    "capacity": ('solver = "capacity"', "own_target"),
    "reach": ('solver = "reach"\nstarts = 2\npasses = 60\nkappa = 0.5', "ways"),
    "approach": ('solver = "approach"\noptimiser = "newton"', "attempts"),
    "margin": ('solver = "margin"', "recalled_predicted"),
    "edits": ('solver = "edits"\nmethod = "batch"\naction = "change"\nedits = 3', "missed"),
    "space": ('solver = "space"\nchains = 2\nsteps = 40\nvolume = false\nscores = true', "r_hat"),
    "bits": ('solver = "bits"\nbits = [2, 8]\nway = "largest margin"', "not_stored"),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_asks_for_a_task_and_its_record_has_the_fields_that_it_states(name, tmp_path):
    file, (lines, field) = tmp_path / "grid.toml", GRIDS[name]
    file.write_text(f'[[grid]]\nproblem = "original"\nd = 6\np = 9\nseed = 2\n{lines}\n')
    specs = read_grid(file)
    assert len(specs) == (2 if name == "bits" else 1) and specs[0].parameters or name in ("capacity", "margin")
    for spec in specs:
        (record,) = perform([spec])
        assert field in record.result and not record.result.keys() - FIELDS[name].keys()
        check_values(record)
        assert from_bytes(to_bytes(record)) == record and Spec.from_identity(record.spec) == spec


def test_every_task_states_its_fields():
    assert FIELDS.keys() == {"train", *TASKS} == GRIDS.keys()
    assert all(isinstance(task_of(name), Task) and task_of(name).fields is FIELDS[name] for name in TASKS)
    assert task_of("lbfgs") is task_of("paper") is TRAIN and TRAIN.fields is FIELDS["train"]
    assert RESULT.keys() == {name for fields in FIELDS.values() for name in fields}


class Nothing(OneAtATime):
    def cost(self, spec, platform):
        return 1.0

    def result(self, spec, budget):
        return {"status": spec}


def test_each_run_has_its_own_time(monkeypatch):
    """A clock that goes on by a second whenever it is looked at."""
    ticks = itertools.count()
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    finished = [finish() for finish in Nothing().run(["one", "two", "three"])]
    assert [one.fields["status"] for one in finished] == ["one", "two", "three"]
    assert [one.seconds for one in finished] == [1.0, 1.0, 1.0]


def test_a_record_is_checked_without_jax():
    program = "import sys, loadstone.runs.validity, loadstone.runs.store; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
