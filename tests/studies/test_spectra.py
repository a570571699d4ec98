"""Distances of spectra: which law, which reference, the error of a mean, and what is said of a rounded rank."""

import numpy as np
import pytest

from loadstone.studies.kit.singular_values import capacity_reference, kolmogorov, square_reference
from loadstone.studies.registry import study_of
from loadstone.studies.spectra import compare, points
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.spectra import at_capacity, initial_factored


def rows():
    random = np.random.default_rng(1)
    return [
        {"problem": problem, "d": 8, "p": 10, "kappa": kappa, "seed": seed}
        | {"singular_values": random.uniform(0.5, 2, rank).tolist()}
        for kappa, rank in ((0.9999, 8), (0.5, 4))
        for problem in ("original", "decoupled")
        for seed in range(3 if problem == "original" else 1)
    ]


@pytest.mark.parametrize("name", ["at capacity", "at initialisation"])
def test_mean_distance_beside_the_reference_of_the_same_size(name):
    study, law = {
        "at capacity": (study_of("spectra"), at_capacity),
        "at initialisation": (study_of("initial-spectra"), initial_factored),
    }[name]
    compared = study.compare(study.points(rows()))
    expected = [("decoupled", 0.5), ("decoupled", 0.9999), ("original", 0.5), ("original", 0.9999)]
    assert [one.what for one in compared] == [
        f"distance to the law {name}, {problem}, d = 8, kappa = {kappa:.3g}" for problem, kappa in expected
    ]
    for one, (problem, kappa) in zip(compared, expected):
        rank = {0.5: 4, 0.9999: 8}[kappa]
        chosen = [row for row in rows() if (row["problem"], row["kappa"]) == (problem, kappa)]
        distances = [kolmogorov(np.array(row["singular_values"]), law(rank / 8).nonzero()) for row in chosen]
        mean, deviation = capacity_reference(8, rank) if name == "at capacity" else square_reference(rank)
        assert one.measured == pytest.approx(np.mean(distances)) and one.predicted == mean
        # The error of a mean of one or three distances with this deviation.
        assert one.error == pytest.approx(deviation / {"decoupled": 1, "original": 1.7320508}[problem])
        assert one.dof == (1 if problem == "decoupled" else np.inf) and bool(one.note) == (name == "at capacity")


def test_it_is_said_where_p_exceeds_the_capacity_of_a_rounded_rank():
    capacity = float(capacity_associations(8, 0.5))
    for p, said in ((round(capacity), False), (round(1.1 * capacity), True)):
        (one,) = compare(points([row | {"p": p} for row in rows()[-1:]]))
        assert (f"p is {100 * (p / capacity - 1):.1f} % above the capacity of rank 4" in one.note) == said
