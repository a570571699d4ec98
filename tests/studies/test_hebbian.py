"""How often the Hebbian rule stores everything, from counts whose law is known."""

import numpy as np
import pytest

from loadstone.evidence.hebbian import compare_hebbian_all
from loadstone.theory.hebbian import finite_probability_all_stored


def rows(share_of, d=50, seeds=400):
    random = np.random.default_rng(0)
    return [
        {"solver": "hebbian", "d": d, "p": p, "seed": seed, "violations": int(random.random() > share_of(p, d))}
        for seed in range(seeds)
        for p in (2, 20, 30, 40)
    ]


def test_counts_of_the_law_lie_on_it_and_others_do_not():
    (right,) = compare_hebbian_all(rows(finite_probability_all_stored))
    law = np.mean([finite_probability_all_stored(p, 50) for p in (20, 30, 40)])  # at p = 2 it is sure
    assert right.predicted == pytest.approx(law) and abs(right.deviations) < 4
    (wrong,) = compare_hebbian_all(rows(lambda p, d: 0.9 * finite_probability_all_stored(p, d)))
    assert wrong.deviations < right.deviations - 2


def test_nested_loads_of_one_seed_are_not_counted_as_independent():
    (many,) = compare_hebbian_all(rows(finite_probability_all_stored))
    alone = np.sqrt(sum(q * (1 - q) for q in [finite_probability_all_stored(p, 50) for p in (20, 30, 40)]) / 400) / 3
    assert many.error > 1.3 * alone
    assert compare_hebbian_all([]) == []
