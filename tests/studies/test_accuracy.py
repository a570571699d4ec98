"""Accuracy against load: curves and comparisons, by hand on small tables and by simulated samples."""

import numpy as np
import pytest

from loadstone.evidence.accuracy import compare_equivalence, compare_hebbian_accuracy, compare_minimised, load_curves
from loadstone.evidence.curves import trained_law
from loadstone.theory.hebbian import finite_accuracy
from loadstone.theory.load import load


def row(problem="original", d=10, p=20, seed=0, solver="adam", kappa=1.0, accuracy=1.0, loss=0.0):
    return vars()


def test_the_two_problems_are_compared_seed_by_seed():
    rows = [
        row(problem, p=p, seed=seed, accuracy=mean + shift)
        for problem, means in (("original", (0.5, 0.6, 0.7)), ("decoupled", (0.8, 0.6)))
        for p, shift in ((20, 0.1), (30, -0.1))
        for seed, mean in enumerate(means)
    ]
    (one,) = compare_equivalence(rows)
    # Means of 0.6 with variance 0.01 from three seeds, and of 0.7 with variance 0.02 from two.
    assert one.predicted == 0 and one.measured == pytest.approx(0.1)
    assert one.error == pytest.approx((0.01 / 3 + 0.02 / 2) ** 0.5) and one.freedom == 3
    assert one.what == "accuracy over all loads, decoupled - original, d = 10"


def test_the_error_of_a_difference_is_its_scatter():
    """The mean square of the stated error is the variance of the difference, over many simulated tables."""
    random, found = np.random.default_rng(0), []
    for _ in range(2000):
        values = random.normal(0.5, [[0.03]] * 3 + [[0.08]] * 4, (7, 1))[:, 0]
        table = [row("original", seed=seed, accuracy=float(value)) for seed, value in enumerate(values[:3])]
        table += [row("decoupled", seed=seed, accuracy=float(value)) for seed, value in enumerate(values[3:])]
        found.append(compare_equivalence(table)[0])
    scatter = np.var([one.measured for one in found])
    # A variance of 2000 values is known to sqrt(2 / 2000), and the mean of squares with two or three degrees of freedom
    # no better than to sqrt(2 / 2 / 2000): five times their sum of squares.
    assert np.mean([one.error**2 for one in found]) == pytest.approx(scatter, rel=5 * (3 / 2000) ** 0.5)


def test_equivalence_needs_two_seeds_of_either_problem():
    def table(originals, decoupleds, d=10):
        rows = [row("original", d, seed=seed) for seed in range(originals)]
        return rows + [row("decoupled", d, seed=seed) for seed in range(decoupleds)]

    assert not compare_equivalence(table(1, 3)) and not compare_equivalence(table(3, 1))
    assert not compare_equivalence(table(3, 0)) and not compare_equivalence([])
    several = compare_equivalence(table(2, 2, 20) + table(5, 0, 15) + table(2, 2, 10))
    assert [one.what[-2:] for one in several] == ["10", "20"]


def test_the_two_solvers_are_not_mixed():
    rows = [
        row(problem, seed=seed, solver=solver, accuracy=accuracy) | {"status": "stored"}
        for solver, accuracy in (("adam", 0.5), ("lbfgs", 0.9))
        for problem in ("original", "decoupled")
        for seed in range(2)
    ]
    assert [one.what for one in compare_equivalence(rows)] == [
        "accuracy over all loads, decoupled - original, d = 10",
        "accuracy over all loads by L-BFGS, decoupled - original, d = 10",
    ]
    assert all(one.measured == 0 for one in compare_equivalence(rows))


def test_where_lbfgs_ends_at_the_minimum_its_accuracy_is_predicted():
    """At d = 10 the capacity is 30.6. A size with a stream that was stored, or that ended otherwise, is left out."""
    ends = {60: ("minimum reached",) * 2, 35: ("minimum reached", "stored"), 20: ("stored",) * 2}
    rows = [
        row(p=p, seed=seed, solver="lbfgs", accuracy=0.4 + 0.1 * seed) | {"status": status}
        for p, statuses in ends.items()
        for seed, status in enumerate(statuses)
    ]
    (one,) = compare_minimised(rows)
    assert one.what == f"accuracy, original, d = 10, load {load(60, 10):.2f}, L-BFGS"
    assert one.measured == pytest.approx(0.45) and one.predicted == trained_law(60, 10).accuracy


def test_hebbian_accuracy_has_the_error_of_a_binomial_number():
    p, d, seeds, draws = 30, 10, 4, 20_000
    q = finite_accuracy(p, d)
    assert 0.2 < q < 0.8
    recalled = np.random.default_rng(1).random((draws, seeds, p)) < q
    values = recalled[0].mean(axis=1)
    rows = [row(d=d, p=p, seed=seed, solver="hebbian", accuracy=float(value)) for seed, value in enumerate(values)]
    (one,) = compare_hebbian_accuracy(rows + [row(d=d, p=p, accuracy=0.0)])
    assert one.predicted == q and one.measured == pytest.approx(values.mean()) and one.freedom == np.inf
    # The deviation of so many nearly normal means is known to 1 / sqrt(2 draws): five times that.
    scatter = recalled.mean(axis=(1, 2)).std()
    assert one.error == pytest.approx(scatter, rel=5 / (2 * draws) ** 0.5)
    assert one.what == f"Hebbian accuracy, d = 10, load {load(p, d):.2f}"


def test_hebbian_sizes_are_compared_one_by_one():
    rows = [row(d=d, p=p, solver="hebbian", accuracy=0.5) for d, p in ((20, 30), (10, 30), (10, 20))]
    assert [one.predicted for one in compare_hebbian_accuracy(rows)] == [
        finite_accuracy(20, 10), finite_accuracy(30, 10), finite_accuracy(30, 20)
    ]  # fmt: skip


def test_curves_have_mean_deviation_and_number_of_seeds_at_each_load():
    rows = [row(p=p, seed=seed, loss=p / 100 + seed) for p in (30, 20) for seed in range(2)]
    rows += [row(p=20, solver="hebbian", loss=3.0), row(kappa=0.5, loss=4.0), row("decoupled", loss=5.0)]
    half, decoupled, trained, hebbian = load_curves(rows, "loss")
    names = ("kappa", "problem", "solver", "d")
    assert [half[name] for name in names] == [0.5, "original", "adam", 10] and half["mean"] == [4.0]
    assert decoupled["problem"] == "decoupled" and decoupled["deviation"] == [0.0] and decoupled["seeds"] == [1]
    assert trained["p"] == [20, 30] and trained["seeds"] == [2, 2] and trained["load"] == [load(20, 10), load(30, 10)]
    assert trained["mean"] == pytest.approx([0.7, 0.8]) and trained["deviation"] == pytest.approx([0.5**0.5] * 2)
    assert hebbian["predicted"] == [finite_accuracy(20, 10)]
    assert not any("predicted" in curve for curve in (half, decoupled, trained))
