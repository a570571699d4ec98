"""Checks: no margin is cone.py, two answers are Gardner's integral, and projections found by bisection."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import merge_law
from loadstone.theory.margin import largest_margin, margin_capacity


def target_after(eta, gamma):
    """tau of each row: the target moves up to it, and the rivals above tau - gamma move down to tau - gamma."""
    low, high = eta[:, 0], eta.max(axis=1) + gamma + 1
    for _ in range(60):
        tau = (low + high) / 2
        more = np.maximum(0, eta[:, 1:] + gamma - tau[:, None]).sum(axis=1) > tau - eta[:, 0]
        low, high = np.where(more, tau, low), np.where(more, high, tau)
    return low


def squared_distance(eta, gamma):
    """Of each row from {z_1 >= z_rho + gamma for all rho}."""
    tau = target_after(eta, gamma)
    return (tau - eta[:, 0]) ** 2 + (np.maximum(0, eta[:, 1:] + gamma - tau[:, None]) ** 2).sum(axis=1)


@pytest.mark.parametrize("answers", [2, 3, 17, 1000, 10**6, 10**12])
def test_a_vanishing_margin_is_the_codimension_of_the_cone(answers):
    """Which is summed over another grid, of all k."""
    assert codimension(answers, 1e-10) == pytest.approx(merge_law(answers).mean, rel=1e-8)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, 4.0, 20.0, 300.0])
def test_two_answers_are_gardners_integral(gamma):
    """The difference of two scores has variance 2, and half its square is the squared distance."""
    law = norm(scale=np.sqrt(2))
    gardner = quad(lambda x: (gamma - x) ** 2 / 2 * law.pdf(x), -20, min(gamma, 20), epsrel=1e-10)[0]
    assert codimension(2, gamma) == pytest.approx(gardner, rel=1e-8)


def test_three_answers_by_quadrature():
    """Two differences, target - rival, of covariance (2 1; 1 2)."""
    grid = np.arange(-10, 10.01, 0.08)
    x, y = (axis.ravel() for axis in np.meshgrid(grid, grid))
    # Only differences matter: moving all three scores together moves the set along with them.
    square = squared_distance(np.stack([0 * x, -x, -y], axis=1), 0.8)
    density = np.exp(-(x * x - x * y + y * y) / 3) / (2 * np.pi * np.sqrt(3))
    assert codimension(3, 0.8) == pytest.approx((square * density).sum() * 0.08**2, rel=1e-5)


@pytest.mark.parametrize("answers, gamma, draws", [(4, 2.0, 20_000), (30, 0.5, 5000), (1000, 3.0, 400)])
def test_monte_carlo_projections(answers, gamma, draws):
    square = squared_distance(np.random.default_rng(1).standard_normal((draws, answers)), gamma)
    assert abs(codimension(answers, gamma) - square.mean()) < 4 * square.std() / np.sqrt(draws)


def test_a_large_margin_merges_all_rivals():
    """Then the distance is that to a line of equal scores: M - 1 normal directions, and the shift along them."""
    assert codimension(5, 40) == pytest.approx(4 + 40**2 * 4 / 5, rel=1e-10)


def test_codimension_grows_with_margin_and_answers():
    table = codimension(np.array([2, 3, 10, 1000])[:, None], np.linspace(0, 12, 9))
    assert np.all(np.diff(table, axis=0) > 0) and np.all(np.diff(table, axis=1) > 0)


def test_capacity_without_margin_is_that_of_the_law():
    assert margin_capacity(20**2, None, margin=0) == pytest.approx(capacity_associations(20), rel=1e-10)
    assert margin_capacity(400, 7, margin=0) == pytest.approx(400 / codimension(7), rel=1e-10)


@pytest.mark.parametrize("delta, facts, answers", [(144, 18, None), (576, 80, None), (144, 25.5, 6), (900, 9, 10**5)])
def test_margin_and_capacity_are_inverse(delta, facts, answers):
    gamma = largest_margin(delta, facts, answers=answers)
    assert gamma > 0
    assert margin_capacity(delta, answers, margin=gamma) == pytest.approx(facts, rel=1e-9)


def test_two_facts_just_fit_into_one_dimension():
    assert margin_capacity(1, None, margin=0) == pytest.approx(2, rel=1e-12) and largest_margin(1, 2) == 0


def test_refusals():
    with pytest.raises(ValueError, match="margin is -1.0, but must be at least 0"):
        codimension(5, -1.0)
    with pytest.raises(ValueError, match=r"margin is 20.0, but must be at most 13.2288, the largest that a single"):
        margin_capacity(144, 5, margin=20)
    with pytest.raises(ValueError, match=r"margin is 20.0, but must be at most 11.9164, the largest that two facts"):
        margin_capacity(144, None, margin=20)
    with pytest.raises(ValueError, match="margin is 0.4, but must be at most 0, the largest that two facts can have"):
        margin_capacity(1, None, margin=0.4)
    with pytest.raises(ValueError, match=r"facts is 50, but must be at most 39.\d+, because more cannot be stored"):
        largest_margin(144, 50)
    with pytest.raises(ValueError, match=r"facts is 150.0, but must be at most 111.*, because more cannot be stored"):
        largest_margin(144, 150, answers=5)
    with pytest.raises(ValueError, match="delta is 0.3, but must be at least 1.*, because less does not hold a single"):
        margin_capacity(0.3, 5, margin=0)
    with pytest.raises(ValueError, match="delta is 0.3, but must be at least 1, because less does not hold two facts"):
        margin_capacity(0.3, None, margin=0)
    with pytest.raises(ValueError, match="delta / facts is .* so that the margin is at most 1000"):
        largest_margin(1e9, 2)
