"""The kernel for regenerated outputs, as far as a CPU can tell: it runs in the interpreter, and is compiled to the
point where a GPU takes over. That its arithmetic gives the stream's numbers on a GPU too is shown here in float64,
which holds every product and sum exactly."""

import re
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import decoupled_regenerated_triton as kernel
from loadstone.kernels.outputs import RegeneratedOutputs
from loadstone.kernels.recall import Recall
from loadstone.streams.counters import stream_key
from loadstone.streams.embeddings import decoupled_vectors
from loadstone.streams.normals import normal_table, normals, table_cell
from tests.kernels.test_gpu_passes import agree, launch, reference, text_for_a_gpu


def words_of_all_sizes(many):
    """Every octave of the table has as many as every other."""
    random = np.random.default_rng(0)
    some = (random.integers(2**31, 2**32, many) >> random.integers(0, 32, many)) ^ random.integers(0, 2, many)
    return some.astype(np.uint32)


def outputs_of(key, p, d):
    return np.asarray(decoupled_vectors(key, jnp.arange(p, dtype=jnp.uint32), p, d, "gaussian"))


def test_a_fused_product_and_sum_gives_the_numbers_of_the_stream():
    """Rounded twice, as XLA does it, a third of all random words, and one in 25 of these, would be off by a bit."""
    words = words_of_all_sizes(100_000)
    index, offset, negative = (np.asarray(part) for part in table_cell(jnp.asarray(words)))
    # The kernel's table is in the order of exponents.
    centre, slope = kernel._table()[(31 - index // 256) * 256 + index % 256].T
    shifted = np.float64(offset) + 2**23 + 2**14
    once = np.float32(np.float64(centre) + np.float64(slope) * shifted)
    expected = np.abs(np.asarray(normals(jnp.asarray(words))))
    assert (np.abs(once) == expected).all()
    assert (np.abs(centre + slope * np.float32(shifted)) != expected).mean() > 0.02
    found = kernel._fused(*(jnp.asarray(np.float32(part)) for part in (slope, shifted, centre)), True)
    assert (np.asarray(found) == once).all()


def test_the_kernels_table_is_exact():
    centre, slope = (np.float64(column).reshape(32, 256)[::-1].ravel() for column in normal_table())
    assert (kernel._table() == np.stack([centre - slope * (2**23 + 2**14), slope], axis=1)).all()


def test_words_are_cut_off_to_24_bits():
    words = words_of_all_sizes(10_000) | 1
    exponent = np.frexp(np.float64(words))[1]
    cut = np.ldexp(np.floor(np.ldexp(np.float64(words), 24 - exponent)), exponent - 24)
    assert (np.asarray(kernel._truncated(jnp.asarray(words), True)) == cut).all()


@pytest.mark.parametrize(
    "p, d", [(20, 75), pytest.param(5, 3, marks=pytest.mark.soak), pytest.param(9, 1024, marks=pytest.mark.soak)]
)
def test_regenerated_outputs_are_those_of_the_stream(p, d):
    """On a device that has not the first two associations."""
    queries, first = (0.3 * np.random.default_rng(p).standard_normal((p - 2, d))).astype(np.float32), 2
    key = stream_key(3, "decoupled outputs", d)
    expected = reference(queries, outputs_of(key, p, d)[first:].transpose(0, 2, 1), np.arange(first, p))
    agree(kernel.regenerated_recall(jnp.int32(p), key, jnp.asarray(queries), True, jnp.int32(first)), expected, 1e-6)


@cache
def recall_of_unit_vectors():
    """Of two problems, one of them padded, as one launch: (outputs, queries, count, recall) of each."""
    d, p, counts = 7, 12, (12, 9)
    keys = [stream_key(seed, "decoupled outputs", d) for seed in (1, 2)]
    queries = np.stack([np.eye(d, dtype=np.float32)[(np.arange(p) + shift) % d] for shift in (0, 3)])
    call = jax.vmap(lambda count, key, queries: kernel.regenerated_recall(count, key, queries, True))
    operands = jnp.asarray(counts, jnp.int32), jnp.stack(keys), jnp.asarray(queries)
    assert str(jax.make_jaxpr(call)(*operands)).count("pallas_call[") == 1
    found = [np.asarray(part) for part in call(*operands)]
    cut = [outputs_of(key, p, d)[:count, :, :count] for key, count in zip(keys, counts)]
    assert np.isfinite(found[3]).all()  # of padding, too
    return [(cut[k], queries[k, :n], n, Recall(*(part[k, :n] for part in found))) for k, n in enumerate(counts)]


def test_single_components_come_out_to_the_last_bit():
    """The score of an output with a unit vector is one of its components."""
    for outputs, queries, count, found in recall_of_unit_vectors():
        row = np.arange(count)
        component = outputs[row, queries.argmax(axis=1)]
        assert (found.target == component[row, row]).all()
        component[row, row] = -np.inf
        assert (found.rival == component.max(axis=1)).all()


def test_problems_of_different_sizes_are_one_launch():
    for outputs, queries, count, found in recall_of_unit_vectors():
        agree(found, reference(queries, outputs.transpose(0, 2, 1), np.arange(count)), 1e-6)


@pytest.mark.parametrize(
    "d, tile, warps", [(3, 8, 1), (150, 8, 1), (500, 2, 1), (1280, 1, 1), (1282, 1, 2), (4096, 1, 4)]
)
def test_a_thread_keeps_as_much_as_it_has_registers_for(d, tile, warps):
    assert kernel.tile_and_warps((d + 1) // 2) == (tile, warps)


@pytest.mark.parametrize(
    "components, least, expected", [(75, 4, (64, 8, 4)), (1, 4, (4,)), (250, 16, (256,)), (4, 4, (4,)), (5, 4, (8,))]
)
def test_parts_are_powers_of_two_that_hold_all_components(components, least, expected):
    assert kernel.parts(components, least) == expected


@pytest.mark.parametrize("d", [150, pytest.param(4096, marks=pytest.mark.soak)])
def test_on_a_gpu_product_and_sum_are_one_instruction(d):
    shapes = ((), jnp.int32), ((2,), jnp.uint32), ((64, d), jnp.float32)
    text = text_for_a_gpu(kernel.regenerated_recall, *shapes)
    assert "fma.rn.f32 $0, $1, $2, $3;" in text and "cvt.rz.f32.u32 $0, $1;" in text
    if d == 150:  # as it was measured to be fastest
        assert launch(text) == {"grid_x": 64, "grid_y": 8, "num_stages": 1, "num_warps": 1}


@pytest.mark.parametrize("first, count", [(0, None), (0, 2), (8, None)])
def test_the_pass_takes_all_outputs_or_as_many_as_it_is_told(first, count, monkeypatch):
    monkeypatch.setattr(kernel, "regenerated_recall", partial(kernel.regenerated_recall, interpret=True))
    queries, key = (
        jnp.asarray(np.random.default_rng(0).standard_normal((4, 3)), jnp.float32),
        stream_key(0, "decoupled outputs", 3),
    )
    outputs = outputs_of(key, first + 4, 3)[first:].transpose(0, 2, 1)
    own = jnp.asarray(outputs[np.arange(4), first + np.arange(4)])
    asked = RegeneratedOutputs(key, "gaussian", first + 4, own, first, None if count is None else jnp.int32(count))
    recall, slope = kernel.regenerated_pass(queries, asked, "float32")
    expected = reference(queries[:count], outputs[:count, :count], first + np.arange(4)[:count])
    agree([part[:count] for part in recall], expected, 1e-6)
    np.testing.assert_array_equal(slope, recall.pull - own)


def test_the_kernel_makes_gaussian_outputs_only():
    """It has a generator of its own: of another law it would silently make other outputs."""
    outputs = RegeneratedOutputs(stream_key(0, "decoupled outputs", 3), "sphere", 5, jnp.ones((4, 3)))
    with pytest.raises(ValueError, match="law is 'sphere', but must be gaussian for the fused kernel"):
        kernel.regenerated_pass(jnp.ones((4, 3)), outputs, "float32")


@pytest.mark.parametrize("queries", [
    jnp.ones((4, 3), jnp.float16), jnp.ones(4), jnp.ones((0, 3)), jnp.ones((4, 0)), jnp.ones((2, 4, 3)),
])  # fmt: skip
def test_queries_of_another_type_are_refused(queries):
    shown = re.escape(f"queries is '{queries.dtype}{queries.shape}', but must be float32 of two sizes of at least 1")
    with pytest.raises(ValueError, match=shown):
        kernel.regenerated_recall(jnp.int32(4), stream_key(0, "decoupled outputs", 3), queries)
    with pytest.raises(ValueError, match="but must be float32 of two sizes"):
        kernel.regenerated_recall(jnp.int32(4), jnp.zeros(3, jnp.uint32), jnp.ones((4, 3)))
