"""Shared and separate outputs beside each other, by hand on small tables."""

import pytest

from loadstone.studies.above_capacity import trained_law
from loadstone.studies.equivalence import compare, compare_minimised, points
from loadstone.theory.load import load


def row(problem="original", d=10, p=20, seed=0, solver="adam", kappa=1.0, accuracy=1.0, loss=0.0, status="stored"):
    return vars()


def compared(rows):
    return compare(points(rows))


def test_the_two_problems_are_compared_seed_by_seed():
    rows = [
        row(problem, p=p, seed=seed, accuracy=mean + shift)
        for problem, means in (("original", (0.5, 0.6, 0.7)), ("decoupled", (0.8, 0.6)))
        for p, shift in ((20, 0.1), (30, -0.1))
        for seed, mean in enumerate(means)
    ]
    (one,) = compared(rows)
    # Means of 0.6 with variance 0.01 from three seeds, and of 0.7 with variance 0.02 from two.
    assert one.predicted == 0 and one.measured == pytest.approx(0.1)
    assert one.error == pytest.approx((0.01 / 3 + 0.02 / 2) ** 0.5) and one.dof == 3
    assert one.what == "accuracy over all loads, decoupled - original, d = 10"


def test_equivalence_needs_two_seeds_of_either_problem():
    def table(originals, decoupleds, d=10):
        rows = [row("original", d, seed=seed) for seed in range(originals)]
        return rows + [row("decoupled", d, seed=seed) for seed in range(decoupleds)]

    assert not compared(table(1, 3)) and not compared(table(3, 1))
    assert not compared(table(3, 0)) and not compared([])
    several = compared(table(2, 2, 20) + table(5, 0, 15) + table(2, 2, 10))
    assert [one.what[-2:] for one in several] == ["10", "20"]


def test_the_two_solvers_are_not_mixed():
    rows = [
        row(problem, seed=seed, solver=solver, accuracy=accuracy)
        for solver, accuracy in (("adam", 0.5), ("lbfgs", 0.9))
        for problem in ("original", "decoupled")
        for seed in range(2)
    ]
    assert [one.what for one in compared(rows)] == [
        "accuracy over all loads, decoupled - original, d = 10",
        "accuracy over all loads by L-BFGS, decoupled - original, d = 10",
    ]
    assert all(one.measured == 0 for one in compared(rows))


def test_where_lbfgs_ends_at_the_minimum_its_accuracy_is_predicted():
    """At d = 10 the capacity is 30.6. A size with a stream that was stored, or that ended otherwise, is left out."""
    ends = {60: ("minimum reached",) * 2, 35: ("minimum reached", "stored"), 20: ("stored",) * 2}
    rows = [
        row(p=p, seed=seed, solver="lbfgs", accuracy=0.4 + 0.1 * seed, status=status)
        for p, statuses in ends.items()
        for seed, status in enumerate(statuses)
    ]
    (one,) = compare_minimised(points(rows))
    assert one.what == f"accuracy, original, d = 10, load {load(60, 10):.2f}, L-BFGS"
    assert one.measured == pytest.approx(0.45) and one.predicted == trained_law(60, 10).accuracy
