"""Proved capacities of skewed targets beside the formula: what is averaged, predicted and compared."""

import math

import pytest

from loadstone.studies.skewed_answers import compare, points, ratio
from loadstone.theory.codimension import codimension
from loadstone.theory.skew import random_target_capacity, skewed_capacity


def row(p_c, frequencies="balanced", answers=3, **changes):
    said = {"solver": "capacity", "problem": "original", "d": 6, "p": 14, "p_c": p_c, "answers": answers}
    # Records leave out what is the default.
    return said | ({} if frequencies == "uniform" else {"frequencies": frequencies}) | changes


def test_streams_of_one_kind_are_averaged():
    other = [row(9, problem="decoupled"), row(9, solver="reach"), row(9, answers=None), row(9, answers=8)]
    (point,) = points([row(12), row(15), row(None), *other])
    assert (point["facts"], point["streams"], point["undecided"]) == (13.5, 2, 1)
    assert point["error"] == pytest.approx(1.5)
    # Equal counts: the law d (M - 1) / D(M), without sampling.
    law = 6 * 2 / codimension(3)
    assert [point[name] for name in ("equal", "given", "predicted")] == pytest.approx([law] * 3)
    assert point["predicted, error"] == 0 and ratio(point) == pytest.approx((13.5 / law, 1.5 / law))


def test_predictions_are_for_the_targets_as_drawn(few_samples):
    kinds = ("balanced", "uniform", "zipf:1")
    by_kind = {point["frequencies"]: point for point in points([row(12, kind) for kind in kinds])}
    shares = [6 / 11, 3 / 11, 2 / 11]
    given, drawn = skewed_capacity(6, shares, samples=200), random_target_capacity(6, shares, draws=2, samples=100)
    even = random_target_capacity(6, [1, 1, 1], draws=2, samples=100)
    zipf, uniform = by_kind["zipf:1"], by_kind["uniform"]
    assert (zipf["given"], zipf["given, error"]) == pytest.approx(given)
    assert (zipf["predicted"], zipf["predicted, error"]) == pytest.approx(drawn)
    assert (uniform["predicted"], uniform["predicted, error"]) == pytest.approx(even)
    assert uniform["given"] == pytest.approx(uniform["equal"])


def test_both_errors_count(few_samples):
    predicted = {"predicted": 20.0, "predicted, error": 1.0}
    rows = [row(p, "zipf:1") for p in (14, 16, 18)] + [row(None, "zipf:1"), row(9, "balanced")]
    (found,) = compare([point | predicted for point in points(rows)])
    error = math.sqrt(4 / 3)
    assert found.predicted == 1 and found.measured == pytest.approx(0.8)
    assert found.error == pytest.approx(0.8 * math.hypot(error / 16, 0.05))
    # Two degrees of freedom, more for the part of the variance that is known.
    assert found.dof == pytest.approx(2 * (found.error / (error / 20)) ** 4) and found.dof > 2
    for words in ("d = 6", "3 answers", "zipf:1 targets", "3 streams"):
        assert words in found.what
    assert "many facts" in found.note and "1 streams stayed undecided" in found.note
