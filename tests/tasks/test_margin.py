"""The record of a largest margin: proved by a linear program of another kind, and recall measured beside predicted."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone.problems.instance import Instance
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.solvers.margin import maximum_margin
from loadstone.streams.stream import Stream
from loadstone.studies.kit.rows import row_of
from loadstone.tasks import margin
from loadstone.tasks.margin import DRAWS, NOISES, robustness
from tests.solvers.linear_program import largest_margin


@pytest.fixture(scope="module")
def record():
    (found,) = perform([Spec("decoupled", 6, 5, 1, solver="margin")])
    return found


def test_a_largest_margin_is_a_record(record):
    row = row_of(record.spec, record.result)
    assert (row["solver"], row["status"], row["noises"]) == ("margin", "proved", list(NOISES))
    assert 0 < row["margin"] <= row["upper_bound"] and row["gap"] <= 1e-6
    # Coordinates in [-1, 1] hold the ball of unit norm and lie in one of norm d: bounds from both sides.
    bound = largest_margin(Instance(Stream(1, 6), 5, kind="decoupled").arrays())
    assert bound / 6 <= row["upper_bound"] and row["margin"] <= bound


def test_the_same_instance_gives_the_same_numbers(record):
    arrays = Instance(Stream(1, 6), 5, kind="decoupled").arrays()
    assert robustness(arrays, seed=1) == record.result
    other = robustness(arrays, seed=2)
    assert other["recalled"] != record.result["recalled"] and other["margin"] == record.result["margin"]


def test_a_margin_that_is_not_proved_is_called_so(monkeypatch):
    """No small instance leaves a gap, so it is made here."""
    arrays = Instance(Stream(1, 6), 5, kind="decoupled").arrays()
    best = maximum_margin(arrays)
    for gap, status in ((1e-6, "proved"), (1.1e-6, "not proved")):
        monkeypatch.setattr(margin, "maximum_margin", lambda *_, gap=gap: replace(best, gap=gap))
        assert robustness(arrays)["status"] == status


def test_recall_falls_with_the_noise_as_predicted(record):
    recalled, predicted = (np.array(record.result[name]) for name in ("recalled", "recalled_predicted"))
    assert recalled[0] == 1 and np.all(np.diff(predicted) <= 0) and predicted[-1] < 0.95
    error = np.sqrt(np.maximum(predicted * (1 - predicted), 1e-4) / (5 * DRAWS))
    # 0.02 for the approximation (docs/theory/finite_margin.md).
    assert np.all(np.abs(recalled - predicted) < 0.02 + 4 * error)


def test_without_a_margin_the_record_says_why():
    (found,) = perform([Spec("original", 4, 60, solver="margin")])
    assert found.result == {"status": "not storable"}
