"""The kernel for outputs stored in float16, as far as a CPU can tell: it runs in the interpreter, and is compiled to
the point where a GPU takes over."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import decoupled_float16_triton as kernel
from loadstone.kernels import table
from loadstone.kernels.outputs import StoredOutputs
from loadstone.problems.decoupled import decoupled
from loadstone.streams.stream import Stream
from tests.kernels.test_gpu_passes import agree, launch, reference, text_for_a_gpu


# Operands have errors of at most 2^-23, and the interpreter sums in float32: the tolerance is that of float32 outputs.
@pytest.mark.parametrize("p, d, more", [(5, 3, 9), (40, 150, 8), (300, 5, 9)], ids=["one tile", "wide", "long"])
def test_errors_are_those_of_float32(p, d, more):
    random, first = np.random.default_rng(p), 2
    queries = (0.3 * random.standard_normal((p - first, d))).astype(np.float32)
    outputs = random.standard_normal((p - first, d, p)).astype(np.float16)
    # What lies beyond must not count, however high it scores.
    padded = np.pad(outputs, ((0, 2), (0, 0), (0, more)), constant_values=1e4)
    asked = np.pad(queries, ((0, 2), (0, 0)))
    recall = kernel.stored_recall(jnp.int32(p), jnp.int32(first), jnp.asarray(asked), jnp.asarray(padded), True)
    expected = reference(queries, outputs.transpose(0, 2, 1), first + np.arange(p - first))
    agree([part[:-2] for part in recall], expected, 1e-6)


def test_large_scores_do_not_overflow():
    outputs = np.float16(np.random.default_rng(0).standard_normal((1, 4, 200)) * 1e3)
    queries = jnp.asarray([[3e4, -20.0, 1e-3, 5e3]])
    found = kernel.stored_recall(jnp.int32(200), jnp.int32(3), queries, jnp.asarray(outputs), True)
    agree(found, reference(queries, outputs.transpose(0, 2, 1), np.array([3])), 1e-6)


@pytest.mark.parametrize("size", [1e-25, 1.0, 3e4, 1e30])
def test_a_query_is_the_sum_of_three_float16_numbers(size):
    random = np.random.default_rng(1)
    queries = (size * random.standard_normal((50, 40)) * 10.0 ** random.uniform(-12, 0, (50, 40))).astype(np.float32)
    scale, rows = (np.asarray(part, np.float64) for part in kernel.in_float16(jnp.asarray(queries)))
    assert (np.frexp(scale)[0] == 0.5).all() and not rows[:, 3:].any()
    largest = np.abs(queries).max(axis=1, keepdims=True)
    units = (largest[:, 0] / scale)[largest[:, 0] >= 2.0**-90]
    assert ((units >= 2**14) & (units < 2**15)).all() and (scale >= 2.0**-104).all()
    error = np.abs(scale[:, None] * rows.sum(axis=1) - queries)
    assert (error <= 2.0**-28 * largest).all()
    # Down to 2^-4 of the largest, all 24 bits are there.
    assert (error == 0)[np.abs(queries) > 2.0**-4 * largest].all()


def test_nothing_is_asked_for():
    scale, rows = kernel.in_float16(jnp.zeros((2, 3)))
    assert not rows.any() and (scale > 0).all()


def test_a_weight_is_the_sum_of_two_float16_numbers():
    weights = np.float32(10.0 ** np.random.default_rng(2).uniform(-14, 0, 10_000))
    rows = np.asarray(kernel._weight_rows(jnp.asarray(weights)), np.float64)
    error = np.abs(rows.sum(axis=0) / 2**12 - weights)
    assert (error <= np.maximum(2.0**-23 * weights, 2.0**-37)).all() and not rows[2:].any()


def test_several_problems_are_one_launch():
    random, d, p, counts = np.random.default_rng(5), 6, 30, (30, 20, 25)
    queries = (0.3 * random.standard_normal((3, p, d))).astype(np.float32)
    outputs = random.standard_normal((3, p, d, p)).astype(np.float16)
    call = jax.vmap(lambda count, *data: kernel.stored_recall(count, jnp.int32(0), *data, True))
    operands = jnp.asarray(counts, jnp.int32), jnp.asarray(queries), jnp.asarray(outputs)
    assert str(jax.make_jaxpr(call)(*operands)).count("pallas_call[") == 1
    found = call(*operands)
    for place, count in enumerate(counts):
        own = outputs[place, :count, :, :count].transpose(0, 2, 1)
        agree([part[place, :count] for part in found], reference(queries[place, :count], own, np.arange(count)), 1e-6)
        assert np.isfinite(found.pull[place]).all()  # of padding, too


@pytest.mark.parametrize("d", [150, 256])
def test_the_kernel_compiles_up_to_the_gpu(d):
    shapes = ((), jnp.int32), ((), jnp.int32), ((8, d), jnp.float32), ((8, d, 512), jnp.float16)
    text = text_for_a_gpu(kernel.stored_recall, *shapes)
    assert launch(text) == {"grid_x": 8, "grid_y": 1, "num_stages": 3, "num_warps": 4}


def test_the_pass_knows_its_targets_as_they_are_stored(monkeypatch):
    in_interpreter = kernel.stored_recall
    monkeypatch.setattr(kernel, "stored_recall", lambda *operands: in_interpreter(*operands, True))
    random = np.random.default_rng(3)
    queries, exact = (jnp.asarray(random.standard_normal(shape), jnp.float32) for shape in ((7, 4), (7, 4, 7)))
    targets = jnp.stack([exact[row, :, row] for row in range(7)])
    recall, slope = kernel.stored_pass(queries, StoredOutputs(exact.astype(jnp.float16), 0, targets), "float32")
    np.testing.assert_array_equal(slope, recall.pull - targets.astype(jnp.float16).astype(jnp.float32))


def test_outputs_in_float32_are_refused():
    with pytest.raises(ValueError, match="outputs.dtype is 'float32', but must be float16 for the pass"):
        kernel.stored_recall(jnp.int32(4), jnp.int32(0), jnp.ones((4, 3)), jnp.ones((4, 3, 4)))


def test_a_problem_says_in_which_type_it_holds_its_outputs(monkeypatch):
    asked, usual = [], table.kernel
    monkeypatch.setattr(table, "kernel", lambda job, case: asked.append(case.held) or usual(job, case))
    decoupled(Stream(0, 5), 9, hold="stored", dtype="float16").recall(jnp.ones((9, 5)))
    assert asked == [jnp.float16]
