"""The slope from weighed sums: a mean less the target, and exactly zero where nothing else has any weight."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels.recall import weighed_slope

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
