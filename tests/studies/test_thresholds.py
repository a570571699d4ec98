"""Thresholds, proved and trained: which runs count, where the threshold lies, and how well it is known."""

import numpy as np
import pytest

from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.censored import censored_mean
from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.kit.thresholds import (
    compare_capacity,
    compare_reach,
    compare_thresholds,
    compare_with_limit,
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
    assert proved_capacities(rows) == {
        ("decoupled", 12): [(40, 40), (42, 42)], ("decoupled", 20): [(90, 90)], ("original", 12): [(41, 41)]
    }  # fmt: skip
    undecided = proved(None) | {"storable": 40, "not_storable": 44}
    assert proved_capacities([undecided]) == {("decoupled", 12): [(40, 43)]}


def test_undecided_streams_enter_means_with_their_width():
    decided = [proved(40), proved(42), proved(44)]
    wide = proved(None) | {"storable": 40, "not_storable": 44}
    without, _ = compare_capacity(proved_capacities(decided))
    of_mean, _ = compare_capacity(proved_capacities([*decided, wide]))
    assert without.measured == 42 and of_mean.measured == pytest.approx((40 + 42 + 44 + 41.5) / 4)
    known = without.error * 3**0.5
    assert of_mean.error == pytest.approx(np.hypot(known / 2, np.std([40, 41, 42, 43]) / 4))
    (point,) = proved_thresholds(proved_capacities([wide, wide]))
    # A load changes by log p + 1 over d^2 an association; the middle and the bracket's width are those above.
    per_fact = (np.log(42.0) + 1) / 144
    assert point["error"] == pytest.approx(np.std([40, 41, 42, 43]) / 2**0.5 * per_fact, rel=0.3)


def test_a_proved_threshold_is_between_what_is_storable_and_what_is_not():
    several, single = proved_thresholds(proved_capacities([proved(40), proved(44), proved(41, "original")]))
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
    of_mean, of_deviation = compare_capacity(proved_capacities(rows))
    assert of_mean.predicted == mean and of_mean.measured == 41.0
    assert of_deviation.predicted == deviation and of_deviation.measured == pytest.approx(12.5**0.5)
    drawn = np.random.default_rng(3).normal(mean, deviation, (draws, count))
    assert of_mean.error == pytest.approx(drawn.mean(axis=1).std(), rel=5 / (2 * draws) ** 0.5)
    # A deviation s is known as well as its square: ds = d(s^2) / 2s. With four degrees of freedom the excess kurtosis
    # of s^2 is 3, so its deviation is known to sqrt(3 + 2) / 2 / sqrt(draws).
    squares = drawn.var(axis=1, ddof=1)
    assert of_deviation.error == pytest.approx(squares.std() / (2 * deviation), rel=5 * 1.12 / draws**0.5)
    assert of_mean.what == "mean of the proved capacity, decoupled, d = 12 (5 streams)"
    assert of_mean.dof == of_deviation.dof == np.inf


def test_capacities_need_two_streams_and_the_original_problem_has_a_note():
    found = compare_capacity(proved_capacities([proved(40), proved(41, "original"), proved(43, "original")]))
    assert [one.measured for one in found] == pytest.approx([42.0, 2**0.5])
    assert all("original" in one.what and one.note for one in found)
    assert compare_capacity(proved_capacities([proved(40), proved(41)]))[0].note == ""


def test_a_threshold_is_between_the_last_success_and_the_first_failure():
    (point,) = trained_thresholds(trained((30, 40)))
    ends = np.array([[load(20, D), load(30, D)], [load(30, D), load(40, D)]])
    middles = ends.mean(axis=1)
    assert point["seeds"] == 2 and point["censored"] == 0 and point["alpha"] == pytest.approx(middles.mean())
    assert load(point["p"], D) == pytest.approx(point["alpha"])
    assert point["spread"] == pytest.approx((middles[1] - middles[0]) / 2)
    # Somewhere in a step, no matter where: the deviation of uniform numbers in the widest step.
    step = ends[1, 1] - ends[1, 0]
    uniform = (np.arange(10_000) + 0.5) / 10_000 * step
    assert point["error"] == pytest.approx((point["spread"] ** 2 + uniform.var()) ** 0.5)


def test_seeds_that_fail_at_once_or_never_pull_the_mean_to_their_side():
    """The third seed fails at the first load, or the third never does: its threshold is somewhere beyond."""
    (two,) = trained_thresholds(trained((30, 40)))
    (low,) = trained_thresholds(trained((30, 40, 10)))
    (high,) = trained_thresholds(trained((30, 40, 99)))
    assert low["seeds"] == high["seeds"] == 3 and low["censored"] == high["censored"] == 1
    assert low["alpha"] < two["alpha"] < high["alpha"] and min(low["spread"], high["spread"]) > two["spread"] / 2
    steps = [(load(a, D) + load(b, D)) / 2 for a, b in ((20, 30), (30, 40))]
    width = (load(40, D) - load(30, D)) / 12**0.5
    known = censored_mean(steps, [load(10, D)], least=width)
    assert low["alpha"] == pytest.approx(known.mean) and low["error"] == pytest.approx(np.hypot(known.error, width))
    (compared,) = compare_thresholds(trained_thresholds(trained((30, 40, 10))))
    assert "1 of 3 seeds have it outside the loads that were run" in compared.note


def test_what_succeeds_after_a_failure_does_not_count():
    rows = trained((99,))
    for row in rows:
        if row["p"] == 20:
            row["status"] = "step limit"
    (point,) = trained_thresholds(rows)
    assert point["alpha"] == pytest.approx((load(10, D) + load(20, D)) / 2)
    assert point["seeds"] == 1 and point["spread"] == 0.0


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
    half, full = compare_thresholds(trained_thresholds(trained((30, 40)) + trained((20,), kappa=0.5)))
    assert full.predicted == pytest.approx(load(capacity_associations(D), D))
    assert half.predicted == pytest.approx(load(capacity_associations(D, 0.5), D))
    assert full.what == "load at which training fails (exact stop), original, d = 10, kappa = 1" and full.note
    # Seeds that all fail at the same load: the error is the width of the step, which is known.
    (same,) = compare_thresholds(trained_thresholds(trained((30, 30, 30))))
    assert same.dof > 1e9 and same.error > 0 and half.dof == full.dof == 1
    # A fraction of 0.26 is a rank of 3.
    (rounded,) = compare_thresholds(trained_thresholds(trained((20,), kappa=0.26)))
    assert rounded.predicted == pytest.approx(load(capacity_associations(D, 0.3), D))


def test_degrees_of_freedom_are_those_of_a_part_estimated_error():
    """A sum of a known and an estimated variance: the chi-square law with the same mean and variance."""
    firsts, sizes = (20, 30, 40, 40, 30), (10, 20, 30, 40)
    (point,) = trained_thresholds(trained(firsts, sizes=sizes))
    (one,) = compare_thresholds(trained_thresholds(trained(firsts, sizes=sizes)))
    assert one.measured == point["alpha"] and one.error == point["error"] and point["spread"] > 0
    known = point["error"] ** 2 - point["spread"] ** 2
    draws = 400_000
    drawn = np.random.default_rng(4).standard_normal((draws, 5))
    total = known + point["spread"] ** 2 * drawn.var(axis=1, ddof=1)
    # A chi-square law with n degrees of freedom has a variance of 2 / n of its mean squared. The excess kurtosis here
    # is 12 / 4, so the variance is known to sqrt(5 / draws).
    assert one.dof == pytest.approx(2 * total.mean() ** 2 / total.var(), rel=5 * (5 / draws) ** 0.5)


def reached(stored, not_stored, problem="original", d=12, kappa=1.0, rank=12, solver="reach", status="minimum reached"):
    row = {"problem": problem, "d": d, "kappa": kappa, "rank": rank, "solver": solver}
    attempts = [[stored, True, "stored", 9], [not_stored, False, status, 99], [200, False, "out of passes", 99]]
    return row | {"stored": stored, "not_stored": not_stored, "attempts": attempts}


def test_what_was_stored_lies_in_the_middle_of_its_bracket():
    rows = [reached(40, 42), reached(44, 46), reached(90, 92, solver="adam"), reached(20, 21, kappa=0.5, rank=7)]
    low, full = reached_thresholds(rows)
    assert (full["p"], full["seeds"], full["spread"]) == (43.0, 2, pytest.approx(2.0))
    # Each of two brackets of width 2 adds the variance 4 / 12 of a uniform law; the mean of two has half of it.
    assert full["error"] == pytest.approx(np.hypot(2.0, (4 / 12 / 2) ** 0.5))
    assert full["predicted"] == pytest.approx(capacity_associations(12)) and low["seeds"] == 1
    # The prediction is for the rank that the memories had, not for the rounded fraction.
    assert low["predicted"] == pytest.approx(capacity_associations(12, 7 / 12)) and low["spread"] == 0.0
    (compared,) = compare_reach(reached_thresholds(rows))
    assert (compared.measured, compared.error) == (43.0, full["error"]) and "d = 12, kappa = 1" in compared.what
    assert compared.dof == 1
    (three,) = compare_reach(reached_thresholds([*rows, reached(40, 42)]))
    assert three.dof == pytest.approx(2 * (three.error / (np.std([41, 45, 41], ddof=1) / 3**0.5)) ** 4)
    half = compare_reach(reached_thresholds([reached(20, 21, kappa=0.5, rank=6)] * 3))
    assert half[0].note.endswith("in the limit of large d") and half[0].dof == float("inf")


def test_it_is_told_where_more_passes_might_have_stored_more():
    """What counts is the smallest p that was not stored: that a larger one ran out of passes says nothing."""
    rows = [reached(20, 21, kappa=0.5, rank=6, status=status) for status in ("out of passes", "minimum reached") * 2]
    (point,) = reached_thresholds(rows)
    assert (point["out_of_passes"], point["seeds"]) == (2, 4)
    (one,) = compare_reach(reached_thresholds(rows))
    assert one.note.endswith("in the limit of large d; passes ran out in 2 of 4 streams")


def test_training_is_compared_with_the_limit_and_problems_with_each_other():
    """At d = 10 training that fails between p = 30 and 40 has a load near 1.2; one that fails at 14, near 0.35."""
    rows = trained((40, 40, 40), "paper") + trained((30, 30, 30), "paper", problem="decoupled")
    rows += trained((40, 40, 40), "exact")
    above, also, difference = compare_with_limit(trained_thresholds(rows))
    assert isinstance(above, BoundComparison) and above.predicted == 0.5 and above.side == "above"
    assert {above.verdict, also.verdict} == {Judgement.AGREES}
    loads = {one["problem"]: one["alpha"] for one in trained_thresholds(rows) if one["stop"] == "paper"}
    assert difference.measured == pytest.approx(loads["decoupled"] - loads["original"]) and difference.predicted == 0
    assert difference.what == "load at which training fails, decoupled - original, kappa = 1, d = 10"
    one_seed = [row for row in rows if row["problem"] == "original" or row["seed"] == 0]
    assert len(compare_with_limit(trained_thresholds(one_seed))) == 2  # no difference of problems
    (low,) = compare_with_limit(trained_thresholds(trained((14, 14, 14), "paper", sizes=(12, 13, 14, 15))))
    assert low.verdict == Judgement.DIFFERS and low.measured == pytest.approx(load(13.5, D), rel=0.01)
