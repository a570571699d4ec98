"""Checks: the limit of many dimensions, a general solver for the nearest point, one rival by hand, known means."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi, norm

from loadstone.theory.codimension import codimension
from loadstone.theory.finite_margin import FiniteCodimension, _nearest, finite_largest_margin
from loadstone.theory.margin import largest_margin


def test_nearest_point_against_a_general_solver():
    random = np.random.default_rng(0)
    rivals, query = random.standard_normal((7, 5)), random.standard_normal(5)
    rivals[:, 0] += 2  # so that all of them can be satisfied
    constraints = {"type": "ineq", "fun": lambda v: rivals @ v - 0.7}
    best = minimize(lambda v: ((v - query) ** 2).sum(), np.full(5, 1.0), constraints=constraints, tol=1e-12)
    square, held = _nearest(rivals, query, 0.7)
    assert square == pytest.approx(best.fun, rel=1e-6)
    assert held == (rivals @ best.x < 0.7 + 1e-6).sum() > 0


def test_two_answers_by_quadrature():
    """One plane, at margin sqrt(d) / |u_1 - u_2| from the origin: a normal number below that has to be moved there."""
    d, margin = 12, 0.8

    lengths = np.arange(0.05, 10, 0.05)
    share = chi.pdf(lengths, d) * 0.05
    a = margin * d / (np.sqrt(2) * lengths[:, None] * lengths[None, :])  # |u_1 - u_2| is sqrt(2) lengths, |e| one
    moved = (1 + a * a) * norm.cdf(a) + a * norm.pdf(a)
    found = FiniteCodimension(d, 2, samples=600).at(margin)
    assert abs(found.value - share @ moved @ share) < 4 * found.error < 0.3
    fixed = FiniteCodimension(d, 2, inputs="sphere", samples=600).at(margin)
    a = margin * np.sqrt(d) / (np.sqrt(2) * lengths)
    assert abs(fixed.value - share @ ((1 + a * a) * norm.cdf(a) + a * norm.pdf(a))) < 4 * fixed.error < 0.3


def test_many_dimensions_are_the_limit():
    found = FiniteCodimension(1000, 6, samples=400).at(1.0)
    limit = codimension(6, 1.0)
    assert abs(found.value - limit) < 4 * found.error + 0.01 * limit
    assert found.error < 0.02 * limit


def test_without_a_margin_the_dimension_does_not_matter():
    found = FiniteCodimension(8, 10, samples=200).at(1e-6)
    assert found.value == pytest.approx(codimension(10), rel=1e-3)


def test_a_margin_that_is_small_may_lie_below_its_limit():
    limit = largest_margin(64, 126, answers=2)
    found = finite_largest_margin(8, 126, answers=2, samples=16, seed=2).value
    assert 0.5 * limit < found < 0.9 * limit < 0.02
    assert FiniteCodimension(8, 2, samples=16, seed=2).at(found).value == pytest.approx(64 / 126, rel=1e-4)


def test_lengths_make_the_margin_smaller():
    limit = largest_margin(144, 18)
    gaussian = finite_largest_margin(12, 18, samples=100)
    sphere = finite_largest_margin(12, 18, inputs="sphere", outputs="sphere", samples=100)
    # 24 streams of the decoupled problem gave 1.011(31) and 1.243(30).
    assert abs(gaussian.value - 1.011) < 4 * np.hypot(gaussian.error, 0.031)
    assert abs(sphere.value - 1.243) < 4 * np.hypot(sphere.error, 0.030)
    assert gaussian.value + 3 * gaussian.error < sphere.value < limit


def test_few_answers_and_refusals():
    found = finite_largest_margin(20, 100, answers=4, samples=40)
    assert 0 < found.value < largest_margin(400, 100, answers=4)
    with pytest.raises(ValueError, match="facts is 60, but must be at most"):
        finite_largest_margin(12, 60)
    with pytest.raises(ValueError, match="inputs is 'round', but must be one of gaussian, sphere"):
        finite_largest_margin(12, 20, inputs="round")
    with pytest.raises(ValueError, match="d is 2, but must be larger, because here an output may lie between others"):
        FiniteCodimension(2, 100, samples=100).at(0.1)
