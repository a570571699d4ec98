"""Checks: instances small enough to do by hand, a direct convolution, the Gaussian approximation, random subspaces."""

import numpy as np
import pytest
from scipy.optimize import linprog

from loadstone.theory.alone import winning_queries
from loadstone.theory.storable import _met, capacity_moments, probability_storable


def test_one_dimension_by_hand():
    # W is one number, so only its sign matters. One sign stores all p with probability (1/p)^p.
    for p in (2, 3, 5):
        assert probability_storable(p, 1) == pytest.approx(2 * (1 / p) ** p, rel=1e-9)


def test_more_parameters_than_constraints_always_fit():
    for d, p in ((2, 2), (3, 3), (6, 6), (30, 31)):
        assert probability_storable(p, d) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("p, d", [(3, 2), (12, 6), (40, 12), (85, 20)])
def test_against_repeated_convolution(p, d):
    one, law = winning_queries(p, d), np.ones(1)
    for _ in range(p):
        law = np.convolve(law, one.probabilities)
    expected = one.alone**p * 2 * law[: d * d][::-1][::2].sum()
    assert probability_storable(p, d) == pytest.approx(expected, abs=1e-12)


def test_falls_with_p_rises_with_d_and_is_a_probability():
    by_p = probability_storable(np.arange(60, 120), 20)
    by_d = probability_storable(85, np.arange(10, 40))
    for curve in (-by_p, by_d):
        assert np.all(np.diff(curve) >= -1e-12)
    assert by_p.min() >= 0 and by_p.max() <= 1


def test_random_subspaces_meet_the_product_cone_as_often_as_predicted():
    """The kinematic formula itself, with a linear program as the judge: p = 4 cones, subspaces of 4 dimensions."""
    random, p, d, draws, met = np.random.default_rng(3), 4, 2, 600, 0
    for _ in range(draws):
        basis = random.standard_normal((p, p, d * d))  # scores of association mu: basis[mu] @ w, no tensor product
        margins = (basis[:, :1] - basis[:, 1:]).reshape(-1, d * d)
        # Largest t with all margins >= t and |w|_inf <= 1.
        rows = np.hstack([-margins, np.ones((len(margins), 1))])
        best = linprog([0] * d**2 + [-1], rows, np.zeros(len(rows)), bounds=[(-1, 1)] * d**2 + [(None, 1)])
        met += best.x[-1] > 1e-9
    # A subspace of d^2 dimensions has no queries of d dimensions that could make a fact impossible alone.
    expected = _met(p, winning_queries(p, d * d), d * d, 0)
    assert 0.1 < expected < 0.9
    assert abs(met / draws - expected) < 4 * np.sqrt(expected * (1 - expected) / draws)


@pytest.mark.parametrize("d", [1, 3, 12])
def test_moments_of_the_capacity_are_those_of_its_law(d):
    # The law itself: the capacity is p when p associations fit and p + 1 do not; a single one always fits.
    p = np.arange(2, 400)
    tail = np.concatenate([[1.0], probability_storable(p, d)])
    law = tail - np.append(tail[1:], 0.0)
    size = np.arange(1, 400)
    mean, deviation = capacity_moments(d)
    assert law.sum() == pytest.approx(1) and mean == pytest.approx(law @ size, rel=1e-6)
    assert deviation == pytest.approx(np.sqrt(law @ size**2 - (law @ size) ** 2), rel=1e-5)


def test_the_largest_dimension():
    assert probability_storable(2, 10**9) == 1
    with pytest.raises(ValueError, match="d is 1000000001.0, but must be whole, at least 1 and at most 1e.09"):
        probability_storable(2, 10**9 + 1)
