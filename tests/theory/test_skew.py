"""Checks: equal frequencies are the exact law, projections by a general solver, known values, a saddle that is one."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from loadstone.theory.codimension import codimension
from loadstone.theory.cone import project
from loadstone.theory.skew import _Sampled, random_target_capacity, skewed_capacity, weighted_projection


def test_equal_frequencies_are_the_law():
    for answers in (2, 5, 17):
        found = skewed_capacity(16, np.full(answers, 0.3))
        assert found.value == pytest.approx(16 * (answers - 1) / codimension(answers)) and found.error == 0


def test_nearly_equal_frequencies_are_near_the_law():
    found = skewed_capacity(16, [1, 1, 1, 1, 0.999])
    assert abs(found.value - 16 * 4 / codimension(5)) < 4 * found.error + 0.2


def test_projection_with_weights_against_a_general_solver():
    random = np.random.default_rng(0)
    x, weights, targets = random.standard_normal((6, 5)), random.exponential(size=5), np.array([0, 1, 2, 3, 4, 2])
    for row, target, nearest in zip(x, targets, weighted_projection(x, weights, targets)):
        best = minimize(
            lambda v, row=row: weights @ (v - row) ** 2, row, tol=1e-14,
            constraints={"type": "ineq", "fun": lambda v, target=target: v[target] - v},
        )  # fmt: skip
        np.testing.assert_allclose(nearest, best.x, atol=1e-5)


def test_equal_weights_project_as_the_cone_does():
    x = np.random.default_rng(1).standard_normal((50, 7))
    np.testing.assert_allclose(weighted_projection(x, np.ones(7), np.zeros(50, int)), project(x)[0], atol=1e-12)


def test_derivatives_of_the_ratio():
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    sampled = _Sampled(shares, 500, np.random.default_rng(2))
    a, b = np.array([1.2, 0.7, 1.0, 0.4]), np.array([2.0, 1.0, 0.6, 0.1])
    _, by_a, by_b = sampled.log_ratio(a, b)
    for index, step in enumerate(1e-6 * np.eye(4)):
        rise = lambda da, db: sampled.log_ratio(a + da, b + db)[0] - sampled.log_ratio(a - da, b - db)[0]  # noqa: E731
        assert rise(step, 0) / 2e-6 == pytest.approx(by_a[index], rel=1e-4, abs=1e-7)
        assert rise(0, step) / 2e-6 == pytest.approx(by_b[index], rel=1e-4, abs=1e-7)


def test_one_weight_far_above_the_others():
    """sum a b - sum a b^2 / sum b by exact fractions."""
    sampled = _Sampled(np.array([0.5, 0.3, 0.2]), 100, np.random.default_rng(5))
    a, b = [0.01, 59.0, 148.0], [4e12, 1e-9, 2e-9]
    exact, total = [(Fraction(x), Fraction(y)) for x, y in zip(a, b)], sum(map(Fraction, b))
    value = sum(x * y for x, y in exact) - sum(x * y * y for x, y in exact) / total
    assert sampled.numerator(np.array(a), np.array(b))[0] == pytest.approx(float(value), rel=1e-12)
    assert np.isfinite(sampled.log_ratio(np.array(a), np.array(b))[0])


def test_the_saddle_is_one():
    sampled = _Sampled(np.array([0.5, 0.3, 0.2]), 1000, np.random.default_rng(3))
    a, b = sampled.saddle()
    best, random = sampled.log_ratio(a, b)[0], np.random.default_rng(4)
    for _ in range(8):
        assert sampled.log_ratio(a, b * np.exp(0.1 * random.standard_normal(3)))[0] > best - 1e-6
        # A worse a: the least ratio over b is lower than at the saddle.
        assert -sampled._least(np.log(a) + 0.3 * random.standard_normal(3))[0] < best + 1e-6


def test_frequent_and_rare_answers():
    """pi_y ~ 1/y at d = 16: exact verdicts of 8 streams gave 36.6(16) and 58.6(22) facts for M = 3 and 9."""
    for answers, seen, error in ((3, 36.6, 1.6), (9, 58.6, 2.2)):
        found = skewed_capacity(16, 1 / np.arange(1, answers + 1), samples=2000)
        assert abs(found.value - seen) < 3 * np.hypot(error, found.error)
        assert found.value < 16 * (answers - 1) / codimension(answers)


def test_order_and_scale_of_the_frequencies_do_not_matter():
    one = skewed_capacity(8, [5, 1, 2], samples=2000, seed=1)
    other = skewed_capacity(8, [0.2, 0.1, 0.5], samples=2000, seed=2)
    assert abs(one.value - other.value) < 4 * np.hypot(one.error, other.error) < 3


def test_an_answer_that_nobody_asks_for_is_only_a_rival():
    """It makes storing harder than without it, but not as much as one that is asked for."""
    two, three = skewed_capacity(16, [1, 1], samples=100), skewed_capacity(16, [1, 1, 0], samples=3000)
    assert 0.8 * two.value < three.value < two.value + 4 * three.error


def test_random_targets_store_less_than_balanced_ones():
    """Counts that scatter: exact verdicts at d = 16, M = 13 gave .91 of the law, balanced ones at least the law."""
    found = random_target_capacity(16, np.ones(13), draws=3, samples=400)
    dip = 1 - found.value / (16 * 12 / codimension(13))
    assert 0.01 < dip < 0.15


def test_refusals():
    with pytest.raises(ValueError, match="the number of frequencies is 12, but must be at most d . 1 = 11"):
        skewed_capacity(10, np.ones(12))
    for bad in ([1.0], [1, -1], [0, 0], [[1, 2]], [np.nan, 1], "ab"):
        with pytest.raises(ValueError, match="frequencies is .* but must be at least two numbers"):
            skewed_capacity(10, bad)
