"""Thresholds, proved and trained: which runs count, where the threshold lies, and how well it is known."""

import numpy as np
import pytest

from loadstone.evidence.thresholds import (
    compare_capacity,
    compare_reach,
    compare_thresholds,
    proved_capacities,
    proved_thresholds,
    reached_thresholds,
    trained_thresholds,
)
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.storable import capacity_moments

D, SIZES = 10, (10, 20, 30, 40)


def proved(p_c, problem="decoupled", d=12, solver="capacity"):
    return {"problem": problem, "d": d, "solver": solver, "p_c": p_c}


def trained(firsts, stop="exact", kappa=1.0, problem="original", solver="adam", sizes=SIZES):
    """Runs of seeds whose first failure is at the given p."""
    return [
        {"problem": problem, "d": D, "kappa": kappa, "solver": solver, "protocol": {"stop": stop}, "seed": seed, "p": p}
        | {"status": "stop rule met" if p < first else "step limit"}
        for p in sizes
        for seed, first in enumerate(firsts)
    ]


def test_only_proved_capacities_count():
    rows = [proved(40), proved(None), proved(99, solver="adam"), proved(42), proved(90, d=20), proved(41, "original")]
    assert proved_capacities(rows) == {("decoupled", 12): [40, 42], ("decoupled", 20): [90], ("original", 12): [41]}


def test_a_proved_threshold_is_between_what_is_storable_and_what_is_not():
    several, single = proved_thresholds([proved(40), proved(44), proved(41, "original")])
    loads = [load(40.5, 12), load(44.5, 12)]
    assert several["p"] == 42.5 and several["seeds"] == 2 and several["alpha"] == pytest.approx(np.mean(loads))
    # Of two values the error of the mean is half their difference.
    assert several["error"] == pytest.approx((loads[1] - loads[0]) / 2)
    assert (several["problem"], several["d"], single["problem"]) == ("decoupled", 12, "original")
    assert single["error"] == 0.0 and single["alpha"] == pytest.approx(load(41.5, 12)) and single["seeds"] == 1


def test_the_error_of_a_proved_capacity_is_the_scatter_of_samples():
    count, draws = 5, 100_000
    mean, deviation = capacity_moments(12)
    rows = [proved(value) for value in (38, 39, 40, 41, 47)]
    of_mean, of_deviation = compare_capacity(rows)
    assert of_mean.predicted == mean and of_mean.measured == 41.0
    assert of_deviation.predicted == deviation and of_deviation.measured == pytest.approx(12.5**0.5)
    drawn = np.random.default_rng(3).normal(mean, deviation, (draws, count))
    assert of_mean.error == pytest.approx(drawn.mean(axis=1).std(), rel=5 / (2 * draws) ** 0.5)
    # A deviation s is known as well as its square: ds = d(s^2) / 2s. With four degrees of freedom the excess kurtosis
    # of s^2 is 3, so its deviation is known to sqrt(3 + 2) / 2 / sqrt(draws).
    squares = drawn.var(axis=1, ddof=1)
    assert of_deviation.error == pytest.approx(squares.std() / (2 * deviation), rel=5 * 1.12 / draws**0.5)
    assert of_mean.what == "mean of the proved capacity, decoupled, d = 12 (5 streams)"
    assert of_mean.freedom == of_deviation.freedom == np.inf


def test_capacities_need_two_streams_and_the_original_problem_has_a_note():
    found = compare_capacity([proved(40), proved(41, "original"), proved(43, "original")])
    assert [one.measured for one in found] == pytest.approx([42.0, 2**0.5])
    assert all("original" in one.what and one.note for one in found)
    assert compare_capacity([proved(40), proved(41)])[0].note == ""


def test_a_threshold_is_between_the_last_success_and_the_first_failure():
    # The third seed fails at once and the fourth never: they show no threshold.
    (point,) = trained_thresholds(trained((30, 40, 10, 99)))
    ends = np.array([[load(20, D), load(30, D)], [load(30, D), load(40, D)]])
    middles = ends.mean(axis=1)
    assert point["seeds"] == 2 and point["p"] == 30 and point["alpha"] == pytest.approx(middles.mean())
    assert point["spread"] == pytest.approx((middles[1] - middles[0]) / 2)
    # Somewhere in a step, no matter where: the deviation of uniform numbers in the widest step.
    step = ends[1, 1] - ends[1, 0]
    uniform = (np.arange(10_000) + 0.5) / 10_000 * step
    assert point["error"] == pytest.approx((point["spread"] ** 2 + uniform.var()) ** 0.5)


def test_what_succeeds_after_a_failure_does_not_count():
    rows = trained((99,))
    for row in rows:
        if row["p"] == 20:
            row["status"] = "step limit"
    (point,) = trained_thresholds(rows)
    assert point["p"] == 15 and point["seeds"] == 1 and point["spread"] == 0.0


def test_only_training_with_a_stop_rule_shows_a_threshold():
    assert not trained_thresholds(trained((30,), stop="none") + trained((30,), solver="hebbian"))
    assert not trained_thresholds(trained((10, 99)))


def test_problems_ranks_and_stop_rules_are_kept_apart():
    kinds = [("decoupled", 1.0, "exact")]
    kinds += [("original", 0.5, "exact"), ("original", 1.0, "exact"), ("original", 1.0, "paper")]
    rows = [row for problem, kappa, stop in reversed(kinds) for row in trained((30,), stop, kappa, problem)]
    points = trained_thresholds(rows)
    assert [(point["problem"], point["kappa"], point["stop"]) for point in points] == kinds


def test_thresholds_are_compared_with_the_capacity_of_their_size_and_rank():
    half, full = compare_thresholds(trained((30, 40)) + trained((20,), kappa=0.5))
    assert full.predicted == pytest.approx(load(capacity_associations(D), D))
    assert half.predicted == pytest.approx(load(capacity_associations(D, 0.5), D))
    assert full.what == "load at which training fails (exact stop), original, d = 10, kappa = 1" and full.note
    # One seed, or seeds that all fail at the same load: the error is the width of the step, which is known.
    (same,) = compare_thresholds(trained((30, 30)))
    assert half.freedom == same.freedom == np.inf and same.error > 0


def test_degrees_of_freedom_are_those_of_a_part_estimated_error():
    """A sum of a known and an estimated variance: the chi-square law with the same mean and variance."""
    firsts, sizes = (20, 30, 40, 40, 30), (10, 20, 30, 40)
    (point,) = trained_thresholds(trained(firsts, sizes=sizes))
    (one,) = compare_thresholds(trained(firsts, sizes=sizes))
    assert one.measured == point["alpha"] and one.error == point["error"] and point["spread"] > 0
    known = point["error"] ** 2 - point["spread"] ** 2
    draws = 400_000
    drawn = np.random.default_rng(4).standard_normal((draws, 5))
    total = known + point["spread"] ** 2 * drawn.var(axis=1, ddof=1)
    # A chi-square law with n degrees of freedom has a variance of 2 / n of its mean squared. The excess kurtosis here
    # is 12 / 4, so the variance is known to sqrt(5 / draws).
    assert one.freedom == pytest.approx(2 * total.mean() ** 2 / total.var(), rel=5 * (5 / draws) ** 0.5)


def reached(stored, not_stored, problem="original", d=12, kappa=1.0, rank=12, solver="reach"):
    row = {"problem": problem, "d": d, "kappa": kappa, "rank": rank, "solver": solver}
    return row | {"stored": stored, "not_stored": not_stored}


def test_what_was_stored_lies_in_the_middle_of_its_bracket():
    rows = [reached(40, 42), reached(44, 46), reached(90, 92, solver="adam"), reached(20, 21, kappa=0.5, rank=7)]
    low, full = reached_thresholds(rows)
    assert (full["p"], full["seeds"], full["spread"]) == (43.0, 2, pytest.approx(2.0))
    # Each of two brackets of width 2 adds the variance 4 / 12 of a uniform law; the mean of two has half of it.
    assert full["error"] == pytest.approx(np.hypot(2.0, (4 / 12 / 2) ** 0.5))
    assert full["predicted"] == pytest.approx(capacity_associations(12)) and low["seeds"] == 1
    # The prediction is for the rank that the memories had, not for the rounded fraction.
    assert low["predicted"] == pytest.approx(capacity_associations(12, 7 / 12)) and low["spread"] == 0.0
    (compared,) = compare_reach(rows)
    assert (compared.measured, compared.error) == (43.0, full["error"]) and "d = 12, kappa = 1" in compared.what
    assert compared.freedom == pytest.approx((full["error"] / 2.0) ** 4)
    half = compare_reach([reached(20, 21, kappa=0.5, rank=6), reached(20, 21, kappa=0.5, rank=6)])
    assert "upper bound" in half[0].note and half[0].freedom == float("inf")
