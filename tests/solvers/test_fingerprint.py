"""Fingerprints tell arrays apart that differ in one bit, one position or their order; zeros at the end do not count."""

import jax
import jax.numpy as jnp
import numpy as np

from loadstone.solvers.checkpoint import fingerprint

WORD = 2**32


def by_hand(array):
    """The same two sums with Python's whole numbers."""
    bits = np.ascontiguousarray(array).view(np.uint32).ravel().tolist()

    def mixed(index):
        index = (index ^ index >> 16) * 0x85EBCA6B % WORD
        index = (index ^ index >> 13) * 0xC2B2AE35 % WORD
        return (index ^ index >> 16) | 1

    sums = [sum(bit * mixed(place ^ salt) for place, bit in enumerate(bits)) % WORD for salt in (0, 0x9E3779B9)]
    return "it ({:08x}{:08x})".format(*sums)


def test_the_sums_are_those_of_whole_numbers():
    array = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    assert fingerprint(jnp.asarray(array), "it") == by_hand(array)
    with jax.enable_x64(True):
        double = array.astype(np.float64)
        assert fingerprint(jnp.asarray(double), "it") == by_hand(double)


def test_what_is_told_apart():
    array = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    nearly, padded = array.copy(), np.zeros((8, 7), np.float32)
    nearly[3, 3], padded[:5] = np.nextafter(array[3, 3], 9), array
    kinds = [array, nearly, array[::-1].copy(), array.T.copy().reshape(5, 7), array.astype(np.float16), array > 0]
    assert len({fingerprint([one]) for one in kinds}) == len(kinds)
    assert fingerprint([array]) == fingerprint([padded]) == fingerprint([array.copy()])
    assert fingerprint([array, nearly]) != fingerprint([nearly, array])
