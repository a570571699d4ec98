"""What the Hebbian rule recalls, and how often it stores everything, from counts whose law is known."""

import numpy as np
import pytest

from loadstone.studies.accuracy import all_stored, compare_all_stored, compare_hebbian_accuracy
from loadstone.studies.kit.load_curves import load_curves
from loadstone.theory.hebbian import finite_accuracy, finite_probability_all_stored
from loadstone.theory.load import load


def row(problem="original", d=10, p=20, seed=0, solver="adam", kappa=1.0, accuracy=1.0, loss=0.0):
    return vars()


def test_hebbian_accuracy_has_the_error_of_a_binomial_number():
    p, d, recalled = 30, 10, (15, 12, 18, 21)
    q = finite_accuracy(p, d)
    rows = [row(d=d, p=p, seed=seed, solver="hebbian", accuracy=count / p) for seed, count in enumerate(recalled)]
    (one,) = compare_hebbian_accuracy(load_curves(rows + [row(d=d, p=p, accuracy=0.0)], "accuracy"))
    assert one.predicted == q and one.measured == pytest.approx(66 / 120) and one.dof == np.inf
    assert one.error == pytest.approx((q * (1 - q) / 120) ** 0.5)
    assert one.what == f"Hebbian accuracy, d = 10, load {load(p, d):.2f}"


def test_hebbian_sizes_are_compared_one_by_one():
    rows = [row(d=d, p=p, solver="hebbian", accuracy=0.5) for d, p in ((20, 30), (10, 30), (10, 20))]
    assert [one.predicted for one in compare_hebbian_accuracy(load_curves(rows, "accuracy"))] == [
        finite_accuracy(20, 10), finite_accuracy(30, 10), finite_accuracy(30, 20)
    ]  # fmt: skip


def counted(share_of, d=50, seeds=400):
    random = np.random.default_rng(0)
    return [
        {"solver": "hebbian", "d": d, "p": p, "seed": seed, "violations": int(random.random() > share_of(p, d))}
        for seed in range(seeds)
        for p in (2, 20, 30, 40)
    ]


def how_often(rows):
    return compare_all_stored(all_stored(rows))


def test_counts_of_the_law_lie_on_it_and_others_do_not():
    (right,) = how_often(counted(finite_probability_all_stored))
    law = np.mean([finite_probability_all_stored(p, 50) for p in (20, 30, 40)])  # at p = 2 it is sure
    assert right.predicted == pytest.approx(law) and abs(right.deviations) < 4
    (wrong,) = how_often(counted(lambda p, d: 0.9 * finite_probability_all_stored(p, d)))
    assert wrong.deviations < right.deviations - 2


def test_nested_loads_of_one_seed_are_not_counted_as_independent():
    (many,) = how_often(counted(finite_probability_all_stored))
    alone = np.sqrt(sum(q * (1 - q) for q in [finite_probability_all_stored(p, 50) for p in (20, 30, 40)]) / 400) / 3
    assert many.error > 1.3 * alone
    assert how_often([]) == []
