"""The time left of a sweep, estimated from the costs of its runs on their device."""

import time

import pytest

from loadstone.runs.plan import expected_costs
from loadstone.runs.spec import Spec
from loadstone.runs.sweep import Progress

SPECS = [Spec("original", 500, 20_000), Spec("original", 500, 19_000), Spec("decoupled", 150, 2800)]


def shares(platform):
    """What is left after the first run, and after the second, in units of what is done."""
    first, second, third = expected_costs(SPECS, platform).values()
    return (second + third) / first, third / (first + second)


@pytest.mark.parametrize("told", ["at once", "after a run", "again and again"])
def test_the_time_left_is_guessed_by_the_costs_of_the_platform(told, monkeypatch):
    progress, now = Progress(3, 0, SPECS), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress.began = now - 10
    assert progress.seconds_left is None
    if told != "after a run":
        progress.runs_on("gpu")
    progress.tell(SPECS[0], "step limit")
    if told != "at once":
        progress.runs_on("gpu")
    assert progress.seconds_left == pytest.approx(10 * shares("gpu")[0])
    progress.tell(SPECS[1], None, "it is said why")
    assert progress.seconds_left == pytest.approx(10 * shares("gpu")[1])
    # A processor would be done but for a moment: its two long runs are behind it.
    assert shares("cpu")[1] < 0.02 < 0.2 < shares("gpu")[1]
    progress.tell(SPECS[2], "step limit")
    assert progress.seconds_left == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("count, words", [(1, ""), (2, " and 1 more"), (3, " and 2 more")])
def test_what_a_worker_runs_is_told_by_its_first_run(count, words):
    progress = Progress(3, 0, SPECS)
    progress.at("here", SPECS[:count])
    assert progress.current == {"here": f"{SPECS[0]}{words}"}
