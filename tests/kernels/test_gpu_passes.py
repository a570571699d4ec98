"""The GPU kernels, as far as a CPU can tell: those in Triton run in its interpreter, that for Hopper is compiled to the
point where a GPU takes over, and what surrounds it runs with a stand-in that keeps its contract."""

import re
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import decoupled_triton
from loadstone.kernels.hopper import to_256
from loadstone.kernels.outputs import SharedOutputs, StoredOutputs
from loadstone.kernels.recall import Recall

NAMES = ("target", "rival", "logsumexp", "pull")


def reference(queries, outputs, targets):
    """In float64; outputs of shape (n, m, d)."""
    scores = np.einsum("nd,nmd->nm", np.float64(queries), np.float64(outputs))
    rows = np.arange(len(queries))
    target, rivals = scores[rows, targets], scores.copy()
    rivals[rows, targets] = -np.inf
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    pull = np.einsum("nm,nmd->nd", weights / total, np.float64(outputs))
    return target, rivals.max(axis=1), (top + np.log(total))[:, 0], pull


def text_for_a_gpu(function, *shapes):
    """A program for a GPU as it goes to the compiler. From JAX 0.11 on, where there is none, one has to be named."""
    device = getattr(jax.sharding, "AbstractDevice", lambda *about: None)("NVIDIA H200", 132, "gpu")
    mesh = jax.sharding.AbstractMesh((), (), abstract_device=device) if device else None
    with jax.sharding.use_abstract_mesh(mesh) if mesh else nullcontext():
        traced = jax.jit(function).trace(*(jax.ShapeDtypeStruct(*one) for one in shapes))
        return traced.lower(lowering_platforms=("cuda",)).as_text()


def launch(text):
    """How the one kernel in a program for a GPU is launched."""
    (call,) = re.findall(r"@__gpu\$xla\.gpu\.triton.*", text)
    return {name: int(number) for name, number in re.findall(r"(grid_[xy]|num_stages|num_warps) = (\d+)", call)}


def agree(found, expected, tolerance):
    for name, one, other in zip(NAMES, found, expected):
        error = np.linalg.norm(np.float64(one) - other) / np.linalg.norm(other)
        assert error < tolerance, name


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "p, d, more",
    [(5, 3, 9), (40, 50, 9), (300, 5, 9), (130, 13, 62)],
    ids=["one tile", "wide", "long tiles", "short tiles"],
)
def test_stored_outputs(p, d, more, dtype):
    random, first = np.random.default_rng(p), 2
    queries = (0.3 * random.standard_normal((p - first, d))).astype(np.float32)
    outputs = random.standard_normal((p - first, d, p)).astype(dtype)
    # What lies beyond must not count, however high it scores.
    padded = np.pad(outputs, ((0, 2), (0, 0), (0, more)), constant_values=1e4)
    asked = np.pad(queries, ((0, 2), (0, 0)))
    operands = jnp.int32(p), jnp.int32(first), jnp.asarray(asked), jnp.asarray(padded)
    found = decoupled_triton.stored_recall(*operands, True)
    expected = reference(queries, outputs.transpose(0, 2, 1), first + np.arange(p - first))
    agree([part[:-2] for part in found], expected, 1e-6)


@pytest.mark.parametrize("components, widths", [
    (1, (1,)), (3, (4,)), (16, (16,)), (17, (32,)), (33, (32, 16)), (48, (32, 16)), (49, (64,)), (150, (128, 32)),
    (160, (128, 32)), (161, (128, 64)), (192, (128, 64)), (193, (256,)), (500, (512,)), (520, (512, 16)),
])  # fmt: skip
def test_parts_waste_little(components, widths):
    """One power of two, or two of them if they hold the components with less to spare."""
    assert decoupled_triton.widths_of(components) == widths


def test_stored_outputs_are_read_as_it_was_measured_to_be_fastest():
    shapes = ((), jnp.int32), ((), jnp.int32), ((8, 50), jnp.float32), ((8, 50, 40), jnp.float32)
    text = text_for_a_gpu(decoupled_triton.stored_recall, *shapes)
    assert launch(text) == {"grid_x": 8, "grid_y": 1, "num_stages": 3, "num_warps": 4}


def test_large_scores_do_not_overflow():
    queries, outputs = jnp.full((1, 4), 30.0), jnp.asarray(np.random.default_rng(0).standard_normal((1, 4, 40)) * 10)
    found = decoupled_triton.stored_recall(jnp.int32(40), jnp.int32(3), queries, outputs.astype(jnp.float32), True)
    agree(found, reference(queries, np.asarray(outputs).transpose(0, 2, 1), np.array([3])), 1e-6)


SMALL, SHARED = 1, 128  # few blocks of queries, and so many that workers share them


@pytest.mark.parametrize(
    "width, batch, n, times",
    [(256, 1, 256, SHARED), (192, 5, 256, SMALL)]
    + [pytest.param(*case, marks=pytest.mark.soak) for case in ((64, 1, 256, SMALL), (192, 5, 256, SHARED))],
)  # fmt: skip
def test_the_hopper_kernel_compiles_up_to_the_gpu(width, batch, n, times):
    shapes = (batch, 2), (batch, times * n, width), (batch, 384, width), (batch, times * n)
    kinds = jnp.int32, jnp.float16, jnp.float16, jnp.int32
    operands = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in zip(shapes, kinds)]
    lowered = jax.jit(to_256.batch_recall).trace(*operands).lower(lowering_platforms=("cuda",))
    assert "mosaic_gpu" in lowered.as_text()


@pytest.mark.parametrize(
    "asked, count, workers", [(448, 448, 5), (400, 449, 5), (390, 1000, 4), (64, 70, 3), (320, 320, 5)]
)
@pytest.mark.parametrize("size", [64, 128])
def test_blocks_that_two_workers_share_are_put_together(asked, count, workers, size):
    """The kernel by hand: every worker goes through its share tile by tile, and what nobody writes is NaN."""
    d, random = 6, np.random.default_rng(asked)
    n = 512
    queries, outputs = random.standard_normal((n, d)), random.standard_normal((count, d))
    targets = random.integers(0, count, n)
    shape = (n,), (workers, 2, size)
    whole, parts = ([np.full(one, np.nan)] * 3 + [np.full((*one, d), np.nan)] for one in shape)
    whole, parts = ([part.copy() for part in one] for one in (whole, parts))
    passed = np.zeros((-(-asked // size), -(-count // 64)), int)
    for worker in range(workers):
        begin, end, tiles, busy = map(int, to_256.share(worker, asked, count, size, workers))
        for block in range(begin // tiles, -(-end // tiles)) if worker < busy else ():
            low, high = max(begin - block * tiles, 0), min(end - block * tiles, tiles)
            passed[block, low:high] += 1
            rows, columns = slice(block * size, (block + 1) * size), slice(64 * low, 64 * high)
            found = of_columns(queries[rows], outputs[columns], targets[rows] - 64 * low)
            for name in range(4):
                if high - low == tiles:
                    whole[name][rows] = found[name]
                else:
                    assert np.isnan(parts[name][worker, 0 if low else 1]).all()
                    parts[name][worker, 0 if low else 1] = found[name]
    assert (passed == 1).all()
    as_recall = [Recall(*(jnp.asarray(part, jnp.float32) for part in one)) for one in (whole, parts)]
    whole = Recall(*(part[None] for part in as_recall[0]))
    found = jax.jit(to_256.joined)(jnp.asarray([asked, count], jnp.int32), whole, as_recall[1])
    expected = reference(queries[:asked], np.broadcast_to(outputs, (asked, count, d)), targets[:asked])
    agree([part[0, :asked] for part in found], expected, 1e-5)


def of_columns(queries, outputs, targets):
    """Recall against some of the outputs: the target may not be among them."""
    scores = queries @ outputs.T
    own = np.arange(len(outputs))[None] == targets[:, None]
    target, rival = (np.where(mask, scores, -np.inf).max(axis=1) for mask in (own, ~own))
    total = np.exp(scores).sum(axis=1)
    return target, rival, np.log(total), np.exp(scores) @ outputs / total[:, None]


def stand_in(counts, queries, outputs, targets):
    """What the kernel promises: n and m multiples of 128, width of 64, rows from `counts` on come out as anything."""
    assert queries.dtype == outputs.dtype == jnp.float16 and queries.shape[2] % 64 == 0
    assert queries.shape[1] % 128 == 0 and outputs.shape[1] % 128 == 0
    scores = jnp.einsum("bnd,bmd->bnm", queries.astype(jnp.float32), outputs.astype(jnp.float32))
    scores = jnp.where(jnp.arange(scores.shape[2])[None, None] < counts[:, 1, None, None], scores, -jnp.inf)
    own = jnp.arange(scores.shape[2])[None, None] == targets[:, :, None]
    target, rival = (jnp.where(mask, scores, -jnp.inf).max(axis=2) for mask in (own, ~own))
    weights = jax.nn.softmax(scores, axis=2)
    pull = jnp.einsum("bnm,bmd->bnd", weights, outputs.astype(jnp.float32))
    inside = jnp.arange(queries.shape[1])[None] < counts[:, :1]
    numbers = (jnp.where(inside, part, jnp.nan) for part in (target, rival, jax.nn.logsumexp(scores, axis=2)))
    return *numbers, jnp.where(inside[..., None], pull, jnp.nan)


def rounded(random, *shape):
    return random.standard_normal(shape).astype(np.float16).astype(np.float32)


def test_a_batch_is_one_launch_of_the_hopper_kernel(monkeypatch):
    sizes = []
    monkeypatch.setattr(to_256, "batch_recall", lambda *a: sizes.append(a[1].shape) or stand_in(*a))
    random = np.random.default_rng(0)
    queries, outputs = 0.25 * rounded(random, 3, 40, 20), rounded(random, 40, 20)
    counts, targets = jnp.asarray([40, 30, 20]), jnp.arange(40)
    call = jax.vmap(
        lambda q, c: to_256.shared_pass(q, SharedOutputs(jnp.asarray(outputs), targets, 1, c), "float16")[0]
    )
    found = call(jnp.asarray(queries), counts)
    assert sizes[-1] == (3, 128, 64)
    for place, count in enumerate((40, 30, 20)):
        expected = reference(
            queries[place, :count], np.broadcast_to(outputs[:count], (count, count, 20)), np.arange(count)
        )
        agree([part[place, :count] for part in found], expected, 1e-5)


def test_stored_outputs_of_several_problems_are_one_launch():
    random, d, p = np.random.default_rng(5), 6, 30
    queries = (0.3 * random.standard_normal((3, p, d))).astype(np.float32)
    outputs = random.standard_normal((3, p, d, p)).astype(np.float32)
    counts = (30, 20, 25)

    def call(count, queries, outputs):
        return decoupled_triton.stored_recall(count, jnp.int32(0), queries, outputs, True)

    operands = jnp.asarray(counts, jnp.int32), jnp.asarray(queries), jnp.asarray(outputs)
    assert str(jax.make_jaxpr(jax.vmap(call))(*operands)).count("pallas_call[") == 1
    found = jax.vmap(call)(*operands)
    for place, count in enumerate(counts):
        own = outputs[place, :count, :, :count].transpose(0, 2, 1)
        expected = reference(queries[place, :count], own, np.arange(count))
        agree([part[place, :count] for part in found], expected, 1e-6)


@pytest.mark.parametrize("n, m, d, count", [(30, 50, 20, None), (30, 50, 20, 20), (130, 129, 70, None)])
def test_the_hopper_pass_pads_its_operands_and_sees_as_many_outputs_as_count(n, m, d, count, monkeypatch):
    monkeypatch.setattr(to_256, "batch_recall", stand_in)
    random = np.random.default_rng(n)
    queries, outputs, targets = 0.25 * rounded(random, n, d), rounded(random, m, d), random.integers(0, count or m, n)
    shared = SharedOutputs(jnp.asarray(outputs), jnp.asarray(targets), 128, None if count is None else jnp.int32(count))
    recall, slope = jax.jit(lambda *operands: to_256.shared_pass(*operands, "float16"))(jnp.asarray(queries), shared)
    n, m = (n, m) if count is None else (count, count)
    expected = reference(queries[:n], np.broadcast_to(outputs[:m], (n, m, d)), targets[:n])
    agree([part[:n] for part in recall], expected, 1e-5)
    np.testing.assert_allclose(slope[:n], expected[3] - outputs[targets[:n]], atol=1e-4)


def test_a_stored_pass_sees_all_outputs_or_as_many_as_count(monkeypatch):
    in_interpreter = decoupled_triton.stored_recall
    monkeypatch.setattr(decoupled_triton, "stored_recall", lambda *operands: in_interpreter(*operands, True))
    random = np.random.default_rng(4)
    queries, outputs = (jnp.asarray(random.standard_normal(shape), jnp.float32) for shape in ((5, 4), (5, 4, 7)))
    targets = jnp.stack([outputs[row, :, row] for row in range(5)])
    for count, seen in ((None, 7), (jnp.int32(6), 6)):
        recall, slope = decoupled_triton.stored_pass(queries, StoredOutputs(outputs, 0, targets, count), "float32")
        scores = np.einsum("nd,ndm->nm", queries, outputs)[:, :seen]
        np.testing.assert_allclose(recall.logsumexp, np.log(np.exp(scores).sum(axis=1)), rtol=1e-5)
        np.testing.assert_array_equal(slope, recall.pull - targets)
