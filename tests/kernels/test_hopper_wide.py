"""The pass over outputs of many components on a Hopper GPU, as far as a CPU can tell: its kernel is compiled to the
point where a GPU takes over, and what surrounds it runs with a stand-in that keeps the kernel's contract."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels.hopper import wide, wide_kernel
from loadstone.kernels.hopper.wide_kernel import Weighed
from loadstone.kernels.outputs import SharedOutputs
from tests.kernels.hopper_recall import RecallOfAPass
from tests.kernels.test_gpu_passes import agree, reference, rounded


@pytest.mark.parametrize("rows, m, width, exact", [(256, 256, 64, False), (512, 768, 320, True)])
def test_the_kernel_compiles_up_to_the_gpu(rows, m, width, exact):
    shapes = (rows, width), (m, width), (rows,), (rows,), (), ()
    kinds = jnp.float16, jnp.float16, jnp.int32, jnp.float32, jnp.int32, jnp.float32
    operands = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in zip(shapes, kinds)]
    kernel = jax.jit(wide_kernel.block_weights, static_argnames="exact")
    lowered = kernel.trace(*operands, exact=exact).lower(lowering_platforms=("cuda",))
    assert "mosaic_gpu" in lowered.as_text()


@pytest.mark.parametrize("rows, m, width", [(128, 256, 64), (256, 128, 64), (256, 256, 32)])
def test_the_kernel_refuses_arrays_that_are_not_padded(rows, m, width):
    operands = [jnp.zeros(shape, jnp.float16) for shape in ((rows, width), (m, width))]
    numbers = jnp.zeros(rows, jnp.int32), jnp.zeros(rows), jnp.int32(m), jnp.float32(1)
    with pytest.raises(ValueError, match="but must be those of padded arrays"):
        wide_kernel.block_weights(*operands, *numbers, exact=False)


class StandIn:
    """What the kernel promises. It remembers for how many queries it is called."""

    def __init__(self):
        self.queries = []

    def __call__(self, queries, outputs, targets, shifts, count, unit, exact):
        assert queries.dtype == outputs.dtype == jnp.float16 and queries.shape[1] % wide_kernel.SLICE == 0
        assert queries.shape[0] % wide_kernel.ROWS == outputs.shape[0] % wide_kernel.TILE == 0
        jax.debug.callback(functools.partial(self.queries.append, len(queries)))
        scores = unit * jnp.matmul(*(part.astype(jnp.float32) for part in (queries, outputs.T)), precision="highest")
        scores = jnp.where(jnp.arange(scores.shape[1])[None] < count, scores, -jnp.inf)
        own = jnp.arange(scores.shape[1])[None] == targets[:, None]
        target, rival = (jnp.where(mask, scores, -jnp.inf).max(axis=1) for mask in (own, ~own))
        weights = jnp.exp(scores - shifts[:, None])
        rounded = weights.astype(jnp.float16)
        total = rounded.astype(jnp.float32).sum(axis=1)
        return Weighed(rounded, target, rival, total, weights.sum(axis=1) if exact else total)


@pytest.fixture
def kernel(monkeypatch):
    stand_in = StandIn()
    monkeypatch.setattr(wide_kernel, "block_weights", stand_in)
    return stand_in


def passed(queries, outputs, targets, count=None, block=1):
    """With `block` 1 the queries are cut into blocks of 256."""
    arrays = (jnp.asarray(part) for part in (queries, outputs, targets))
    call = jax.jit(
        lambda queries, *outputs: wide.shared_pass(queries, SharedOutputs(*outputs, block, count), "float16")
    )
    return jax.block_until_ready(call(*arrays))


class TestRecall(RecallOfAPass):
    rows = 256
    passed = staticmethod(passed)

    @pytest.mark.parametrize("n, m, d, count", [(2, 2, 3, None), (300, 400, 70, None), (600, 500, 20, 290)])
    def test_recall_is_that_of_the_definition(self, kernel, n, m, d, count):
        self.check_the_definition(n, m, d, count, 0.5)

    def test_levels_that_are_far_off_are_replaced(self, kernel):
        without = self.check_far_levels(d=8, far=301)
        assert kernel.queries == [256, 256, 256]  # two blocks, and the second once more
        kernel.queries.clear()
        passed(*without)
        assert kernel.queries == [256, 256]


def test_problems_of_a_batch_are_done_one_by_one(kernel):
    random, n, d = np.random.default_rng(3), 40, 10
    queries, outputs = 0.5 * rounded(random, 3, n, d), rounded(random, 3, n, d)
    targets = np.tile(np.arange(n), (3, 1))
    one = jax.jit(
        jax.vmap(lambda queries, *outputs: wide.shared_pass(queries, SharedOutputs(*outputs, 1), "float16")[0])
    )
    found = one(*(jnp.asarray(part) for part in (queries, outputs, targets)))
    for index in range(3):
        outputs_of_each = np.broadcast_to(outputs[index], (n, n, d))
        agree([part[index] for part in found], reference(queries[index], outputs_of_each, np.arange(n)), 5e-4)


@pytest.mark.parametrize(
    "n, width, block, rows", [(17_873, 512, 11_000, 17_920), (66_130, 1024, 3000, 11_264), (5, 64, 1, 256)]
)
def test_blocks_are_equal_and_fit_into_the_cache(n, width, block, rows):
    assert wide.block_rows(n, width, block) == rows


@pytest.mark.parametrize("far, again", [(256, [256]), (257, [4096])])
def test_of_a_large_block_only_the_bad_guesses_are_done_again_if_they_are_few(kernel, far, again):
    """Queries that point at the target of another are far above their guess."""
    random, n, d = np.random.default_rng(far), 4000, 32
    queries, outputs = 0.1 * rounded(random, n, d), rounded(random, 300, d)
    targets = random.integers(0, 299, n)
    chosen = random.permutation(np.setdiff1d(np.arange(n), np.arange(64) * n // 64))[:far]
    queries[chosen] = 16 * outputs[299]
    found, _ = passed(queries, outputs, targets, block=4000)
    assert kernel.queries == [4096, *again]
    agree(found, reference(queries, np.broadcast_to(outputs, (n, 300, d)), targets), 5e-4)
