"""The pass over 257 to 512 components on a Hopper GPU, as far as a CPU can tell: its kernel is compiled to the point
where a GPU takes over, and what surrounds it runs with a stand-in that keeps the kernel's contract."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import devices
from loadstone.kernels.hopper import to_512, to_512_kernel
from loadstone.kernels.hopper import workers as sharing_workers
from loadstone.kernels.outputs import SharedOutputs
from loadstone.memories.families import initial_memory
from loadstone.problems.original import original
from loadstone.solvers.gradient import Paper
from loadstone.solvers.loop import advance_batch, advance_one, begun, joined
from loadstone.solvers.search import Program
from loadstone.streams.stream import Stream
from tests.kernels.hopper_recall import RecallOfAPass
from tests.kernels.test_gpu_passes import agree, reference, rounded


def shaped(batch, n, m, width):
    shapes = (batch, 2), (batch, n, width), (batch, m, width), (batch, n), (batch, n)
    return zip(shapes, (jnp.int32, jnp.float16, jnp.float16, jnp.int32, jnp.float32))


@pytest.mark.parametrize("batch, n, m, width", [(1, 256, 384, 512), (2, 128, 256, 320)])
def test_the_kernel_compiles_up_to_the_gpu(batch, n, m, width):
    operands = [jax.ShapeDtypeStruct(*one) for one in shaped(batch, n, m, width)]
    lowered = jax.jit(to_512_kernel.batch_weighed).trace(*operands).lower(lowering_platforms=("cuda",))
    assert "mosaic_gpu" in lowered.as_text()


@pytest.mark.parametrize("count", [1, 2])
def test_searches_compile_up_to_the_gpu_alone_and_side_by_side(count, monkeypatch):
    monkeypatch.setattr(devices, "has_hopper_kernel", lambda: True)
    program = Program(Paper(steps=8, warmup=2), "none", "float16", 9, True)
    one = original(Stream(0, 260), 256), begun(initial_memory(260), program)
    problem, state = one if count == 1 else (joined([part] * count) for part in one)
    advance = advance_one if count == 1 else advance_batch
    lowered = advance.trace(problem, state, jnp.int32(9), program).lower(lowering_platforms=("cuda",))
    assert "mosaic_gpu" in lowered.as_text()


@pytest.mark.parametrize("n, m, width", [(64, 128, 64), (128, 64, 64), (128, 128, 32)])
def test_the_kernel_refuses_arrays_that_are_not_padded(n, m, width):
    with pytest.raises(ValueError, match="but must be those of padded arrays"):
        to_512_kernel.batch_weighed(*(jnp.zeros(*one) for one in shaped(1, n, m, width)))


def weighed(queries, outputs, targets, shifts, first=0):
    """What one warpgroup finds in its tiles, in float64; `first` is the number of the first output."""
    scores = queries @ outputs.T
    own = first + np.arange(len(outputs))[None] == targets[:, None]
    target, rival = (np.where(mask, scores, -np.inf).max(axis=1, initial=-np.inf) for mask in (own, ~own))
    weights = np.exp(scores - shifts[:, None])
    return target, rival, weights.sum(axis=1), weights @ outputs


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "asked, count, workers, most",
    [(448, 448, 3, 2), (400, 449, 2, 1), (500, 1000, 4, 1), (64, 70, 3, 1), (500, 1000, 5, 2), (890, 1200, 12, 3)],
)
def test_blocks_that_workers_share_are_put_together(asked, count, workers, most, whole):
    """The kernel by hand: every worker goes through its share step by step, and what nobody writes is NaN."""
    n, d, size, random = 1024, 6, 128, np.random.default_rng(asked)
    queries, outputs = random.standard_normal((n, d)), random.standard_normal((count, d))
    targets, shifts = random.integers(0, count, n), random.standard_normal(n)
    numbers, pull = np.full((2, 3, 1, n), np.nan), np.full((1, n, d), np.nan)
    part_numbers, part_pull = np.full((2, 3, workers, size), np.nan), np.full((workers, size, d), np.nan)
    counts = jnp.asarray([asked, count], jnp.int32)
    passed = np.zeros((-(-asked // size), -(-count // size)), int)
    sharing = np.zeros(len(passed), int)
    for worker in range(workers):
        begin, end, steps, busy = map(int, sharing_workers.share(worker, *counts, workers, whole))
        for block in range(begin // steps, -(-end // steps)) if worker < busy else ():
            low, high = max(begin - block * steps, 0), min(end - block * steps, steps)
            passed[block, low:high] += 1
            sharing[block] += 1
            rows, half = slice(block * size, (block + 1) * size), (high - low) * size // 2
            first = low * size
            found = [
                weighed(queries[rows], outputs[begun : begun + half], targets[rows], shifts[rows], begun)
                for begun in (first, first + half)
            ]
            assert high - low == steps or not whole
            at = (slice(None), worker) if low else (slice(None), 0, rows)
            for me in range(2):
                (part_numbers if low else numbers)[me][at] = np.array(found[me][:3])
            summed = found[0][3] + found[1][3]
            if low:
                part_pull[worker] = summed
            else:
                pull[0, rows] = summed
    assert (passed == 1).all() and sharing.max() == (1 if whole else most)
    expected = weighed(queries, outputs, targets, shifts)
    if whole:
        found = numbers[:, 0, 0].max(axis=0), numbers[:, 1, 0].max(axis=0), numbers[:, 2, 0].sum(axis=0), pull[0]
    else:
        operands = (jnp.asarray(part, jnp.float32) for part in (numbers, pull, part_numbers, part_pull))
        *numbers, rows, parts, first, shared = (part[0] for part in jax.jit(sharing_workers.divided)(counts, *operands))
        complete = jnp.arange(n) % 5 == 0
        done = jnp.where(complete[:, None], jnp.asarray(expected[3], jnp.float32), rows)
        found = *numbers, jax.jit(sharing_workers.summed)(done, parts, first, shared, complete)
        assert (np.asarray(shared)[: len(sharing)] == sharing).all() and (np.asarray(shared)[len(sharing) :] == 1).all()
    agree([part[:asked] for part in found], [part[:asked] for part in expected], 1e-5)


def shared_out(counts, target, rival, total, pull):
    """The same of one problem, with sums that the workers of a block have equal parts of; all other parts are NaN."""
    workers, (_, n, width) = to_512_kernel._workers(), pull.shape
    first, sharing = sharing_workers.sharers(counts[0], n // 128, workers)
    each = (pull[0] / jnp.repeat(sharing, 128)[:, None]).reshape(-1, 128, width)
    parts = jnp.full((workers + 1, 128, width), jnp.nan)  # with room for what nobody has
    for later in (1, 2):
        parts = parts.at[jnp.where(sharing > later, first + later, workers)].set(each)
    rows = each.reshape(1, n, width)
    return sharing_workers.Weighed(target, rival, total, rows, parts[None, :-1], first[None], sharing[None])


class StandIn:
    """What the kernel promises. Rows that it is not asked for come out as anything."""

    def __init__(self):
        self.asked = []

    def __call__(self, counts, queries, outputs, targets, shifts):
        assert queries.dtype == outputs.dtype == jnp.float16 and queries.shape[2] % 64 == 0
        assert queries.shape[1] % 128 == outputs.shape[1] % 128 == 0 and (counts.shape[1], shifts.ndim) == (2, 2)
        jax.debug.callback(lambda asked: self.asked.append(asked.tolist()), counts[:, 0])
        scores = jnp.einsum("bnd,bmd->bnm", queries.astype(jnp.float32), outputs.astype(jnp.float32))
        column = jnp.arange(scores.shape[2])[None, None]
        scores = jnp.where(column < counts[:, 1, None, None], scores, -jnp.inf)
        own = column == targets[..., None]
        target, rival = (jnp.where(mask, scores, -jnp.inf).max(axis=2) for mask in (own, ~own))
        weights = jax.lax.reduce_precision(jnp.exp(scores - shifts[..., None]), exponent_bits=5, mantissa_bits=10)
        pull = jnp.einsum("bnm,bmd->bnd", weights, outputs.astype(jnp.float32))
        inside = jnp.arange(queries.shape[1])[None] < counts[:, :1]
        numbers = (jnp.where(inside, part, jnp.nan) for part in (target, rival, weights.sum(axis=2)))
        rows = jnp.where(inside[..., None], pull, jnp.nan)
        if len(counts) == 1:
            return shared_out(counts, *numbers, rows)
        return sharing_workers.undivided(*numbers, rows, to_512_kernel._workers())


@pytest.fixture
def kernel(monkeypatch):
    jax.clear_caches()  # JAX 0.11 would use a program again that asks the stand-in of an earlier test
    stand_in = StandIn()
    monkeypatch.setattr(to_512_kernel, "batch_weighed", stand_in)
    return stand_in


def passed(queries, outputs, targets, count=None):
    arrays = (jnp.asarray(part) for part in (queries, outputs, targets))
    call = jax.jit(lambda *arrays: to_512.shared_pass(arrays[0], SharedOutputs(*arrays[1:], 1, count), "float16"))
    found = jax.block_until_ready(call(*arrays))
    jax.effects_barrier()  # until the stand-in has noted what it was asked
    return found


class TestRecall(RecallOfAPass):
    rows = 128
    passed = staticmethod(passed)

    @pytest.mark.parametrize("n, m, d, count", [(2, 2, 3, None), (130, 200, 70, None), (300, 250, 20, 190)])
    def test_recall_is_that_of_the_definition(self, kernel, n, m, d, count):
        self.check_the_definition(n, m, d, count, 0.25)
        assert kernel.asked == [[count or n]]  # nothing is done again

    def test_levels_that_are_far_off_are_replaced(self, kernel):
        self.check_far_levels(d=32, far=201)
        assert kernel.asked == [[256], [1] + [0] * 7]  # all outputs are in the first slice


@pytest.mark.parametrize(
    "far, again", [(1, [1]), pytest.param(300, [300], marks=pytest.mark.soak), (1800, [1024, 776])]
)
def test_bad_guesses_are_done_again_alone(kernel, far, again):
    """Queries that point at the target of another are far above their guess. Outputs come in slices of 128 here, and
    the last four have none."""
    random, n, d = np.random.default_rng(far), 1900, 32
    queries, outputs = 0.1 * rounded(random, n, d), rounded(random, 400, d)
    targets = random.integers(0, 399, n)
    chosen = random.permutation(np.setdiff1d(np.arange(n), np.arange(64) * n // 64))[:far]
    queries[chosen] = 16 * outputs[399]
    found, _ = passed(queries, outputs, targets)
    assert kernel.asked == [[n], *([number] * 4 + [0] * 4 for number in again)]
    agree(found, reference(queries, np.broadcast_to(outputs, (n, 400, d)), targets), 5e-4)


def test_a_batch_is_one_launch_and_a_bad_guess_in_one_problem_leaves_the_others(kernel):
    random, n, d = np.random.default_rng(3), 80, 10
    queries, outputs = 0.1 * rounded(random, 3, n, d), rounded(random, 3, n, d)
    targets = np.tile(np.zeros(n, int), (3, 1))
    queries[1, 79] = 16 * outputs[1, 7]
    one = jax.jit(
        jax.vmap(lambda queries, *outputs: to_512.shared_pass(queries, SharedOutputs(*outputs, 1), "float16")[0])
    )
    found = jax.block_until_ready(one(*(jnp.asarray(part) for part in (queries, outputs, targets))))
    jax.effects_barrier()
    assert kernel.asked == [[n, n, n], [0] * 8 + [1] + [0] * 15]
    for index in range(3):
        outputs_of_each = np.broadcast_to(outputs[index], (n, n, d))
        agree([part[index] for part in found], reference(queries[index], outputs_of_each, targets[index]), 5e-4)


def test_more_scores_than_can_be_numbered_are_refused():
    given = (jax.ShapeDtypeStruct((count, 4), jnp.float32) for count in (2**21, 2**22))
    with pytest.raises(ValueError, match="and at most 4398046511104 scores in all"):
        jax.eval_shape(lambda queries, array: passed(queries, array, jnp.zeros(len(queries), int)), *given)


def test_more_components_than_two_warpgroups_hold_are_refused():
    with pytest.raises(ValueError, match=r"queries.shape is \(2, 513\), but must be at most 512 components"):
        passed(np.ones((2, 513), np.float32), np.ones((2, 513), np.float32), np.zeros(2, int))
