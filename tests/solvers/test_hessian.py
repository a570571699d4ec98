"""The Hessian against finite differences, its two ways of solving against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.threshold import Prefixes
from loadstone.problems.exact import ExactPass
from loadstone.problems.stream import Stream
from loadstone.solvers.hessian import Hessian, _cholesky, _cholesky_solve
from loadstone.solvers.newton import _softmax


def at(weights, exact):
    softmax, losses = _softmax(exact.scores(weights), exact, np)
    pull = exact.mean(softmax)
    return (
        losses.sum(),
        (pull - exact.target_outputs).T @ exact.inputs,
        Hessian(exact.inputs, exact.covariances(softmax, pull), np),
    )


@pytest.fixture(params=["original", "decoupled"])
def exact(request):
    return ExactPass(Prefixes(request.param, Stream(0, 5)).of(30))


def test_gradient_and_product_against_finite_differences(exact):
    random = np.random.default_rng(0)
    weights, v = random.standard_normal((2, 5, 5)) / 5
    _, gradient, hessian = at(weights, exact)
    h = 1e-5
    up, down = at(weights + h * v, exact), at(weights - h * v, exact)
    # Central differences err by h^2 times a third derivative of order one, and by rounding / h.
    assert (gradient * v).sum() == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-7)
    np.testing.assert_allclose(hessian.product(v), (up[1] - down[1]) / (2 * h), atol=1e-6 * abs(gradient).max())


def test_both_solutions_solve(exact):
    random = np.random.default_rng(1)
    _, _, hessian = at(random.standard_normal((5, 5)) / 5, exact)
    target = random.standard_normal((5, 5))
    by_products, reached = hessian.conjugate_gradients(target, 1e-11, 500)
    assert reached
    for v in (by_products, hessian.dense(target)):
        np.testing.assert_allclose(hessian.product(v), target, atol=1e-9)


@pytest.mark.parametrize("d, most", [(1, 5000), (6, 5000), (7, 20), (12, 40), (12, 100)])
def test_factor_of_an_accelerator_tile_by_tile(d, most):
    """One tile, tiles of d rows (d is prime), four tiles, two tiles."""
    with jax.enable_x64(True):
        random = np.random.default_rng(3)
        half = random.standard_normal((d * d, d * d))
        matrix = half @ half.T + np.eye(d * d)
        factor = _cholesky(jnp.asarray(matrix), 0.5, d, most)
        lower = np.triu(factor).T
        np.testing.assert_allclose(lower @ lower.T, matrix + 0.5 * np.eye(d * d), atol=1e-9 * d**2)
        right = random.standard_normal(d * d)
        solution = np.asarray(_cholesky_solve(factor, jnp.asarray(right), d, most))
        np.testing.assert_allclose(lower @ (lower.T @ solution), right, atol=1e-9 * d**2)


def test_a_singular_system_with_a_solution_is_solved():
    exact = ExactPass(Prefixes("original", Stream(0, 12)).of(3))
    _, gradient, hessian = at(np.zeros((12, 12)), exact)
    v, reached = hessian.conjugate_gradients(-gradient, 1e-10, 200)
    assert reached
    np.testing.assert_allclose(hessian.product(v), -gradient, atol=1e-8)
    np.testing.assert_allclose(hessian.product(hessian.dense(-gradient)), -gradient, atol=1e-8)


def test_second_moments_by_hand(exact):
    random = np.random.default_rng(2)
    weights = random.random((30, 30))
    sums = exact.mean(weights)
    for mu in (0, 17):
        outputs = exact.outputs[mu] if exact.decoupled else exact.outputs
        away = outputs - exact.target_outputs[mu]
        np.testing.assert_allclose(exact.spreads(weights, sums)[mu], (away.T * weights[mu]) @ away, atol=1e-9)
