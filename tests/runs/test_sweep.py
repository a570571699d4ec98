"""What a sweep counts, and the time that it guesses to be left."""

import time

import pytest

from loadstone.runs.plan import expected_costs
from loadstone.runs.record import Record
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import Progress, SweepError, run_sweep

QUICK = [Spec("original", 6, p, solver="hebbian") for p in (14, 12, 10, 8)]
SPECS = [Spec("original", 500, 20_000), Spec("original", 500, 19_000), Spec("decoupled", 150, 2800)]


def record_of(spec, status="closed form"):
    return Record(spec.key, spec.identity(), {"status": status}, {"seconds": 1.0})


def test_a_sweep_counts_what_the_store_holds(tmp_path):
    """An engine that claims a run without a record, and stops."""
    store, seen = Store(tmp_path), []
    store.put(record_of(QUICK[0]))

    def work(specs, store, progress):
        assert list(specs) == QUICK[1:]
        store.put(record_of(QUICK[1], "diverged"))
        progress.ended(QUICK[1], None, "once")
        progress.ended(QUICK[1], "diverged")
        progress.ended(QUICK[2], None, "too large")
        progress.ended(QUICK[3], "closed form")
        progress.lost_workers += 2
        raise SweepError("no room")

    outcome = run_sweep([*QUICK, QUICK[0]], store, work, lambda progress: seen.append(progress.done))
    assert (outcome.total, outcome.before, outcome.done, outcome.diverged, outcome.missing) == (4, 1, 2, 1, 2)
    assert outcome.failed == {QUICK[2].key: f"{QUICK[2]}: too large"} and outcome.stopped == "no room"
    assert (outcome.lost_workers, outcome.quarantined, outcome.complete) == (2, 0, False) and seen[-1] == 2
    assert 0 <= outcome.seconds < 60
    again = run_sweep(QUICK[:2], store, None)  # there is nothing to do for an engine
    assert again.complete and (again.before, again.done, again.stopped) == (2, 0, "")


def shares(platform):
    """What is left after the first run, and after the second, in units of what is done."""
    first, second, third = expected_costs(SPECS, platform).values()
    return (second + third) / first, third / (first + second)


@pytest.mark.parametrize("told", ["at once", "after a run", "again and again"])
def test_the_time_left_is_guessed_by_the_costs_of_the_platform(told, monkeypatch):
    progress, now = Progress(3, 0, SPECS), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress.began = now - 10
    assert progress.seconds_left is None and progress.seconds == 10
    if told != "after a run":
        progress.runs_on("gpu")
    progress.ended(SPECS[0], "step limit")
    progress.ended(SPECS[0], "step limit")  # told twice, it counts once
    if told != "at once":
        progress.runs_on("gpu")
    assert progress.seconds_left == pytest.approx(10 * shares("gpu")[0])
    progress.ended(SPECS[1], None, "it is said why")
    assert progress.seconds_left == pytest.approx(10 * shares("gpu")[1])
    # A processor would be done but for a moment: its two long runs are behind it.
    assert shares("cpu")[1] < 0.02 < 0.2 < shares("gpu")[1]
    progress.ended(SPECS[2], "step limit")
    assert progress.seconds_left == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("count, words", [(1, ""), (2, " and 1 more"), (3, " and 2 more")])
def test_what_a_worker_runs_is_told_by_its_first_run(count, words):
    progress = Progress(3, 0, SPECS)
    progress.at("here", SPECS[:count])
    assert progress.current == {"here": f"{SPECS[0]}{words}"}
