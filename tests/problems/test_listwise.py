"""Targets against the mean of their k best rivals: by hand, by differences in float64, and by sorting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.problems.listwise import listwise, smooth_mean_of_best
from loadstone.problems.loss import mean_loss
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.streams.stream import Stream

D, P, K = 6, 11, 3


@pytest.fixture(scope="module")
def weights():
    return jnp.asarray(np.random.default_rng(0).standard_normal((D, D)) / 3, jnp.float32)


def means_of_best(problem, weights, k):
    """From all scores, by sorting."""
    n = int(problem.associations)
    scores = np.array(problem.scores((problem.inputs @ weights.T)[:n], jnp.arange(n)))[:, : problem.competitors]
    targets = np.asarray(problem.targets)[:n]
    own = scores[np.arange(n), targets].copy()
    scores[np.arange(n), targets] = -np.inf
    return own, -np.sort(-scores, axis=1)[:, :k].mean(axis=1)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_smooth_mean_is_a_minimum_and_its_weights_are_its_derivatives(k):
    scores = 3 * np.random.default_rng(k).standard_normal((4, 9))
    with jax.enable_x64(True):
        level, weights, mean = (np.asarray(part) for part in smooth_mean_of_best(jnp.asarray(scores), k))
        for row in range(4):
            value = lambda t, s=scores[row]: t + np.logaddexp(0, s - t).sum() / k  # noqa: E731
            least = minimize_scalar(value, (-9, 9), tol=1e-12)
            assert level[row] == pytest.approx(least.fun, abs=1e-9)
        shift = 1e-5 * np.random.default_rng(0).standard_normal(scores.shape)
        up, down = (np.asarray(smooth_mean_of_best(jnp.asarray(scores + s), k)[0]) for s in (shift, -shift))
        np.testing.assert_allclose((up - down) / 2, (weights * shift).sum(axis=1), atol=1e-12)
        # Large scores leave nothing of the smoothing.
        sharp = np.asarray(smooth_mean_of_best(jnp.asarray(1000 * scores), k)[0])
    np.testing.assert_allclose(sharp / 1000, mean, atol=0.02)
    np.testing.assert_allclose(mean, -np.sort(-scores, axis=1)[:, :k].mean(axis=1))
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights.max() <= 1 / k and (level > mean).all()


@pytest.mark.parametrize("kind", ["original", "decoupled", "padded"])
def test_recall_and_its_gradient(kind, weights):
    stream = Stream(3, D)
    plain = decoupled(stream, P) if kind == "decoupled" else original(stream, P)
    plain = padded(original(stream, P + 4), P) if kind == "padded" else plain
    problem = listwise(plain, K)
    recall = jax.jit(lambda problem: problem.recall(problem.inputs @ weights.T))(problem)
    own, mean = means_of_best(plain, weights, K)
    np.testing.assert_allclose(recall.target[:P], own, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(recall.rival[:P], mean, rtol=1e-5, atol=1e-5)
    assert bool(recall.stored[P:].all()) and float(jnp.abs(recall.loss[P:]).sum()) == 0  # padding

    with jax.enable_x64(True):
        exact = problem.in_float64()
        loss = jax.jit(lambda matrix: mean_loss(exact, Full(matrix))[0])
        matrix = jnp.asarray(weights, jnp.float64)
        way = jnp.asarray(np.random.default_rng(1).standard_normal((D, D)))
        slope = (loss(matrix + 1e-5 * way) - loss(matrix - 1e-5 * way)) / 2e-5
        derivative = float((jax.grad(loss)(matrix) * way).sum())
        assert derivative == pytest.approx(float(slope), rel=1e-7)


@pytest.mark.soak
def test_many_associations_are_done_in_blocks(weights):
    """2010 of them have more than four million scores."""
    plain = original(Stream(3, D), 2010)
    queries = plain.inputs @ weights.T
    recall, slope = jax.jit(lambda problem: problem.slopes(queries))(listwise(plain, K))
    few = jnp.asarray([3, 1004, 1005, 2009])
    alone, slope_alone = listwise(plain.part(few, jnp.ones(4, bool)), K).slopes(queries[few])
    for one, other in zip((*recall, slope), (*alone, slope_alone)):
        np.testing.assert_allclose(one[few], other, rtol=1e-5, atol=1e-5)


def test_one_rival_is_recall_by_the_largest_score(weights):
    plain = original(Stream(4, D), P)
    queries = plain.inputs @ (3 * weights.T + jnp.eye(D))
    one, all_rivals = listwise(plain, 1).recall(queries), plain.recall(queries)
    np.testing.assert_array_equal(one.stored, all_rivals.stored)
    assert 0 < int(one.stored.sum()) < P
    np.testing.assert_allclose(one.rival, all_rivals.rival, rtol=1e-6)


def test_what_makes_no_sense_is_refused():
    plain = original(Stream(0, D), P)
    for k in (0, P - 1, 2.5):
        with pytest.raises(ValueError, match=f"rivals is {k}, but must be"):
            listwise(plain, k)
    with pytest.raises(ValueError, match="with 2 outputs', but must be one with at least three"):
        listwise(original(Stream(0, D), 2), 1)
    with pytest.raises(ValueError, match="A proof is about every rival"):
        listwise(plain, 2).arrays()
    assert "against the mean of the 2 best rivals" in listwise(plain, 2).description
