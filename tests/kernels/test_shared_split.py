"""The pass whose numbers are sums of two float16 numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import shared_split, shared_xla
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.products import halves, split


def test_a_number_is_its_two_parts():
    """Eleven bits each: together they miss a number by half a unit of its 22nd bit at most, large or small."""
    numbers = np.random.default_rng(0).standard_normal(1000).astype(np.float32) * 10.0 ** np.arange(-3, 7).repeat(100)
    high, low, unit = split(jnp.asarray(numbers, jnp.float32))
    assert high.dtype == low.dtype == jnp.float16 and np.log2(unit) % 1 == 0
    both = (np.asarray(high, np.float64) + np.asarray(low, np.float64)) * float(unit)
    # Beside numbers of 10^6 those of 10^-3 are below the smallest number of float16.
    np.testing.assert_allclose(both, numbers.astype(np.float32), rtol=2.0**-22, atol=2.0**-25 * float(unit))
    assert (np.asarray(low) != 0).mean() > 0.9


def test_the_compiler_is_not_asked_for_a_conversion_and_back():
    """A compiler for GPUs takes that for nothing, and the low parts would be zero there."""
    traced = str(jax.make_jaxpr(halves)(jnp.ones(3)))
    assert "reduce_precision[exponent_bits=5 mantissa_bits=10]" in traced


@pytest.mark.parametrize("n, m, d, count", [
    (2, 2, 1, None), (63, 64, 9, None), (65, 65, 257, None), (300, 128, 17, None), (200, 200, 40, 130),
    (129, 129, 8, 2),
])  # fmt: skip
@pytest.mark.parametrize("size", [0.01, 1.0, 20.0])
def test_against_float64(n, m, d, count, size):
    random = np.random.default_rng(n + d)
    queries, outputs = size * random.standard_normal((n, d)) / d**0.5, random.standard_normal((m, d))
    targets = jnp.asarray(random.integers(0, count or m, n), jnp.int32)
    limit = None if count is None else jnp.int32(count)
    singles = [jnp.asarray(part, jnp.float32) for part in (queries, outputs)]
    recall, slope = shared_split.shared_pass(singles[0], SharedOutputs(singles[1], targets, 48, limit), "split")
    with jax.enable_x64(True):
        doubles = [jnp.asarray(np.asarray(part), jnp.float64) for part in singles]
        exact, exact_slope = shared_xla.shared_pass(
            doubles[0], SharedOutputs(doubles[1], targets, 48, limit), "float64"
        )
    rows = count or n
    # Every score is off by a few units of its 22nd bit, and a weight by as much as its score.
    unit = 2.0**-21 * max(1.0, size) * 4
    for ours, theirs in zip((*recall, slope), (*exact, exact_slope)):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours[:rows], theirs[:rows], atol=unit * max(1.0, float(np.abs(theirs[:rows]).max())))


def test_a_target_that_has_all_the_weight_has_no_slope():
    outputs = jnp.asarray(np.random.default_rng(0).standard_normal((40, 40)), jnp.float32)
    _, slope = shared_split.shared_pass(1000 * outputs, SharedOutputs(outputs, jnp.arange(40), 16), "split")
    assert not np.asarray(slope).any()


@pytest.mark.parametrize("m, d", [(128, 8), (129, 9), (5, 3)])
def test_operands_are_padded_to_what_tensor_cores_take(m, d):
    outputs = jnp.asarray(np.random.default_rng(0).standard_normal((m, d)), jnp.float16)
    for_scores, for_pull = shared_split._laid_out(outputs, 2 * outputs)
    rows = -(-m // 128) * 128
    assert for_scores.shape == (rows, -(-3 * d // 8) * 8) and for_pull.shape == (-(-(2 * d + 1) // 8) * 8, rows)
    assert not for_scores[m:].any() and not for_pull[2 * d + 1 :].any()
