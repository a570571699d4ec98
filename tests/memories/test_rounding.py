"""Bounds against exact rational arithmetic: what is claimed must hold for the true numbers, digit by digit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.memories.rounding import gamma, least_margin, margin_bound, scale
from loadstone.problems.arrays import Arrays


def draw(n, m, d, own, seed, spread):
    """Numbers of very different size, so that sums cancel."""
    random = np.random.default_rng(seed)
    wild = lambda *shape: random.standard_normal(shape) * 10.0 ** random.integers(-spread, spread + 1, shape)  # noqa: E731
    outputs = wild(n, m, d) if own else wild(m, d)
    arrays = Arrays(wild(n, d), outputs, random.integers(0, m, n))
    return arrays, wild(d, d), np.abs(wild(n, m))


def exact_margins(arrays, weights):
    n, d = arrays.inputs.shape
    w = [[Fraction(float(x)) for x in row] for row in weights]
    for mu in range(n):
        e = [Fraction(float(x)) for x in arrays.inputs[mu]]
        query = [sum(w[i][j] * e[j] for j in range(d)) for i in range(d)]
        outputs = arrays.outputs[mu] if arrays.own else arrays.outputs
        scores = [sum(Fraction(float(x)) * q for x, q in zip(row, query)) for row in outputs]
        target = arrays.targets[mu]
        yield min(scores[target] - score for rho, score in enumerate(scores) if rho != target)


def exact_residual(arrays, multipliers):
    """|R|_F^2 and the sum of the multipliers of rivals."""
    n, d = arrays.inputs.shape
    residual, total = [[Fraction(0)] * d for _ in range(d)], Fraction(0)
    for mu in range(n):
        outputs = arrays.outputs[mu] if arrays.own else arrays.outputs
        target = arrays.targets[mu]
        for rho in range(len(outputs)):
            if rho == target:
                continue
            weight = Fraction(float(multipliers[mu, rho]))
            total += weight
            for i in range(d):
                away = Fraction(float(outputs[rho, i])) - Fraction(float(outputs[target, i]))
                for j in range(d):
                    residual[i][j] += weight * away * Fraction(float(arrays.inputs[mu, j]))
    return sum(x * x for row in residual for x in row), total


sizes = st.tuples(st.integers(1, 4), st.integers(2, 5), st.integers(1, 4), st.booleans(), st.integers(0, 10**6))


@settings(max_examples=60)
@given(sizes, st.sampled_from([0, 3, 8]))
def test_least_margin_is_never_above_the_true_one(size, spread):
    arrays, weights, _ = draw(*size, spread)
    true = min(exact_margins(arrays, weights))
    bound = least_margin(arrays, weights)
    assert Fraction(bound) <= true
    # And not far below: within the sum of the absolute terms times a few units of rounding.
    size = np.abs(weights).max() * np.abs(arrays.inputs).max() * np.abs(arrays.outputs).max() * weights.size
    assert float(true) - bound <= 100 * gamma(weights.size) * size


@settings(max_examples=60)
@given(sizes, st.sampled_from([0, 3, 8]))
def test_margin_bound_is_never_below_the_true_one(size, spread):
    arrays, _, multipliers = draw(*size, spread)
    square, total = exact_residual(arrays, multipliers)
    bound = Fraction(margin_bound(arrays, multipliers))
    assert bound * bound * total * total >= square


def test_a_residual_of_zero_gives_a_bound_of_rounding_size():
    # The target is the mean of its two rivals, exactly.
    arrays = Arrays(np.array([[3.0, 1.0]]), np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 1.0]]), np.array([2]))
    assert margin_bound(arrays, np.array([[1.0, 1.0, 0.0]])) < 1e-13


def test_weights_of_targets_do_not_count():
    arrays, _, multipliers = draw(3, 4, 2, False, 0, 0)
    other = multipliers.copy()
    other[np.arange(3), arrays.targets] = 1e9
    assert margin_bound(arrays, other) == margin_bound(arrays, multipliers)
    only_targets = np.zeros((3, 4))
    only_targets[np.arange(3), arrays.targets] = 1
    assert margin_bound(arrays, only_targets) == np.inf


@pytest.mark.parametrize("huge", [1e200, np.inf, np.nan])
def test_overflow_never_counts_as_a_margin(huge):
    arrays = Arrays(np.array([[1e200]]), np.array([[1.0], [2.0]]), np.array([1]))
    with np.errstate(all="ignore"):
        assert not least_margin(arrays, np.array([[huge]])) > 0


def test_blocks_do_not_matter(monkeypatch):
    arrays, weights, multipliers = draw(9, 7, 3, True, 4, 1)
    whole = least_margin(arrays, weights), margin_bound(arrays, multipliers)
    monkeypatch.setattr("loadstone.memories.rounding._NUMBERS_AT_A_TIME", 42)
    parts = least_margin(arrays, weights), margin_bound(arrays, multipliers)
    assert parts == pytest.approx(whole, rel=1e-9)


def test_scale_bounds_every_score_of_a_unit_matrix():
    arrays, weights, _ = draw(6, 6, 4, False, 1, 0)
    weights /= np.linalg.norm(weights)
    assert np.abs(arrays.inputs @ weights.T @ arrays.outputs.T).max() <= scale(arrays)
