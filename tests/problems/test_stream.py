"""One seed is one infinite nested stream, bit for bit."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.problems.decoupled import decoupled
from loadstone.problems.embeddings import LAWS
from loadstone.problems.instance import write_instance
from loadstone.problems.original import original
from loadstone.problems.stream import Stream


def same_bits(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=4)
@given(d=st.integers(1, 12), p=st.integers(2, 20), more=st.integers(1, 20), seed=st.integers(0, 2**64 - 1))
def test_an_instance_is_the_prefix_of_every_larger_one(law, d, p, more, seed):
    stream = Stream(seed, d, law)
    assert same_bits(stream.inputs(p), stream.inputs(p + more)[:p])
    assert same_bits(stream.outputs(p), stream.outputs(p + more)[:p])
    assert same_bits(stream.own_targets(p), stream.own_targets(p + more)[:p])
    small, large = stream.own_outputs(0, p, p), stream.own_outputs(0, p + more, p + more)
    assert same_bits(small, large[:p, :, :p])


@pytest.mark.parametrize("law", LAWS)
def test_block_sizes_do_not_matter(law):
    stream, p = Stream(4, 7, law), 23
    whole = np.asarray(stream.own_outputs(0, p, p))
    for rows in (1, 2, 5, 23):
        blocks = [stream.own_outputs(first, min(rows, p - first), p) for first in range(0, p, rows)]
        assert same_bits(jnp.concatenate(blocks), whole)
    assert same_bits(whole[np.arange(p), :, np.arange(p)], stream.own_targets(p))


def test_problems_hold_the_vectors_of_the_stream():
    stream = Stream(11, 6)
    shared, own = original(stream, 9), decoupled(stream, 9)
    assert same_bits(shared.inputs, own.inputs) and same_bits(shared.outputs, stream.outputs(9))
    assert not np.isclose(shared.target_outputs, own.target_outputs).any()


def test_known_numbers():
    """These values may never change: records and proofs name instances by their seed."""
    assert np.asarray(Stream(0, 3).inputs(2)).ravel().tolist() == KNOWN_INPUTS
    assert np.asarray(Stream(7, 3, "sphere").own_outputs(1, 1, 2)).ravel().tolist() == KNOWN_OWN


KNOWN_INPUTS = [-0.3178889751434326, 0.7068712711334229, -0.6471733450889587, 0.8430194854736328, 1.7083256244659424, -1.1826838254928589]
KNOWN_OWN = [0.12975971400737762, -0.2443670630455017, -1.3604832887649536, 1.3191767930984497, 1.0640712976455688, 1.0954713821411133]


@pytest.mark.parametrize("kind, shape", [("original", (8, 5)), ("decoupled", (8, 8, 5))])
def test_instance_files_hold_the_stream_and_are_equal_bytes(tmp_path, kind, shape):
    stream = Stream(3, 5)
    write_instance(tmp_path / "a.npz", kind, stream, 8)
    write_instance(tmp_path / "b.npz", kind, stream, 8)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as file:
        assert file["outputs"].shape == shape
        assert same_bits(file["inputs"], stream.inputs(8))
        assert json.loads(str(file["about"])) == {"problem": kind, "d": 5, "p": 8, "seed": 3, "law": "gaussian"}
        if kind == "original":
            assert same_bits(file["outputs"], stream.outputs(8))
        else:
            assert same_bits(file["outputs"].transpose(0, 2, 1), stream.own_outputs(0, 8, 8))


@pytest.mark.parametrize("fields", [(-1, 3, "gaussian"), (0, 0, "gaussian"), (0, 3, "cauchy"), (0, 2.5, "sphere")])
def test_bad_streams_are_refused(fields):
    with pytest.raises(ValueError, match="(seed|d|law) is .* but must be"):
        Stream(*fields)


@pytest.mark.parametrize("p", [1, 0, -3, 2.0])
def test_fewer_than_two_associations_are_refused(p):
    with pytest.raises(ValueError, match="p is .* at least 2"):
        Stream(0, 3).inputs(p)
