"""Fingerprints of problems and memories, so that a file of one is not taken for that of another.

Every array is summed, word by word, with weights that depend on the position: 64 bits, made where the array lies,
because the vectors of a large problem are too many to bring to the host. Zeros do not count, so neither does padding at
the end, and whole numbers have no rounding, so neither does the way in which an array is spread over devices.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Shaped, UInt32

from loadstone.compiling import compiled


def fingerprint(tree: Any, name: str | None = None) -> str:
    """What it is, in words (default: its type), and 64 bits for its arrays."""
    words = [0, 0]
    for number, leaf in enumerate(jax.tree.leaves(tree)):
        for side, word in enumerate(_words(jnp.asarray(leaf))):
            words[side] = (words[side] * 0x01000193 + int(word) + number) % 2**32
    return f"{name or type(tree).__name__} ({words[0]:08x}{words[1]:08x})"


@compiled
def _words(array: Shaped[Array, "..."]) -> tuple[UInt32[Array, ""], UInt32[Array, ""]]:
    bits = _bits(array)
    index = jnp.zeros(bits.shape, jnp.uint32)
    for axis, size in enumerate(bits.shape):
        index = index * jnp.uint32(size % 2**32) + jax.lax.broadcasted_iota(jnp.uint32, bits.shape, axis)
    weights = _mixed(index), _mixed(index ^ jnp.uint32(0x9E3779B9))
    one, other = (jnp.sum(bits * (weight | jnp.uint32(1)), dtype=jnp.uint32) for weight in weights)
    return one, other


def _bits(array: Shaped[Array, "..."]) -> UInt32[Array, "..."]:
    """The numbers as whole ones of 32 bits, two for each number of 64 bits."""
    size = array.dtype.itemsize
    if array.dtype == jnp.bool_ or jnp.issubdtype(array.dtype, jnp.integer) and size < 4:
        return array.astype(jnp.uint32)
    return jax.lax.bitcast_convert_type(array, jnp.uint16 if size == 2 else jnp.uint32).astype(jnp.uint32)


def _mixed(index: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """Neighbouring numbers to numbers that have nothing in common (the finaliser of MurmurHash3, by A. Appleby)."""
    index = (index ^ (index >> 16)) * jnp.uint32(0x85EBCA6B)
    index = (index ^ (index >> 13)) * jnp.uint32(0xC2B2AE35)
    return index ^ (index >> 16)
