"""The pass over split numbers on a Hopper GPU, as far as a CPU can tell: with a stand-in that keeps the contract of its
kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels.hopper import wide
from loadstone.kernels.outputs import SharedOutputs
from tests.kernels.hopper_recall import RecallOfAPass
from tests.kernels.test_gpu_passes import reference
from tests.kernels.test_hopper_wide import kernel

__all__ = ["kernel"]


def passed(queries, outputs, targets, count=None, block=1):
    """With `block` 1 the queries are cut into blocks of 256."""
    arrays = (jnp.asarray(part) for part in (queries, outputs, targets))
    call = jax.jit(lambda queries, *outputs: wide.shared_pass(queries, SharedOutputs(*outputs, block, count), "split"))
    return jax.block_until_ready(call(*arrays))


class TestRecall(RecallOfAPass):
    rows = 256
    passed = staticmethod(passed)

    @pytest.mark.parametrize("n, m, d, count", [(2, 2, 3, None), (300, 400, 70, None), (600, 500, 20, 290)])
    def test_recall_is_that_of_the_definition(self, kernel, n, m, d, count):
        self.check_the_definition(n, m, d, count, 0.5)

    def test_levels_that_are_far_off_are_replaced(self, kernel):
        self.check_far_levels(d=8, far=301)
        assert kernel.queries == [256, 256, 256]  # two blocks, and the second once more


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 3e5])
def test_scores_have_22_bits_and_weights_11(kernel, unit):
    """Outputs may have any unit; queries are such that scores are in the hundreds, as late in a search."""
    random, n, d = np.random.default_rng(1), 500, 33
    outputs = (unit * random.standard_normal((n, d))).astype(np.float32)
    queries = (outputs / unit**2 * 15 + random.standard_normal((n, d)) / unit).astype(np.float32)
    recall, slope = passed(queries, outputs, np.arange(n))
    target, rival, logsumexp, pull = reference(queries, np.broadcast_to(outputs, (n, n, d)), np.arange(n))
    largest = np.abs(target).max()
    assert largest > 500
    for found, exact in ((recall.target, target), (recall.rival, rival), (recall.logsumexp, logsumexp)):
        assert 0 < np.abs(found - exact).max() < 2.0**-20 * largest
    assert 1e-5 < np.abs(recall.pull - pull).max() / np.abs(outputs).max() < 2.0**-11
    # Weights and outputs are rounded, and the derivative of a fact, small as it is, is right to a part in a thousand.
    exact_slope = pull - outputs
    lengths = np.linalg.norm(exact_slope, axis=1)
    off = np.linalg.norm(slope - exact_slope, axis=1)
    assert (off <= 1e-3 * lengths + 1e-6 * np.abs(outputs).max()).all()
