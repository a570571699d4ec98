"""The cone of scores whose first beats the mean of the k largest others: projections, known means, and the limit."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import nnls

from loadstone.theory import listwise
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.listwise import limit_capacity, limit_codimension, list_capacity, list_codimension


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_projections_against_all_half_spaces(k):
    """The cone is the intersection of the half spaces of all sets of k rivals, and NNLS projects onto its polar."""
    m = 6
    normals = np.zeros((0, m))
    for rivals in itertools.combinations(range(1, m), k):
        normal = np.zeros(m)
        normal[0], normal[list(rivals)] = -1, 1 / k
        normals = np.vstack([normals, normal])
    eta = np.random.default_rng(k).standard_normal((40, m))
    step, nearest = listwise.project_on_list(eta, k)
    for row in range(len(eta)):
        weights, _ = nnls(normals.T, eta[row])
        np.testing.assert_allclose(nearest[row], eta[row] - normals.T @ weights, atol=1e-9)
        assert step[row] == pytest.approx(weights.sum(), abs=1e-9)


def test_known_means():
    for m in (5, 60):
        assert listwise._codimension(m, 1, 2).value == pytest.approx(codimension(m), rel=1e-9)
    half_space = list_codimension(7, 6, batches=24)
    assert abs(half_space.value - 0.5) < 4 * half_space.error < 0.05


def test_a_longer_list_holds_more_and_a_share_of_all_outputs_leads_to_the_limit():
    values = [list_codimension(40, k, batches=2).value for k in (1, 2, 4, 8)]
    assert values == sorted(values, reverse=True)
    # What is left of the rivals' own movement falls as 1/k.
    assert list_codimension(400, 80, batches=2).value == pytest.approx(limit_codimension(0.2), rel=0.05)


@pytest.mark.parametrize("share", [1e-6, 0.01, 0.3, 1.0])
def test_the_limit_is_the_mean_square_of_what_the_target_lacks(share):
    from scipy.stats import norm

    above = norm.isf(share)
    lack = quad(lambda g: g * norm.pdf(g), max(above, -40), 40)[0] / share
    square = quad(lambda g: (lack - g) ** 2 * norm.pdf(g), -40, lack)[0]
    assert limit_codimension(share) == pytest.approx(square, rel=1e-6)


def test_capacity_with_one_rival_is_that_of_the_largest_score():
    found = list_capacity(20, 1, batches=2)
    assert found.value == pytest.approx(float(capacity_associations(20)), rel=2e-3)
    assert limit_capacity(20, 16) < list_capacity(20, 16, batches=2).value < 1.2 * limit_capacity(20, 16)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="k is 5, but must be"):
        list_codimension(5, 5)
    for capacity in (list_capacity, limit_capacity):
        with pytest.raises(ValueError, match=r"k is 18, but must be below 2 d\^2 = 18: even k \+ 1 associations"):
            capacity(3, 18)
        with pytest.raises(ValueError, match="d is 10001, but must be .* at most 10000"):
            capacity(10**4 + 1, 2)
    with pytest.raises(ValueError, match="share is 0.0, but must be a number in"):
        limit_codimension(0)


def test_a_list_of_all_rivals_is_a_half_space():
    """With k + 1 associations D is 1/2, so 18 of them, with a list of 17, are just what fits into d = 3."""
    found = list_capacity(3, 17)
    # The law's samples have an error, and so does the parabola through a few p.
    assert found.value == pytest.approx(18, abs=4 * found.error + 0.1) and found.error < 0.2
    assert 17 < limit_capacity(3, 17) < 18.1
