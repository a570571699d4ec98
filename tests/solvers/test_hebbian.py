import numpy as np

from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.problems.stream import Stream
from loadstone.solvers.hebbian import hebbian


def test_matrix_is_the_sum_of_outer_products():
    problem = decoupled(Stream(4, 5), 7)
    expected = sum(np.outer(u, e) for u, e in zip(problem.target_outputs, problem.inputs)) / 5
    np.testing.assert_allclose(hebbian(problem).weights, expected, atol=1e-5)


def test_score_moments_of_the_paper():
    """Scores u_mu^T W e_rho / d have mean delta_{mu rho} and variance p / d^2, up to terms of relative size d / p.

    Exactly: an off-diagonal score has p - 2 terms of variance 1/d^2 and two of variance (d + 2) / d^2; a diagonal one
    has p - 1 terms of variance 1/d^2 and its own, |u|^2 |e|^2 / d^2, of variance (1 + 2/d)^2 - 1.
    """
    d, p, draws = 40, 400, 16
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
