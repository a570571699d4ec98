"""Scores of the Hebbian rule: their moments on the diagonal beside the exact ones, and the laws that are drawn."""

import numpy as np
import pytest

from loadstone.studies.hebbian_scores import compare, points
from loadstone.theory.hebbian import score_moments, target_mean
from loadstone.theory.load import load

D, P = 10, 40
EDGES = np.linspace(-8, 8, 321)


def run(p, mean, deviation, seed=0):
    scores = {"low": -8.0, "high": 8.0, "target_mean": mean, "target_deviation": deviation}
    scores |= {"target": np.histogram([mean], EDGES)[0].tolist(), "others": np.histogram([0.0], EDGES)[0].tolist()}
    return {"problem": "original", "d": D, "p": p, "seed": seed, "scores": scores}


def test_moments_on_the_diagonal_are_set_beside_the_exact_ones():
    rows = [run(P, 1.0 + seed, 0.5 * seed, seed) for seed in range(3)] + [run(P + 1, 7.0, 0.0)]
    mean, deviation, *of_the_next = compare(points(rows))
    _, predicted, spread = score_moments(P, D)
    assert (mean.predicted, mean.measured) == (predicted, 2.0)
    assert (deviation.predicted, deviation.measured) == (spread, 0.5)
    # All scores of three streams are taken as independent and normal.
    assert mean.error == pytest.approx(spread / (3 * P) ** 0.5)
    assert deviation.error == pytest.approx(spread / (2 * 3 * P) ** 0.5)
    assert mean.what == f"mean on the diagonal, d = {D}, load {load(P, D):.3f}" and mean.dof == np.inf
    assert [one.measured for one in of_the_next] == [7.0, 0.0]


def test_each_panel_has_the_laws_of_its_size():
    for panel, p in zip(points([run(P, 1.0, 0.5), run(P + 1, 1.0, 0.5)]).panels, (P, P + 1), strict=True):
        assert panel["p"] == p and panel["limit_mean"] == pytest.approx(float(target_mean(p, load(p, D))))
        assert (panel["exact_mean"], panel["exact_deviation"]) == pytest.approx(score_moments(p, D)[1:])
