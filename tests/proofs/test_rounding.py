"""Bounds against exact rational arithmetic: what is claimed must hold for the true numbers, digit by digit."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.problems.arrays import Arrays
from loadstone.proofs import rounding
from loadstone.proofs.rounding import (
    NOTHING_EXCLUDED,
    Bound,
    _against,
    _Block,
    _distances,
    _lengths,
    certain_tie,
    gamma,
    is_rounding,
    least_margin,
    margin_bound,
)
from loadstone.proofs.scaling import scaled


def draw(n, m, d, decoupled, seed, spread):
    """Numbers of very different size, so that sums cancel, and squares under- and overflow."""
    random = np.random.default_rng(seed)
    wild = lambda *shape: random.standard_normal(shape) * 10.0 ** random.integers(-spread, spread + 1, shape)  # noqa: E731
    outputs = wild(n, m, d) if decoupled else wild(m, d)
    arrays = Arrays(wild(n, d), outputs, random.integers(0, m, n))
    return arrays, wild(d, d), np.abs(wild(n, m))


def fractions(array):
    return [[Fraction(float(x)) for x in row] for row in array]


def square(numbers):
    return sum(x * x for x in numbers)


def exact_margins(arrays, weights):
    """The margin of each association over each rival."""
    w = fractions(weights)
    for mu, e in enumerate(fractions(arrays.inputs)):
        query = [sum(a * b for a, b in zip(row, e)) for row in w]
        outputs = fractions(arrays.outputs[mu] if arrays.decoupled else arrays.outputs)
        target = outputs[arrays.targets[mu]]
        for rho, output in enumerate(outputs):
            if rho != arrays.targets[mu]:
                away = [a - b for a, b in zip(target, output)]
                yield sum(a * q for a, q in zip(away, query))


def exact_residual(arrays, multipliers):
    """|R|_F^2, the sum of the multipliers of rivals, and their sum with the largest possible margins as weights."""
    d = arrays.inputs.shape[1]
    residual, total, reach = [[Fraction(0)] * d for _ in range(d)], Fraction(0), mpmath.mpf(0)
    for mu, e in enumerate(fractions(arrays.inputs)):
        outputs = fractions(arrays.outputs[mu] if arrays.decoupled else arrays.outputs)
        target = outputs[arrays.targets[mu]]
        for rho, output in enumerate(outputs):
            if rho == arrays.targets[mu]:
                continue
            weight = Fraction(float(multipliers[mu, rho]))
            away = [a - b for a, b in zip(output, target)]
            total += weight
            reach += root(weight**2 * square(away) * square(e))
            for i in range(d):
                for j in range(d):
                    residual[i][j] += weight * away[i] * e[j]
    return square(x for row in residual for x in row), total, reach


def root(fraction):
    """Its square root to fifty digits."""
    with mpmath.workdps(50):
        return mpmath.sqrt(mpmath.mpf(fraction.numerator) / fraction.denominator)


sizes = st.tuples(st.integers(1, 4), st.integers(2, 5), st.integers(1, 4), st.booleans(), st.integers(0, 10**6))
spreads = st.sampled_from([0, 3, 8, 80, 160, 307])


@settings(max_examples=150)
@given(sizes, spreads)
def test_least_margin_is_never_above_the_true_one(size, spread):
    arrays, weights, _ = draw(*size, spread)
    with np.errstate(over="raise", invalid="raise"):
        bound = least_margin(arrays, weights)
    norm = square(x for row in fractions(weights) for x in row)
    margins = list(exact_margins(arrays, weights))
    if bound >= 0:
        for margin in margins:
            assert margin > 0 and Fraction(bound) ** 2 * norm <= margin**2
    if spread > 8:
        return
    # And not far below: within the sum of the absolute terms times a few units of rounding.
    true, norm = float(min(margins)), float(norm) ** 0.5
    size = np.abs(weights).max() / norm * np.abs(arrays.inputs).max() * np.abs(arrays.outputs).max() * weights.size
    if true / norm > 200 * gamma(weights.size) * size:
        assert bound > 0 and true / norm - bound <= 100 * gamma(weights.size) * size


@settings(max_examples=150)
@given(sizes, spreads)
def test_margin_bound_is_never_below_the_true_one(size, spread):
    arrays, _, multipliers = draw(*size, spread)
    with np.errstate(over="raise", invalid="raise"):
        bound = margin_bound(arrays, multipliers)
    residual, total, reach = exact_residual(arrays, multipliers)
    assert np.isinf(bound.margin) or Fraction(bound.margin) ** 2 * total**2 >= residual
    assert bound.share * reach * (1 + mpmath.mpf(10) ** -40) >= root(residual)


def test_a_residual_of_zero_gives_a_bound_of_rounding_size():
    # The target is the mean of its two rivals, exactly.
    arrays = Arrays(np.array([[3.0, 1.0]]), np.array([[1.0, 2.0], [5.0, 0.0], [3.0, 1.0]]), np.array([2]))
    bound = margin_bound(arrays, np.array([[1.0, 1.0, 0.0]]))
    assert bound.margin < 1e-13 and is_rounding(bound, arrays)


def test_weights_of_targets_do_not_count():
    arrays, _, multipliers = draw(3, 4, 2, False, 0, 0)
    other = multipliers.copy()
    other[np.arange(3), arrays.targets] = 1e9
    assert margin_bound(arrays, other) == margin_bound(arrays, multipliers)
    only_targets = np.zeros((3, 4))
    only_targets[np.arange(3), arrays.targets] = 1
    assert margin_bound(arrays, only_targets) == NOTHING_EXCLUDED


@pytest.mark.parametrize("bad", [np.inf, np.nan, 0.0, -1.0])
def test_what_is_no_witness_or_no_multiplier_proves_nothing(bad):
    arrays = Arrays(np.array([[1.0]]), np.array([[1.0], [2.0]]), np.array([1]))
    with np.errstate(all="ignore"):
        assert least_margin(arrays, np.array([[bad]])) == -np.inf
    multipliers = np.array([[0.0, float(bad != 0)], [bad, 0.0]])
    assert margin_bound(Arrays(EYE, EYE, np.arange(2)), multipliers) == NOTHING_EXCLUDED


@pytest.mark.parametrize("inputs, outputs", [(1e200, 1e200), (1e-200, 1e-200), (1e300, 1e-300), (5e-324, 5e-324)])
def test_a_witness_counts_at_every_scale(inputs, outputs):
    arrays = Arrays(np.array([[inputs]]), np.array([[outputs], [2 * outputs]]), np.array([1]))
    margin = least_margin(arrays, np.array([[3.0]]))
    # The margin itself is the product, which may be too large or too small for a float: then the nearest below it.
    assert Fraction(margin) <= Fraction(inputs) * Fraction(outputs) and margin >= 0
    if 0 < inputs * outputs < np.inf:
        assert margin == pytest.approx(inputs * outputs)
    assert least_margin(arrays, np.array([[-3.0]])) == -np.inf


@pytest.mark.parametrize("decoupled", [True, False])
def test_blocks_do_not_matter(monkeypatch, decoupled):
    arrays, _, multipliers = draw(9, 7, 3, decoupled, 4, 1)
    # Targets that W = sum u e^T puts first, so that there is a margin to compare.
    weights = np.linalg.lstsq(arrays.inputs[:3], arrays.target_outputs[:3], rcond=None)[0].T
    targets = _against(arrays.outputs, arrays.inputs @ weights.T).argmax(axis=1)
    arrays = Arrays(arrays.inputs, arrays.outputs, targets)
    whole = least_margin(arrays, weights), *margin_bound(arrays, multipliers)
    assert whole[0] > 0
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
            assert not is_rounding(margin_bound(arrays, np.full((2, 2), scale)), arrays)


def test_one_huge_output_or_input_does_not_weaken_what_counts():
    outputs = np.array([[1.0, 0.0], [0.0, 1.0], [-1e155, -1e155]])
    arrays = Arrays(EYE, outputs, np.arange(2))
    with np.errstate(all="ignore"):
        assert not is_rounding(margin_bound(arrays, np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])), arrays)


def test_nearly_equal_inputs_are_not_taken_for_equal_ones():
    inputs = np.array([[1.0, 0.0], [1.0, 1e-10]])
    arrays = Arrays(inputs, EYE, np.arange(2))
    assert least_margin(arrays, np.array([[2.5e-11, -0.5], [-2.5e-11, 0.5]])) > 0
    assert not is_rounding(margin_bound(arrays, np.array([[0.0, 1.0], [1.0, 0.0]])), arrays)


def test_a_witness_of_tiny_numbers_is_not_overrated():
    weights = np.array([[1.0, -0.3], [-0.2, 0.9]])
    arrays = Arrays(EYE, EYE, np.arange(2))
    assert least_margin(arrays, 1.5e-162 * weights) == pytest.approx(least_margin(arrays, weights), rel=1e-9)
    assert least_margin(arrays, weights) == pytest.approx(1.2 / np.linalg.norm(weights))


@pytest.mark.parametrize("n, m", [(1, 2), (3, 500), (500, 3)])
def test_what_counts_as_zero_grows_with_the_number_of_terms(n, m):
    arrays = Arrays(np.ones((n, 1)), np.arange(float(m))[:, None], np.zeros(n, int))
    limit = 1e-13 + 8 * (n + m) * 2.0**-53
    assert is_rounding(Bound(1.0, 0.999 * limit), arrays) and not is_rounding(Bound(1.0, 1.001 * limit), arrays)


def test_multipliers_on_outputs_that_are_too_close_to_measure_exclude_nothing():
    """Their distance is not zero, but it is lost in the rounding of the outputs' squares."""
    outputs = np.array([[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0]])
    bound = margin_bound(Arrays(EYE[:1], outputs, np.array([0])), np.array([[0.0, 1.0, 0.0]]))
    assert bound.share == np.inf and bound.margin == pytest.approx(1e-9)


def test_negative_zero_ties_with_zero():
    outputs = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert certain_tie(Arrays(EYE[:1], outputs, np.array([0]))) == (0, 1)
    assert certain_tie(Arrays(EYE[:1], outputs[None], np.array([1]))) == (0, 0)


@pytest.mark.parametrize("top", [5e-324, 1e-310, 0.3, 1.0, 1e300, 1.7e308])
def test_scaling_by_powers_of_two_is_exact(top):
    array = top * np.array([[1.0, -0.5, 0.25], [0.0, 0.0, 0.0]])
    for axis in (None, 1):
        result, exponent = scaled(array, axis)
        assert 0.5 <= np.abs(result).max() < 1
        back = [[Fraction(x) * Fraction(2) ** int(np.ravel(exponent)[0]) for x in row] for row in result[:1].tolist()]
        assert back == fractions(array[:1]) and not result[1].any()


def test_exact_ties_are_found():
    outputs = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    assert certain_tie(Arrays(EYE, outputs, np.array([1, 0]))) == (1, 2)
    assert certain_tie(Arrays(EYE, outputs, np.array([1, 2]))) == (1, 0)
    assert certain_tie(Arrays(EYE, outputs, np.array([1, 1]))) is None
    assert certain_tie(Arrays(np.array([[1.0, 0.0], [0.0, 0.0]]), outputs, np.array([1, 0]))) == (1, 1)
    assert certain_tie(Arrays(EYE, np.stack([outputs, outputs]), np.array([1, 2]))) == (1, 0)
    assert certain_tie(Arrays(EYE, np.stack([outputs, outputs]), np.array([1, 1]))) is None


def neighbours(random, vector):
    """The same vector, each entry moved by a few units of its last digit."""
    return vector * (1 + random.integers(-3, 4, vector.shape) * 2.0**-52)


def test_scores_that_differ_by_less_than_their_rounding_prove_nothing_false():
    random = np.random.default_rng(0)
    proved = 0
    for _ in range(400):
        d = int(random.integers(2, 5))
        target, weights = random.standard_normal(d), random.standard_normal((d, d))
        outputs = np.stack([target, neighbours(random, target), neighbours(random, target)])
        arrays = Arrays(random.standard_normal((2, d)), outputs, np.array([0, 0]))
        bound = least_margin(arrays, weights)
        margins = list(exact_margins(arrays, weights))
        assert bound < 0 or all(margin > 0 for margin in margins)
        # Outputs a thousand times as far apart are told apart, and the bound holds to the last digit.
        outputs[1:] = target + 1000 * (outputs[1:] - target) + 1e-13 * random.standard_normal((2, d))
        arrays = Arrays(arrays.inputs, outputs, arrays.targets)
        bound, norm = least_margin(arrays, weights), square(x for row in fractions(weights) for x in row)
        proved += bound >= 0
        for margin in exact_margins(arrays, weights) if bound >= 0 else ():
            assert margin > 0 and Fraction(bound) ** 2 * norm <= margin**2
    assert proved > 20


def orthogonal(vectors, direction):
    """Vectors without the part along a direction, but for rounding."""
    return vectors - np.outer(vectors @ direction, direction) / (direction @ direction)


@pytest.mark.parametrize("where", ["scores", "queries", "target"])
def test_scores_whose_rounding_has_the_wrong_sign_prove_nothing(where):
    """Products that cancel, so that the computed margin is mostly rounding: of the scores or of the queries."""
    random = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        weights, inputs, outputs = random.standard_normal((3, 3)), random.standard_normal((1, 3)), np.eye(3)[:2]
        if where == "queries":
            weights = orthogonal(weights, inputs[0])
        else:
            outputs = orthogonal(random.standard_normal((2, 3)), inputs[0] @ weights.T)
        outputs = outputs * [[1.0], [0.0]] if where == "target" else outputs
        arrays = Arrays(inputs, outputs, np.array([0]))
        scores = outputs @ (inputs[0] @ weights.T)
        (true,) = exact_margins(arrays, weights)
        wrong += scores[0] - scores[1] > 0 >= true
        assert least_margin(arrays, weights) < 0 or true > 0
    assert wrong > 10  # so the test could fail


@pytest.mark.parametrize("decoupled", [True, False])
def test_residuals_that_cancel_are_bounded_with_their_rounding(decoupled):
    random = np.random.default_rng(2)
    hidden = 0
    for _ in range(100):
        d = int(random.integers(1, 4))
        rivals = random.standard_normal((2, d)) * 10.0 ** random.integers(-3, 4)
        outputs = np.vstack([rivals, rivals.mean(axis=0)])
        inputs = random.standard_normal((3, d))
        inputs[2] = -(inputs[0] + inputs[1])
        arrays = Arrays(inputs, np.stack([outputs] * 3) if decoupled else outputs, np.full(3, 2))
        for multipliers in (np.tile([1.0, 1.0, 0.0], (3, 1)), np.tile([0.7, 0.0, 0.0], (3, 1))):
            bound = margin_bound(arrays, multipliers)
            residual, total, reach = exact_residual(arrays, multipliers)
            assert Fraction(bound.margin) ** 2 * total**2 >= residual
            assert bound.share * reach * (1 + mpmath.mpf(10) ** -40) >= root(residual)
            slope = multipliers[0] @ outputs - multipliers[0].sum() * outputs[2]
            hidden += not np.outer(slope, inputs.sum(axis=0)).any() and residual > 0
    assert hidden > 5  # computed plainly the residual is zero, but it is not


@pytest.mark.parametrize("decoupled", [True, False])
def test_distances_and_lengths_are_bounded_from_both_sides(decoupled):
    random = np.random.default_rng(3)
    for scale in (1.0, 1e-140, 1e-150, 1e-160, 1e-300):
        for _ in range(20):
            vector = random.standard_normal(3) * scale
            outputs = np.stack([vector, neighbours(random, vector), vector + scale * 1e-8, -vector, random.random(3)])
            block = _Block(outputs[:1], outputs[None] if decoupled else outputs, np.zeros(1, int), np.zeros(1, int))
            for below, above, exact in zip(*(x[0] for x in _distances(block)), fractions(outputs - 0.0)):
                true = square(a - b for a, b in zip(exact, fractions(outputs)[0]))
                assert Fraction(below) ** 2 <= true <= Fraction(above) ** 2
    vectors = scaled(random.standard_normal((50, 3)) * 10.0 ** random.integers(-9, 1, (50, 3)), axis=1)[0]
    for below, above, exact in zip(*_lengths(vectors), fractions(vectors)):
        assert Fraction(below) ** 2 <= square(exact) <= Fraction(above) ** 2


def test_margins_below_the_range_of_normal_numbers_are_rounded_down():
    random = np.random.default_rng(4)
    for _ in range(300):
        inputs, outputs = random.uniform(1, 9, 2) * np.array([1e-200, 1e-122])
        arrays = Arrays(np.array([[inputs]]), np.array([[0.0], [outputs]]), np.array([1]))
        margin = least_margin(arrays, np.array([[1.0]]))
        assert 0 < Fraction(margin) <= Fraction(inputs) * Fraction(outputs)


def test_one_margin_that_is_not_positive_is_enough():
    arrays = Arrays(np.eye(3), np.eye(3), np.array([0, 1, 0]))
    assert least_margin(arrays, np.eye(3)) == -np.inf
    assert least_margin(Arrays(np.eye(3)[:2], np.eye(3), np.array([0, 1])), np.eye(3)) > 0


@pytest.mark.parametrize("size", [1.0, 1e150, 1e300])
def test_an_input_without_multipliers_does_not_weaken_the_others(size):
    """However long it is: multipliers are scaled by the largest that counts."""
    # The same input with two targets cannot be stored, whatever else there is.
    arrays = Arrays(np.array([[1.0, 2.0], [1.0, 2.0], [size, 0.0]]), EYE, np.array([0, 1, 0]))
    multipliers = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    with np.errstate(all="ignore"):
        assert is_rounding(margin_bound(arrays, multipliers), arrays)


def test_a_quotient_is_never_below_the_true_one():
    for seed in range(40):
        random = np.random.default_rng(seed)
        sums, exponents, norm = random.random(30), random.integers(-40, 40, 30), float(random.random())
        exact = Fraction(norm) / sum(Fraction(one) * Fraction(2) ** int(-power) for one, power in zip(sums, exponents))
        assert exact <= Fraction(rounding._divided(norm, sums, exponents)) <= exact * (1 + Fraction(1, 10**13))
