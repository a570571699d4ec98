from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import devices
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import Regenerated, Stored, decoupled, rows_of_a_part
from loadstone.problems.listwise import listwise
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.streams.stream import Stream


def recall_of(problem):
    queries = jnp.asarray(np.random.default_rng(0).standard_normal(problem.inputs.shape), jnp.float32)
    return jax.jit(lambda p, q: p.recall(q))(problem, queries)


@pytest.mark.parametrize("law", ["gaussian", "sphere", "rademacher"])
def test_stored_and_regenerated_agree_to_rounding(law):
    stored, regenerated = (decoupled(Stream(8, 12, law=law), 45, hold=hold) for hold in ("stored", "regenerated"))
    assert isinstance(stored, Stored) and isinstance(regenerated, Regenerated)
    for a, b in zip(recall_of(stored), recall_of(regenerated)):
        np.testing.assert_allclose(a, b, atol=2e-5)


def cut(problem, *sizes):
    """The same outputs in several arrays."""
    return replace(problem, parts=tuple(jnp.split(problem.parts[0], np.cumsum(sizes)[:-1])))


def test_outputs_in_several_arrays_agree_with_those_in_one():
    one = decoupled(Stream(8, 12), 45)
    for a, b in zip(recall_of(cut(one, 20, 1, 24)), recall_of(one)):
        np.testing.assert_allclose(a, b, atol=2e-6)
    stream = Stream(8, 66, law="rademacher")
    large = decoupled(stream, 512, hold="stored").parts  # 69 megabytes
    assert [part.shape for part in large] == [(256, 66, 512)] * 2
    np.testing.assert_array_equal(large[1][3], stream.decoupled_outputs(259, 1, 512)[0])


@pytest.mark.parametrize("p, d, itemsize, fused, rows", [
    (45, 12, 4, False, 45), (512, 66, 4, False, 256), (512, 64, 4, False, 512), (512, 66, 2, False, 512),
    (3000, 60, 4, False, 188), (3, 10**9, 4, False, 1),  # at most 16 arrays, and one for each association
    (2064, 150, 4, True, 2064), (20_000, 500, 4, True, 107), (40_000, 40_000, 4, True, 1),  # of 2^30 numbers
])  # fmt: skip
def test_stored_outputs_are_split_into_arrays_of_nearly_the_same_size(p, d, itemsize, fused, rows):
    assert rows_of_a_part(p, d, itemsize, fused=fused) == rows


def test_float16_halves_the_memory_and_rounds_the_outputs_once():
    stream = Stream(8, 12)
    full, half = decoupled(stream, 45), decoupled(stream, 45, dtype="float16")
    assert half.parts[0].nbytes * 2 == full.parts[0].nbytes
    assert half.description == "decoupled, outputs stored in float16"
    assert (np.asarray(half.parts[0]) == np.asarray(full.parts[0]).astype(np.float16)).all()
    # A score moves by 12 products, each by at most 2^-11 relative to an output below 5.
    for a, b in zip(recall_of(half), recall_of(full)):
        np.testing.assert_allclose(a, b, atol=12 * 5 * 3 * 2.0**-11)
    assert half.in_float32().description == "decoupled, outputs regenerated"
    for a, b in zip(recall_of(half.in_float32()), recall_of(full)):
        np.testing.assert_allclose(a, b, atol=2e-5)


class TestRoundedForPassesInFloat16:
    @pytest.fixture(autouse=True)
    def on_hopper(self, monkeypatch):
        monkeypatch.setattr(devices, "is_hopper", lambda: True)

    def test_all_outputs_are_rounded_and_nothing_else_changes(self):
        full = cut(decoupled(Stream(3, 130), 16), 6, 10)
        half = full.in_float16()
        assert len(half.parts) == 2 and half.source is full.source and half.inputs is full.inputs
        for rounded, part in zip(half.parts, full.parts):
            np.testing.assert_array_equal(rounded, np.asarray(part).astype(np.float16))
        of_padded = padded(full, 11).in_float16()
        assert of_padded.longer.parts[0].dtype == jnp.float16 and int(of_padded.count) == 11

    @pytest.mark.parametrize(
        "d, p, dtype", [(127, 16, "float32"), (257, 16, "float32"), (130, 15, "float32"), (130, 16, "float16")]
    )
    def test_they_stay_where_that_was_not_measured_to_be_faster(self, d, p, dtype):
        problem = decoupled(Stream(3, d), p, dtype=dtype)
        assert problem.in_float16() is problem

    def test_they_stay_where_two_copies_would_take_too_much_memory(self, monkeypatch):
        problem = decoupled(Stream(3, 130), 16)
        for short in (0, 1):
            monkeypatch.setattr("loadstone.problems.decoupled.Budget", lambda: Budget(2 * 130 * 16 * 16 - short))  # noqa: B023
            assert (problem.in_float16() is problem) == bool(short)

    def test_other_problems_and_devices_have_nothing_to_round(self, monkeypatch):
        shared, regenerated = original(Stream(3, 130), 16), decoupled(Stream(3, 130), 16, hold="regenerated")
        stored = decoupled(Stream(3, 130), 16)
        for problem in (shared, regenerated, listwise(stored, 3)):
            assert problem.in_float16() is problem
        assert padded(shared, 11).in_float16().longer.outputs.dtype == jnp.float32
        monkeypatch.setattr(devices, "is_hopper", lambda: False)
        assert stored.in_float16() is stored


def test_regenerated_needs_memory_of_order_p_d():
    """Scratch of one pass: a few vectors for each association, not p of them."""
    p, d = 512, 16
    problem = decoupled(Stream(0, d), p, hold="regenerated")
    queries = jnp.zeros((p, d))
    compiled = jax.jit(lambda pr, q: pr.recall(q)).lower(problem, queries).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4 * p * d * 40 < 4 * p * p * d / 8
