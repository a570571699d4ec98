"""Bounds against exact rational arithmetic: what is claimed must hold for the true numbers, digit by digit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.problems.arrays import Arrays
from loadstone.proofs.rounding import NOTHING, certain_tie, certifies, gamma, least_margin, margin_bound, norm_above


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
    """|R|_F^2, the sum of the multipliers of rivals, and their sum with the largest possible margins as weights."""
    n, d = arrays.inputs.shape
    residual, total, reach = [[Fraction(0)] * d for _ in range(d)], Fraction(0), 0.0
    for mu in range(n):
        outputs = arrays.outputs[mu] if arrays.own else arrays.outputs
        target = arrays.targets[mu]
        for rho in range(len(outputs)):
            if rho == target:
                continue
            weight = Fraction(float(multipliers[mu, rho]))
            total += weight
            apart = sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(outputs[rho], outputs[target]))
            reach += float(weight) * float(apart * sum(Fraction(float(x)) ** 2 for x in arrays.inputs[mu])) ** 0.5
            for i in range(d):
                away = Fraction(float(outputs[rho, i])) - Fraction(float(outputs[target, i]))
                for j in range(d):
                    residual[i][j] += weight * away * Fraction(float(arrays.inputs[mu, j]))
    return sum(x * x for row in residual for x in row), total, reach


sizes = st.tuples(st.integers(1, 4), st.integers(2, 5), st.integers(1, 4), st.booleans(), st.integers(0, 10**6))


@settings(max_examples=60)
@given(sizes, st.sampled_from([0, 3, 8]))
def test_least_margin_is_never_above_the_true_one(size, spread):
    arrays, weights, _ = draw(*size, spread)
    true = min(exact_margins(arrays, weights))
    square = sum(Fraction(float(x)) ** 2 for x in weights.ravel())
    bound = least_margin(arrays, weights)
    if bound > 0:
        assert true > 0 and Fraction(bound) ** 2 * square <= true**2
    # And not far below: within the sum of the absolute terms times a few units of rounding.
    norm = float(np.linalg.norm(weights))
    size = np.abs(weights).max() / norm * np.abs(arrays.inputs).max() * np.abs(arrays.outputs).max() * weights.size
    if float(true) / norm > 200 * gamma(weights.size) * size:
        assert bound > 0 and float(true) / norm - bound <= 100 * gamma(weights.size) * size


@settings(max_examples=60)
@given(sizes, st.sampled_from([0, 3, 8]))
def test_margin_bound_is_never_below_the_true_one(size, spread):
    arrays, _, multipliers = draw(*size, spread)
    square, total, reach = exact_residual(arrays, multipliers)
    bound = margin_bound(arrays, multipliers)
    assert Fraction(bound.margin) ** 2 * total**2 >= square
    # The reach is a sum of square roots, known here to 15 digits.
    assert bound.cosine * reach * (1 + 1e-14) >= float(square) ** 0.5


def test_a_residual_of_zero_gives_a_bound_of_rounding_size():
    # The target is the mean of its two rivals, exactly.
    arrays = Arrays(np.array([[3.0, 1.0]]), np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 1.0]]), np.array([2]))
    bound = margin_bound(arrays, np.array([[1.0, 1.0, 0.0]]))
    assert bound.margin < 1e-13 and certifies(bound, arrays)


def test_weights_of_targets_do_not_count():
    arrays, _, multipliers = draw(3, 4, 2, False, 0, 0)
    other = multipliers.copy()
    other[np.arange(3), arrays.targets] = 1e9
    assert margin_bound(arrays, other) == margin_bound(arrays, multipliers)
    only_targets = np.zeros((3, 4))
    only_targets[np.arange(3), arrays.targets] = 1
    assert margin_bound(arrays, only_targets) == NOTHING


@pytest.mark.parametrize("huge", [1.0, np.inf, np.nan])
def test_overflow_never_counts_as_a_margin(huge):
    arrays = Arrays(np.array([[1e200]]), np.array([[1e200], [2e200]]), np.array([1]))
    with np.errstate(all="ignore"):
        assert not least_margin(arrays, np.array([[huge]])) > 0


def test_blocks_do_not_matter(monkeypatch):
    arrays, weights, multipliers = draw(9, 7, 3, True, 4, 1)
    whole = least_margin(arrays, weights), *margin_bound(arrays, multipliers)
    monkeypatch.setattr("loadstone.proofs.rounding._NUMBERS_AT_A_TIME", 42)
    parts = least_margin(arrays, weights), *margin_bound(arrays, multipliers)
    assert parts == pytest.approx(whole, rel=1e-9)


EYE = np.eye(2)


@pytest.mark.parametrize("scale", [1e-320, 1e-180, 1e-100, 1e100, 1.7e308])
@pytest.mark.parametrize("size", [1e-160, 1e-100, 1.0, 1e100])
def test_no_scale_of_multipliers_or_instance_proves_what_is_false(scale, size):
    """W = 1 stores the identity at every scale, so no multipliers may count against it."""
    for inputs, outputs in ((EYE * size, EYE), (EYE, EYE * size), (EYE * size, EYE * size)):
        arrays = Arrays(inputs, outputs, np.arange(2))
        with np.errstate(all="ignore"):
            assert not certifies(margin_bound(arrays, np.full((2, 2), scale)), arrays)


def test_one_huge_output_or_input_does_not_weaken_what_counts():
    outputs = np.array([[1.0, 0.0], [0.0, 1.0], [-1e155, -1e155]])
    arrays = Arrays(EYE, outputs, np.arange(2))
    with np.errstate(all="ignore"):
        assert not certifies(margin_bound(arrays, np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])), arrays)


def test_nearly_equal_inputs_are_not_taken_for_equal_ones():
    inputs = np.array([[1.0, 0.0], [1.0, 1e-10]])
    arrays = Arrays(inputs, EYE, np.arange(2))
    assert least_margin(arrays, np.array([[2.5e-11, -0.5], [-2.5e-11, 0.5]])) > 0
    assert not certifies(margin_bound(arrays, np.array([[0.0, 1.0], [1.0, 0.0]])), arrays)


def test_a_witness_of_tiny_numbers_is_not_overrated():
    weights = np.array([[1.0, -0.3], [-0.2, 0.9]])
    arrays = Arrays(EYE, EYE, np.arange(2))
    assert least_margin(arrays, 1.5e-162 * weights) == pytest.approx(least_margin(arrays, weights), rel=1e-9)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_multipliers_that_are_none_prove_nothing(bad):
    assert margin_bound(Arrays(EYE, EYE, np.arange(2)), np.array([[0.0, 1.0], [bad, 0.0]])) == NOTHING


def test_exact_ties_are_found():
    outputs = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    assert certain_tie(Arrays(EYE, outputs, np.array([1, 0]))) == (1, 2)
    assert certain_tie(Arrays(EYE, outputs, np.array([1, 2]))) == (1, 0)
    assert certain_tie(Arrays(EYE, outputs, np.array([1, 1]))) is None
    assert certain_tie(Arrays(np.array([[1.0, 0.0], [0.0, 0.0]]), outputs, np.array([1, 0]))) == (1, 1)
    assert certain_tie(Arrays(EYE, np.stack([outputs, outputs]), np.array([1, 2]))) == (1, 0)
    assert certain_tie(Arrays(EYE, np.stack([outputs, outputs]), np.array([1, 1]))) is None


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_norm_above_is_above_at_every_scale(size):
    values = np.random.default_rng(0).standard_normal(50) * size
    exact = sum(Fraction(float(x)) ** 2 for x in values)
    assert Fraction(norm_above(values)) ** 2 >= exact
    assert norm_above(values) <= size * np.linalg.norm(values / size) * (1 + 1e-12)
