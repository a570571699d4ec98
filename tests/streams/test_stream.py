"""One seed is one infinite nested stream, bit for bit."""

import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.problems.instance import write_instance
from loadstone.streams.counters import stream_key
from loadstone.streams.embeddings import vectors
from loadstone.streams.laws.registry import LAWS
from loadstone.streams.stream import Stream


def same_bits(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=2)
@given(d=st.integers(1, 12), p=st.integers(2, 20), more=st.integers(1, 20), seed=st.integers(0, 2**64 - 1))
def test_an_instance_is_the_prefix_of_every_larger_one(law, d, p, more, seed):
    stream = Stream(seed, d, law=law)
    assert same_bits(stream.inputs(p), stream.inputs(p + more)[:p])
    assert same_bits(stream.outputs(p), stream.outputs(p + more)[:p])
    assert same_bits(stream.decoupled_targets(p), stream.decoupled_targets(p + more)[:p])
    small, large = stream.decoupled_outputs(0, p, p), stream.decoupled_outputs(0, p + more, p + more)
    assert same_bits(small, large[:p, :, :p])


@pytest.mark.parametrize("law", LAWS)
def test_vectors_do_not_depend_on_which_rows_are_made_with_them(law):
    """Other shapes are other compiled programs, with other vector and remainder loops, but must give the same bits."""
    key, d = stream_key(6, "inputs", 11), 11
    many = np.asarray(jax.jit(lambda r: vectors(key, r, d, law))(jnp.arange(1000, dtype=jnp.uint32)))
    for rows in ([0], [999], [5, 4, 3], list(range(17)), list(range(500, 731))):
        few = jax.jit(lambda r: vectors(key, r, d, law))(jnp.asarray(rows, jnp.uint32))
        assert same_bits(few, many[:, rows])
    assert same_bits(Stream(6, 11, law=law).inputs(1000)[:300], Stream(6, 11, law=law).inputs(300))


@pytest.mark.parametrize("law", LAWS)
def test_block_sizes_do_not_matter(law):
    stream, p = Stream(4, 7, law=law), 23
    whole = np.asarray(stream.decoupled_outputs(0, p, p))
    for rows in (1, 2, 5, 23):
        blocks = [stream.decoupled_outputs(first, min(rows, p - first), p) for first in range(0, p, rows)]
        assert same_bits(jnp.concatenate(blocks), whole)
    assert same_bits(whole[np.arange(p), :, np.arange(p)], stream.decoupled_targets(p))


#: Of each law, the beginning of the hash of all that two streams give.
HASHES = {
    "gaussian": "a1f0ad2028820802",
    "sphere": "146a0a341f49e4f9",
    "rademacher": "7aa2d519764f22ee",
    "power law": "235de9c8e8b9d8e6",
}


@pytest.mark.parametrize("law", HASHES)
def test_streams_of_every_law_are_the_same_for_good(law):
    found = hashlib.sha256()
    for seed in (2**64 - 1, 5 * 2**32 + 3):
        stream = Stream(seed, 7, law=law)
        for part in (stream.inputs(128), stream.outputs(9), stream.decoupled_outputs(3, 10, 5)):
            found.update(np.ascontiguousarray(part).tobytes())
    assert found.hexdigest()[:16] == HASHES[law]
    assert stream.isotropic == (law != "power law")


@pytest.mark.parametrize("kind, shape", [("original", (8, 5)), ("decoupled", (8, 8, 5))])
def test_instance_files_hold_the_stream_and_are_equal_bytes(tmp_path, kind, shape):
    stream = Stream(3, 5)
    write_instance(tmp_path / "a.npz", kind, stream=stream, p=8)
    write_instance(tmp_path / "b.npz", kind, stream=stream, p=8)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as file:
        assert file["outputs"].shape == shape
        assert same_bits(file["inputs"], stream.inputs(8))
        assert json.loads(str(file["about"])) == {"problem": kind, "d": 5, "p": 8, "seed": 3, "law": "gaussian"}
        if kind == "original":
            assert same_bits(file["outputs"], stream.outputs(8))
        else:
            assert same_bits(file["outputs"].transpose(0, 2, 1), stream.decoupled_outputs(0, 8, 8))


@pytest.mark.parametrize("seed, d", [(-1, 3), (2**64, 3), (0, 0), (0, 2.5)])
def test_bad_streams_are_refused(seed, d):
    with pytest.raises(ValueError, match="(seed|d) is .* but must be"):
        Stream(seed, d)


@pytest.mark.parametrize("p", [1, 2.0])
def test_fewer_than_two_associations_are_refused(p):
    with pytest.raises(ValueError, match="p is .* at least 2"):
        Stream(0, 3).inputs(p)


@pytest.mark.parametrize("law", [7, None, "", "cauchy", "sphere:3", "gaussian:mean=1"])
def test_laws_that_are_not_there_get_one_sentence(law):
    with pytest.raises(ValueError, match="(law|law parameter) is .*, but must be "):
        Stream(0, 5, law=law)
