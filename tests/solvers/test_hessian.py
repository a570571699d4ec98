"""The Hessian against finite differences, its two ways of solving against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.problems.arrays import Arrays
from loadstone.problems.instance import Instance
from loadstone.problems.numpy_pass import ExactPass
from loadstone.solvers.hessian import Hessian, StreamedHessian, dense_bytes, matrices_bytes, scores_bytes
from loadstone.solvers.newton import _softmax
from loadstone.streams.stream import Stream


def at(weights, exact):
    softmax, losses = _softmax(exact.scores(weights), exact, np)
    pull = exact.mean(softmax)
    return (
        losses.sum(),
        (pull - exact.target_outputs).T @ exact.inputs,
        Hessian(exact.inputs, exact.spreads(softmax, pull, pull), np),
    )


@pytest.fixture(params=["original", "decoupled"])
def exact(request):
    return ExactPass(Instance(Stream(0, 5), 30, kind=request.param).arrays())


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


@pytest.mark.parametrize("kind, d, p", [("original", 1, 3), ("original", 6, 24), ("decoupled", 5, 9)])
def test_an_accelerator_solves_the_same_system(kind, d, p):
    """The code that an accelerator runs, on this machine."""
    random = np.random.default_rng(3)
    weights, target = random.standard_normal((2, d, d))
    arrays = Instance(Stream(2, d), p, kind=kind).arrays()
    _, _, here = at(weights, ExactPass(arrays))
    with jax.enable_x64(True):
        there = Hessian(jnp.asarray(here.inputs), jnp.asarray(here.covariances), jnp)
        image = there.product(jnp.asarray(target))
        np.testing.assert_allclose(image, here.product(target), rtol=1e-12, atol=1e-12 * d)
        solution, reached = there.conjugate_gradients(image, 1e-10, 500)
        assert reached
        for found in (there.dense(image), solution):
            np.testing.assert_allclose(there.product(found), image, atol=1e-8 * float(abs(image).max()))
        np.testing.assert_allclose(there.dense(image), here.dense(np.asarray(image)), atol=1e-6)


@pytest.mark.parametrize("xp", [np, jnp])
def test_a_matrix_without_a_factor_is_refused(xp):
    """A covariance with a negative direction, which rounding can leave behind."""
    with jax.enable_x64(True):
        hessian = Hessian(xp.eye(2), xp.asarray([[[1.0, 0.0], [0.0, -1.0]]] * 2), xp)
        with pytest.raises(np.linalg.LinAlgError, match="singular to working precision"):
            hessian.dense(xp.ones((2, 2)))


def test_the_size_of_a_ridge_is_judged_by_the_mean_of_the_diagonal(exact):
    _, _, hessian = at(np.random.default_rng(1).standard_normal((5, 5)) / 5, exact)
    units = np.eye(25).reshape(25, 5, 5)
    mean = np.mean([(unit * hessian.product(unit)).sum() for unit in units])
    assert hessian._mean_of_diagonal() == pytest.approx(mean, rel=1e-9)


def test_the_ridge_is_raised_until_there_is_a_factor():
    # A direction that no association sees, of curvature -1e-13 by rounding.
    hessian = Hessian(np.eye(2), np.array([[[1.0, 0.0], [0.0, -1e-13]]] * 2), np)
    target = np.array([[1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(hessian.dense(target), target, atol=1e-6)


def test_every_product_is_counted_once():
    hessian = Hessian(np.eye(2), np.array([np.eye(2)] * 2), np)
    assert hessian.products == 0
    hessian.product(np.eye(2))
    assert hessian.products == 1
    # The preconditioner is exact here, so one product solves; a dense solve is refined three times.
    assert hessian.conjugate_gradients(np.eye(2), 1e-9, 5)[1] and hessian.products == 2
    hessian.dense(np.eye(2))
    assert hessian.products == 5


def test_room_for_a_dense_solve():
    assert dense_bytes(10, 4, np) == 8 * (256 + 64 + 3 * 10 * 16)
    assert dense_bytes(10, 4, jnp) == 8 * (2 * 256 + 3 * 10 * 16)
    assert scores_bytes(10, 7) == 8 * 8 * 10 * 7
    assert matrices_bytes(10, 7, 4) == 8 * (3 * 10 * 16 + 7 * 8) + scores_bytes(10, 7)


def test_a_singular_system_with_a_solution_is_solved():
    exact = ExactPass(Instance(Stream(0, 12), 3).arrays())
    _, gradient, hessian = at(np.zeros((12, 12)), exact)
    v, reached = hessian.conjugate_gradients(-gradient, 1e-10, 200)
    assert reached
    np.testing.assert_allclose(hessian.product(v), -gradient, atol=1e-8)
    np.testing.assert_allclose(hessian.product(hessian.dense(-gradient)), -gradient, atol=1e-8)


def test_second_moments_by_hand(exact):
    random = np.random.default_rng(2)
    weights, centres = random.random((30, 30)), random.standard_normal((30, 5))
    sums = exact.mean(weights)
    found, total = exact.spreads(weights, sums, centres), exact.summed_squares(weights)
    squares = np.zeros((5, 5))
    for mu in range(30):
        outputs = exact.outputs[mu] if exact.decoupled else exact.outputs
        away = outputs - centres[mu]
        np.testing.assert_allclose(found[mu], (away.T * weights[mu]) @ away, atol=1e-9)
        squares += (outputs.T * weights[mu]) @ outputs
    np.testing.assert_allclose(total, squares, atol=1e-9)


def test_without_the_matrices_products_and_solutions_are_the_same(exact):
    random = np.random.default_rng(4)
    weights, centres, v = random.random((30, 30)), random.standard_normal((30, 5)), random.standard_normal((5, 5))
    sums = exact.mean(weights)
    held = Hessian(exact.inputs, exact.spreads(weights, sums, centres), np)
    streamed = StreamedHessian(exact, weights, sums, centres)
    np.testing.assert_allclose(streamed.product(v), held.product(v), rtol=1e-10)
    np.testing.assert_allclose(streamed._mean_covariance(), held._mean_covariance(), atol=1e-10)
    solutions = [one.conjugate_gradients(v, 1e-10, 200) for one in (held, streamed)]
    assert all(reached for _, reached in solutions) and streamed.products <= held.products + 2
    np.testing.assert_allclose(solutions[0][0], solutions[1][0], rtol=1e-6, atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        streamed.dense(v)


def test_without_curvature_conjugate_gradients_give_up():
    """No direction, or none that curves upwards: what was found so far is returned, and that it is not a solution."""
    flat, falling = (Hessian(np.eye(2), np.array([size * np.eye(2)] * 2), np) for size in (0.0, -1.0))
    for hessian in (flat, falling):
        found, reached = hessian.conjugate_gradients(np.eye(2), 1e-9, 5)
        assert not reached and not found.any()
    found, reached = falling.conjugate_gradients(np.zeros((2, 2)), 1e-9, 5)
    assert reached and not found.any()


def test_conjugate_gradients_take_no_more_products_than_they_may(exact):
    _, gradient, hessian = at(np.random.default_rng(1).standard_normal((5, 5)) / 5, exact)
    looked = []
    _, reached = hessian.conjugate_gradients(gradient, 1e-12, 3, lambda: looked.append(hessian.products))
    assert not reached and hessian.products == 3 and looked == [0, 1, 2]
    needed = Hessian(hessian.inputs, hessian.covariances, np)
    assert needed.conjugate_gradients(gradient, 1e-6, 500)[1]
    # As many as are needed are enough, and one fewer is not.
    assert hessian.conjugate_gradients(gradient, 1e-6, needed.products)[1]
    assert not hessian.conjugate_gradients(gradient, 1e-6, needed.products - 1)[1]


def test_moments_of_separate_outputs_are_summed_a_few_facts_at_a_time():
    random = np.random.default_rng(3)
    arrays = Arrays(random.standard_normal((7, 3)), random.standard_normal((7, 4, 3)), random.integers(0, 4, 7))
    weights = random.random((7, 4))
    expected = np.einsum("nm,nmi,nmj->nij", weights, arrays.outputs, arrays.outputs)
    exact = ExactPass(arrays)
    for exact._rows in (1, 2, 7, 100):
        np.testing.assert_allclose(exact._second_moments(weights), expected, rtol=1e-12)
        np.testing.assert_allclose(exact.summed_squares(weights), expected.sum(axis=0), rtol=1e-12)
