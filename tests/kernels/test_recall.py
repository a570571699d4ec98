"""Recalls of two sets of outputs are merged; the slope from weighed sums is a mean less the target, and exactly zero
where nothing else has any weight."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels.recall import Recall, weighed_slope

RANDOM = np.random.default_rng(0)


def halves(*shape):
    return RANDOM.standard_normal(shape).astype(np.float16).astype(np.float32)


@pytest.mark.parametrize("level", [0, 3])
def test_one_output_alone_has_no_slope_to_the_last_bit(level):
    """A compiler turns weighed / total into weighed * (1 / total), and fuses it with the subtraction of the target, so
    that the rounding shows: all of these numbers would differ from zero."""
    own, total = halves(400, 6), np.abs(halves(400)) * 16 + 1
    total = total.astype(np.float16).astype(np.float32)
    slope = jax.jit(weighed_slope, compiler_options={"xla_backend_optimization_level": level})
    assert not np.asarray(slope(*map(jnp.asarray, (total[:, None] * own, total, own)))).any()


def test_it_is_the_mean_less_the_target():
    outputs, weights = halves(30, 5), np.abs(halves(8, 30)).astype(np.float64)
    own, total = outputs[:8], weights.sum(axis=1)
    found = jax.jit(weighed_slope)(*(jnp.asarray(part, jnp.float32) for part in (weights @ outputs, total, own)))
    np.testing.assert_allclose(found, weights @ outputs / total[:, None] - own, atol=1e-6)


def recall_of(queries, outputs, targets):
    """By the definition; a target below zero is in another set."""
    scores = queries @ outputs.T
    own = np.arange(len(outputs)) == targets[:, None]
    target, rival = (np.where(mask, scores, -np.inf).max(axis=1) for mask in (own, ~own))
    total = np.exp(scores).sum(axis=1)
    return Recall(
        *(jnp.asarray(part) for part in (target, rival, np.log(total), np.exp(scores) @ outputs / total[:, None]))
    )


@pytest.mark.parametrize("cut", [1, 7, 29])
def test_recalls_of_two_sets_of_outputs_are_merged_to_that_of_both(cut):
    queries, outputs, targets = halves(20, 4), halves(30, 4), RANDOM.integers(0, 30, 20)
    first = recall_of(queries, outputs[:cut], targets)
    rest = recall_of(queries, outputs[cut:], targets - cut)
    for found, expected in zip(first.merged(rest), recall_of(queries, outputs, targets)):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
