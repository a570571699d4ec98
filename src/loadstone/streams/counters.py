"""Random bits from counters: every word of a stream can be computed alone, in any order, on any device.

A stream is keyed by two 32-bit words. The word at (row, column) is a function of key, row and column only, so the
first rows of a stream do not depend on how many rows are computed, or in which blocks. Integers are exact, so every
device and every version of the libraries gives the same bits.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer, UInt32

from loadstone.arguments import whole

#: What a stream is for. Streams of different purposes are independent; the numbers must never change.
PURPOSES = {
    "inputs": 0, "outputs": 1, "decoupled outputs": 2, "memory": 3, "second factor": 4, "mask": 5, "targets": 10,
}  # fmt: skip

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

Word = UInt32[Array, "..."]
#: A word of a device or of the host.
AnyWord = Word | UInt32[np.ndarray, "..."]
Key = UInt32[Array, "2"]
#: The shape of a key, for compiling programs that take one.
KEY_SHAPE = jax.ShapeDtypeStruct((2,), jnp.uint32)


def threefry(key: tuple[AnyWord, AnyWord], counter: tuple[AnyWord, AnyWord]) -> tuple[AnyWord, AnyWord]:
    """Threefry-2x32 with 20 rounds (Salmon et al., 'Parallel random numbers: as easy as 1, 2, 3', 2011)."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x, y = counter[0] + schedule[0], counter[1] + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def fold(key: Key, first: Integer[Array, "..."] | int, second: Integer[Array, "..."] | int) -> Key:
    """A new key from `key` and two numbers; different numbers give independent keys."""
    counter = (jnp.asarray(first, jnp.uint32), jnp.asarray(second, jnp.uint32))
    return jnp.stack(threefry((key[0], key[1]), counter))


def stream_key(seed: int, purpose: str, d: int) -> Key:
    """The key of the stream that `seed` gives for one purpose in dimension d; dimensions do not share numbers."""
    seed = whole("seed", seed, 0, 2**64 - 1)
    base = jnp.asarray([seed >> 32, seed & 0xFFFFFFFF], jnp.uint32)
    return _fold(base, PURPOSES[purpose], d)


def host_words(
    seed: int, purpose: str, d: int, rows: UInt32[np.ndarray, "n"]
) -> tuple[UInt32[np.ndarray, "n"], UInt32[np.ndarray, "n"]]:
    """Two words for each of these rows of a stream, made by NumPy: the same bits without a device."""
    seed = whole("seed", seed, 0, 2**64 - 1)
    word = lambda value: np.full(1, value, np.uint32)  # noqa: E731  # of one element: scalars would warn of overflow
    key = threefry((word(seed >> 32), word(seed & 0xFFFFFFFF)), (word(PURPOSES[purpose]), word(d)))
    first, second = threefry(key, (rows, np.zeros_like(rows)))
    return np.asarray(first), np.asarray(second)


# Outside of compiled programs each small operation would be dispatched separately.
_fold = jax.jit(fold)
