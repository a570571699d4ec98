"""The pass in NumPy: against the definition, in every order of products, in one block and on several threads."""

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from loadstone.memories.full import Full
from loadstone.problems.facts import facts
from loadstone.problems.loss import mean_loss
from loadstone.problems.numpy_pass import NumpyPass

D = 7


def drawn(n, m, shares=False):
    random = np.random.default_rng(n)
    targets = random.integers(0, m, n)
    weights = random.uniform(0.1, 2, n) if shares else None
    return facts(random.standard_normal((n, D)), random.standard_normal((m, D)), targets=targets, shares=weights)


@pytest.mark.parametrize(
    "n, m, shares",
    [(50, 9, False), (9, 50, False), (40, 40, True), (1, 2, False), (3000, 200, True), (400, 1500, False)],
)
def test_loss_gradient_and_what_is_stored_are_those_of_the_definition(n, m, shares):
    problem, weights = drawn(n, m, shares), np.random.default_rng(1).standard_normal((D, D)).astype("f")
    with ThreadPoolExecutor(4) as threads:
        exact = NumpyPass(problem, np.dtype("float64"), threads.map)
        assert (len(exact.blocks) > 1) == (n * m > 2**17)
        single, double = NumpyPass(problem, np.dtype("float32")).at(weights), exact.at(weights.astype(float))
        stored, each = exact.recalled(weights.astype(float))
    arrays = problem.arrays()
    scores = arrays.inputs.astype(float) @ weights.T.astype(float) @ arrays.outputs.T.astype(float)
    target = scores[np.arange(n), arrays.targets]
    losses = logsumexp(scores, axis=1) - target
    parts = np.ones(n) if problem.shares is None else np.asarray(problem.shares, float)
    assert double.loss == pytest.approx(np.average(losses, weights=parts), rel=1e-6)
    rivals = np.where(np.arange(m) == arrays.targets[:, None], -np.inf, scores).max(axis=1)
    np.testing.assert_array_equal(double.stored, target > rivals)
    # The gradient comes from JAX, which derives it another way.
    slope, _ = jax.grad(lambda w: mean_loss(problem, Full(w)), has_aux=True)(jnp.asarray(weights))
    for result in (single, double):
        np.testing.assert_allclose(result.gradient, slope, atol=2e-5)
    assert single.loss == pytest.approx(double.loss, rel=1e-5)
    np.testing.assert_allclose(each, losses, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(stored, double.stored_beyond_rounding)


def test_a_margin_that_rounding_may_have_made_is_not_clear():
    inputs, outputs = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [1.0 - 2e-7, 1.0]])
    problem = facts(inputs, outputs, targets=[0])
    for kind, clear in (("float32", False), ("float64", True)):
        result = NumpyPass(problem, np.dtype(kind)).at(np.eye(2, dtype=kind))
        assert bool(result.stored[0]) and bool(result.stored_beyond_rounding[0]) is clear


@pytest.mark.parametrize("n, m, blocks", [
    (5000, 100, 4), (1310, 100, 1), (1311, 100, 2), (300, 4000, 3), (256, 4000, 2), (257, 4000, 3), (5, 2, 1),
])  # fmt: skip
def test_blocks_have_131072_scores_and_128_rows_at_least(n, m, blocks):
    """So many scores stay in a cache, and products of fewer rows are slow."""
    problem = facts(np.ones((n, 1)), np.ones((m, 1)), targets=np.zeros(n, int))
    slices = NumpyPass(problem, np.dtype(np.float32)).blocks
    assert len(slices) == blocks and [row for part in slices for row in range(n)[part]] == [*range(n)]
    sizes = [part.stop - part.start for part in slices]
    assert max(sizes) - min(sizes) <= 1
