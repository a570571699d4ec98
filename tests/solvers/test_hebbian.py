import jax
import jax.numpy as jnp
import numpy as np

from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.solvers.hebbian import hebbian
from loadstone.streams.stream import Stream


def test_matrix_is_the_sum_of_outer_products():
    problem = decoupled(Stream(4, 5), 7)
    expected = sum(np.outer(u, e) for u, e in zip(problem.target_outputs, problem.inputs)) / 5
    np.testing.assert_allclose(hebbian(problem).weights, expected, atol=1e-5)


def test_score_moments_of_the_paper():
    """Scores u_mu^T W e_rho / d have mean delta_{mu rho} and variance p / d^2, up to terms of relative size d / p.

    Exactly: an off-diagonal score has p - 2 terms of variance 1/d^2 and two of variance (d + 2) / d^2; a diagonal one
    has p - 1 terms of variance 1/d^2 and its own, |u|^2 |e|^2 / d^2, of variance (1 + 2/d)^2 - 1.
    """
    d, p, draws = 40, 400, 8
    moments = []
    for seed in range(draws):
        problem = original(Stream(seed, d), p)
        scores = np.asarray(problem.outputs @ hebbian(problem).weights @ problem.inputs.T, np.float64) / d
        diagonal, off = np.diag(scores), scores[~np.eye(p, dtype=bool)]
        moments.append([diagonal.mean(), off.mean(), ((diagonal - 1) ** 2).mean(), (off**2).mean()])
    exact = [1, 0, (p - 1) / d**2 + (1 + 2 / d) ** 2 - 1, ((p - 2) + 2 * (d + 2)) / d**2]
    mean, error = np.mean(moments, axis=0), np.std(moments, axis=0, ddof=1) / draws**0.5
    # Five standard errors, estimated from the spread between the independent draws.
    assert (np.abs(mean - exact) < 5 * error).all()
    assert abs(exact[3] / (p / d**2) - 1) < 2.5 * d / p


def test_the_hebbian_memory_is_one_step_on_the_correlation_loss():
    """The correlation loss is minus the sum of the targets' scores; from W = 0 a step of 1/d along its gradient."""
    problem = original(Stream(3, 6), 9)

    def correlation_loss(weights):
        return -jnp.sum((problem.inputs @ weights.T) * problem.outputs)

    step = -jax.grad(correlation_loss)(jnp.zeros((6, 6))) / 6
    np.testing.assert_allclose(hebbian(problem).weights, step, atol=1e-5)


def test_on_the_cross_entropy_the_first_step_has_centred_outputs():
    """Its gradient at W = 0 is the same sum with the mean output subtracted, over p."""
    problem = original(Stream(3, 6), 9)
    outputs = np.asarray(problem.outputs)
    centred = outputs - outputs.mean(axis=0)
    expected = np.einsum("pi,pj->ij", centred, np.asarray(problem.inputs)) / 9
    pull = problem.recall(jnp.zeros((9, 6))).pull
    gradient = np.einsum("pi,pj->ij", np.asarray(pull) - outputs, np.asarray(problem.inputs)) / 9
    np.testing.assert_allclose(-gradient, expected, atol=1e-5)
