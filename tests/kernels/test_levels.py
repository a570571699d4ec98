"""Levels that are guessed before the scores are known: by NumPy, and how wrong they may be."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels.hopper.arrays import arrays_of_padded
from loadstone.kernels.hopper.levels import _LEAST_OFF, _MOST_OFF, LARGEST, are_bad, guessed_levels


@pytest.mark.parametrize("asked, count", [(90, 40), (100, 50), (1, 2), (0, 50), (70, 1)])
def test_a_guess_is_the_score_of_the_target_or_a_little_less_than_the_best_rivals_of_64_queries_say(asked, count):
    random = np.random.default_rng(0)
    queries, outputs = random.standard_normal((100, 8)).astype("e"), random.standard_normal((50, 8)).astype("e")
    targets = random.integers(0, count, 100)
    counts = jnp.asarray([asked, count], jnp.int32)
    arrays = arrays_of_padded(jnp.asarray(outputs), jnp.asarray(targets), 100, counts)
    found = guessed_levels(jnp.asarray(queries), arrays)
    lengths = np.linalg.norm(queries.astype(float), axis=1)
    scores = queries.astype(float) @ outputs.astype(float).T
    own = scores[np.arange(100), targets]
    # From everywhere among those that are asked for.
    few = np.arange(64) * max(asked, 1) // 64
    rivals = np.where((np.arange(50) < count) & (np.arange(50) != targets[:, None]), scores, -np.inf).max(axis=1)[few]
    height = 0 if count == 1 else (rivals * lengths[few]).sum() / (lengths[few] ** 2).sum()
    expected = np.maximum(own, (1 - 0.85 / np.log(max(count, 8))) * height * lengths)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_weights_of_good_guesses_fit_into_float16():
    """At the upper end none is infinite; at the lower one the smallest, four millionths of the largest, counts."""
    largest = np.finfo(np.float16)
    assert math.exp(LARGEST + _MOST_OFF) < largest.max
    assert float(largest.smallest_subnormal) / math.exp(LARGEST + _LEAST_OFF) < 4e-6


@pytest.mark.parametrize("off, good", [
    (0.0, True), (7.8, True), (7.9, False), (8.0, False), (-6.9, True), (-7.0, False), (np.nan, False),
])  # fmt: skip
def test_how_far_above_or_below_its_level_a_largest_score_may_lie(off, good):
    levels, top = jnp.asarray([5.0, 0.0, 1.0]), jnp.asarray([5.0, off, 99.0])
    counted = are_bad(levels, top, jnp.asarray([True, True, False]))  # the third does not count
    assert counted.tolist() == [False, not good, False]
    assert are_bad(levels, top, jnp.ones(3, bool)).tolist() == [False, not good, True]
