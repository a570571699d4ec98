"""Spectra of the last runs stored: which runs these are, and whether their distance to the law falls."""

import numpy as np
import pytest

from loadstone.evidence.stored_spectra import compare_stored_spectra, distances_in_words, last_stored, spectrum_points
from loadstone.studies.kit.comparison import Judgement


def run(d, seed, p, status="stored", values=None, solver="lbfgs"):
    row = {"solver": solver, "kappa": 1.0, "problem": "original", "d": d, "seed": seed, "p": p, "status": status}
    return row | {"singular_values": list(np.ones(d)) if values is None else list(values)}


def gaussian(d, seed, power=1.0):
    """Singular values of a Gaussian matrix; another power than 1 bends their law."""
    matrix = np.random.default_rng([d, seed]).standard_normal((d, d))
    return np.linalg.svd(matrix, compute_uv=False) ** power


def test_the_last_run_is_below_the_first_that_fails():
    rows = [run(8, 0, 5), run(8, 0, 7), run(8, 0, 9, "minimum reached"), run(8, 0, 11), run(8, 1, 5, "step limit")]
    assert [(row["seed"], row["p"]) for row in last_stored(rows)] == [(0, 7)]
    assert last_stored([run(8, 0, 5, solver="hebbian")]) == last_stored([]) == []


@pytest.mark.parametrize("mixed, verdict", [(1.0, Judgement.AGREES), (0.0, Judgement.CANNOT_TELL)])
def test_what_approaches_the_law_is_told_from_what_approaches_another(mixed, verdict):
    """Values that are raised to a power have another law, unless the power tends to 1 as d grows."""
    rows = [
        run(d, seed, 5, values=gaussian(d, seed, 1 + 0.6 * (20 / d) ** mixed))
        for d in (20, 40, 80, 120)
        for seed in range(4)
    ]
    (one,) = compare_stored_spectra(rows)
    assert one.verdict == verdict and one.what.endswith("L-BFGS, original, kappa = 1")
    points = spectrum_points(rows)
    # The distance itself falls in either case.
    assert points[-1]["distance"] < points[0]["distance"]
    words = distances_in_words(rows)[0]
    assert f"{points[0]['distance']:.3f} at d = 20" in words and f"{points[-1]['distance']:.3f} at d = 120" in words
