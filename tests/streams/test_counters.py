import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.extend.random import threefry_2x32

from loadstone.streams.counters import PURPOSES, fold, host_words, stream_key, threefry

WORD = st.integers(0, 2**32 - 1)


def words(*values):
    return tuple(jnp.uint32(value) for value in values)


@pytest.mark.parametrize(
    "key, counter, known",
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_published_test_vectors(key, counter, known):
    """The known answers of the Random123 distribution for Threefry-2x32-20."""
    assert tuple(int(word) for word in threefry(words(*key), words(*counter))) == known


@given(WORD, WORD, WORD, WORD)
def test_agrees_with_the_cipher_of_jax(a, b, c, d):
    ours = jnp.stack(threefry(words(a, b), words(c, d)))
    theirs = threefry_2x32(jnp.asarray([a, b], jnp.uint32), jnp.asarray([c, d], jnp.uint32))
    assert (ours == theirs).all()


def test_streams_of_different_purpose_seed_or_dimension_have_different_keys():
    keys = {
        tuple(np.asarray(stream_key(seed, purpose, d)).tolist())
        for seed in (0, 1, 2**32, 2**64 - 1)
        for purpose in PURPOSES
        for d in (1, 2, 50)
    }
    assert len(keys) == 4 * len(PURPOSES) * 3


def test_fold_depends_on_both_numbers():
    key = stream_key(0, "inputs", 3)
    folded = {tuple(np.asarray(fold(key, a, b)).tolist()) for a in range(8) for b in range(8)}
    assert len(folded) == 64


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True])
def test_seed_outside_its_range(seed):
    with pytest.raises(ValueError, match="seed is .* whole number of at least 0"):
        stream_key(seed, "inputs", 3)
    with pytest.raises(ValueError, match="seed is .* whole number of at least 0"):
        host_words(seed, "targets", 3, np.arange(2, dtype=np.uint32))
