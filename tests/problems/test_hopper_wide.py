"""The pass over outputs of many components on a Hopper GPU, as far as a CPU can tell: its kernel is compiled to the
point where a GPU takes over, and what surrounds it runs with a stand-in that keeps the kernel's contract."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.problems.passes import shared_hopper_wide, weights_hopper
from tests.problems.test_gpu_passes import agree, reference, rounded


@pytest.mark.parametrize("rows, m, width", [(256, 256, 64), (512, 768, 320)])
def test_the_kernel_compiles_up_to_the_gpu(rows, m, width):
    shapes = (rows, width), (m, width), (rows,), (rows,), ()
    kinds = jnp.float16, jnp.float16, jnp.int32, jnp.float32, jnp.int32
    operands = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in zip(shapes, kinds)]
    lowered = jax.jit(weights_hopper.block_weights).trace(*operands).lower(lowering_platforms=("cuda",))
    assert "mosaic_gpu" in lowered.as_text()


@pytest.mark.parametrize("rows, m, width", [(128, 256, 64), (256, 128, 64), (256, 256, 32)])
def test_the_kernel_refuses_arrays_that_are_not_filled_up(rows, m, width):
    operands = [jnp.zeros(shape, jnp.float16) for shape in ((rows, width), (m, width))]
    numbers = jnp.zeros(rows, jnp.int32), jnp.zeros(rows), jnp.int32(m)
    with pytest.raises(ValueError, match="but must be those of padded arrays"):
        weights_hopper.block_weights(*operands, *numbers)


class StandIn:
    """What the kernel promises. It counts how often it is called for a block of queries."""

    def __init__(self):
        self.calls = 0

    def __call__(self, queries, outputs, targets, shifts, count):
        assert queries.dtype == outputs.dtype == jnp.float16 and queries.shape[1] % weights_hopper.SLICE == 0
        assert queries.shape[0] % weights_hopper.ROWS == outputs.shape[0] % weights_hopper.TILE == 0
        jax.debug.callback(self.count)
        scores = queries.astype(jnp.float32) @ outputs.astype(jnp.float32).T
        scores = jnp.where(jnp.arange(scores.shape[1])[None] < count, scores, -jnp.inf)
        own = jnp.arange(scores.shape[1])[None] == targets[:, None]
        target, rival = (jnp.where(mask, scores, -jnp.inf).max(axis=1) for mask in (own, ~own))
        weights = jnp.exp(scores - shifts[:, None]).astype(jnp.float16)
        return weights, target, rival, weights.astype(jnp.float32).sum(axis=1)

    def count(self):
        self.calls += 1


@pytest.fixture
def kernel(monkeypatch):
    stand_in = StandIn()
    monkeypatch.setattr(weights_hopper, "block_weights", stand_in)
    return stand_in


def passed(queries, outputs, targets, count=None, block=1):
    """With `block` 1 the queries are cut into blocks of 256."""
    arrays = (jnp.asarray(part) for part in (queries, outputs, targets))
    call = jax.jit(lambda *arrays: shared_hopper_wide.shared_pass(*arrays, "float16", block, count))
    return jax.block_until_ready(call(*arrays))


@pytest.mark.parametrize("n, m, d, count", [(2, 2, 3, None), (300, 400, 70, None), (600, 500, 20, 290)])
def test_recall_is_that_of_the_definition(kernel, n, m, d, count):
    random = np.random.default_rng(n)
    queries, outputs = 0.5 * rounded(random, n, d), rounded(random, m, d)
    targets = random.integers(0, count or m, n)
    recall, slope = passed(queries, outputs, targets, None if count is None else jnp.int32(count))
    rows, columns = (n, m) if count is None else (count, count)
    expected = reference(queries[:rows], np.broadcast_to(outputs[:columns], (rows, columns, d)), targets[:rows])
    agree([part[:rows] for part in recall], expected, 5e-4)  # weights of 11 bits
    np.testing.assert_allclose(slope[:rows], expected[3] - outputs[targets[:rows]], atol=3e-3)


def test_levels_that_are_far_off_are_replaced(kernel):
    """Few queries have a rival far above what the others lead one to expect."""
    random, n, d = np.random.default_rng(0), 512, 8
    outputs = rounded(random, 256, d)
    queries = 0.1 * rounded(random, n, d)
    queries[301] = 8 * outputs[7]
    targets = np.zeros(n, int)
    recall, _ = passed(queries, outputs, targets)
    agree(recall, reference(queries, np.broadcast_to(outputs, (n, 256, d)), targets), 5e-4)
    # Two blocks, and the second once more.
    assert kernel.calls == 3
    kernel.calls = 0
    queries[301] = 0.1 * outputs[7]
    passed(queries, outputs, targets)
    assert kernel.calls == 2


def test_scores_of_any_size_are_served(kernel):
    """Rivals of a hundred standard deviations, in both directions: no weight overflows, none is lost."""
    random, n, d = np.random.default_rng(2), 256, 16
    outputs = rounded(random, 256, d)
    for scale in (1e-3, 30.0):
        queries = rounded(random, n, d) * np.float32(scale)
        queries = queries.astype(np.float16).astype(np.float32)
        recall, _ = passed(queries, outputs, np.arange(n))
        agree(recall, reference(queries, np.broadcast_to(outputs, (n, 256, d)), np.arange(n)), 1e-3)


def test_a_perfect_memory_has_slopes_of_exactly_zero(kernel):
    outputs = 16 * np.eye(256, 300, dtype=np.float32)
    _, slope = passed(16 * outputs, outputs, np.arange(256))
    assert (np.asarray(slope) == 0).all()


def test_problems_of_a_batch_are_done_one_by_one(kernel):
    random, n, d = np.random.default_rng(3), 40, 10
    queries, outputs = 0.5 * rounded(random, 3, n, d), rounded(random, 3, n, d)
    targets = np.tile(np.arange(n), (3, 1))
    one = jax.jit(jax.vmap(lambda *arrays: shared_hopper_wide.shared_pass(*arrays, "float16", 1)[0]))
    found = one(*(jnp.asarray(part) for part in (queries, outputs, targets)))
    for index in range(3):
        outputs_of_each = np.broadcast_to(outputs[index], (n, n, d))
        agree([part[index] for part in found], reference(queries[index], outputs_of_each, np.arange(n)), 5e-4)


def test_without_a_rival_the_target_alone_counts(kernel):
    queries, outputs = np.ones((3, 5), np.float32), np.ones((1, 5), np.float32)
    recall, slope = passed(queries, outputs, np.zeros(3, int))
    np.testing.assert_allclose(recall.logsumexp, 5, rtol=1e-3)
    assert (recall.target == 5).all() and (recall.rival == -np.inf).all() and (slope == 0).all()


@pytest.mark.parametrize(
    "n, width, block, rows", [(17_873, 512, 11_000, 17_920), (66_130, 1024, 3000, 11_264), (5, 64, 1, 256)]
)
def test_blocks_are_equal_and_fit_into_the_cache(n, width, block, rows):
    assert shared_hopper_wide._block_rows(n, width, block) == rows
    assert rows * width * 2 <= shared_hopper_wide._CACHED_BYTES
