"""Random vectors from a stream: N(0, I_d), the sphere of radius sqrt(d), or random signs.

One seed must give one instance everywhere, bit for bit. Compilers may fuse a product and a sum into one rounding
(FMA) and libraries differ in log or erf_inv, so the usual samplers differ in the last digit between devices and even
between block shapes. Here every rounding is forced:

- a normal is `centre + slope * offset`, read from a table of the normal quantile function with 256 cells an octave of
  tail probability. The product has at most 24 significant bits, hence is exact, with or without FMA;
- the length of a vector is summed pairwise in a fixed order from squares that are exact sums of exact products, and
  its inverse is found by bisection, which needs products and comparisons only.

The quantile is off by less than 4e-6 and reaches 6.3 deviations (2^-33 in each tail).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float32, Int32, UInt32
from scipy.special import ndtri

from loadstone.problems.counters import Key, Word, fold, threefry

LAWS = ("gaussian", "sphere", "rademacher")

_OCTAVES, _CELLS, _OFFSETS = 32, 256, 2**15
_CENTRE_GRID, _SLOPE_BITS = 2.0**20, 9


@cache
def normal_table() -> tuple[np.ndarray, np.ndarray]:
    """Centre and slope of each of the 32 x 256 cells of the upper half of the normal quantile function.

    Cell (n, c) spans the tail probabilities 2^-(n+2) (1 + [c, c+1] / 256). Its centre is the mean of the quantile
    over the cell (Simpson's rule), on a grid of 2^-20; its slope is that of the chord, on 9 bits.
    """
    octave, cell = np.divmod(np.arange(_OCTAVES * _CELLS), _CELLS)
    edge = [2.0 ** -(octave + 2) * (1 + (cell + part) / _CELLS) for part in (0, 0.5, 1)]
    left, middle, right = (-ndtri(t) for t in edge)
    centre = np.round((left + 4 * middle + right) / 6 * _CENTRE_GRID) / _CENTRE_GRID
    mantissa, exponent = np.frexp((right - left) / _OFFSETS)
    slope = np.ldexp(np.round(mantissa * 2**_SLOPE_BITS) / 2**_SLOPE_BITS, exponent)
    return centre.astype(np.float32), slope.astype(np.float32)


def normals(words: Word) -> Float32[Array, "*shape"]:
    """One standard normal from each 32-bit word."""
    index, offset, negative = table_place(words)
    centre, slope = (jnp.asarray(column)[index] for column in normal_table())
    magnitude = centre + slope * offset
    return jnp.where(negative, -magnitude, magnitude)


def table_place(
    words: Word, leading_zeros: Callable[[Word], Word] = lax.clz
) -> tuple[Int32[Array, "*shape"], Float32[Array, "*shape"], Bool[Array, "*shape"]]:
    """Cell of the table, offset within it, and whether the normal is negative.

    The lowest bit of a word is the sign, the rest the tail probability.
    """
    tail = words | np.uint32(1)
    octave = leading_zeros(tail)
    leading = tail << octave
    index = (octave << np.uint32(8)) | ((leading >> np.uint32(23)) & np.uint32(255))
    offset = ((leading >> np.uint32(8)) & np.uint32(_OFFSETS - 1)).astype(jnp.int32) - _OFFSETS // 2
    return index.astype(jnp.int32), offset.astype(jnp.float32), (words & np.uint32(1)) == 1


def vectors(key: Key, rows: UInt32[Array, "n"], d: int, law: str) -> Float32[Array, "d n"]:
    """The vectors of a stream at the given rows, as the columns of a matrix.

    Components j and j + ceil(d / 2) share one Threefry block, whose two words they take.
    """
    half = (d + 1) // 2
    column = jnp.arange(half, dtype=jnp.uint32)[:, None]
    shape = (half, rows.shape[0])
    counter = (jnp.broadcast_to(rows[None, :], shape), jnp.broadcast_to(column, shape))
    words = jnp.concatenate(threefry((key[0], key[1]), counter), axis=0)[:d]
    if law == "rademacher":
        return jnp.where((words >> np.uint32(31)) == 1, jnp.float32(-1), jnp.float32(1))
    gaussian = normals(words)
    if law == "gaussian":
        return gaussian
    return gaussian * _inverse_length(gaussian)[None, :]


def own_vectors(key: Key, owners: UInt32[Array, "b"], count: int, d: int, law: str) -> Float32[Array, "b d count"]:
    """For each owner (an association), the first `count` vectors of the stream that is its own."""
    rows = jnp.arange(count, dtype=jnp.uint32)
    return jax.vmap(lambda owner: vectors(fold(key, owner, 0), rows, d, law))(owners)


def own_targets(key: Key, owners: UInt32[Array, "b"], d: int, law: str) -> Float32[Array, "b d"]:
    """For each owner mu, vector mu of the stream that is its own."""
    return jax.vmap(lambda owner: vectors(fold(key, owner, 0), owner[None], d, law)[:, 0])(owners)


def _inverse_length(x: Float32[Array, "d n"]) -> Float32[Array, "n"]:
    """sqrt(d) / |x| for each column: the largest float r with r * r * |x|^2 <= d."""
    square = _squared_length(x)
    dimension = jnp.float32(x.shape[0])

    def halve(_, ends):
        low, high = ends
        middle = low + (high - low) // 2
        r = lax.bitcast_convert_type(middle, jnp.float32)
        fits = r * r * square <= dimension
        return jnp.where(fits, middle, low), jnp.where(fits, high, middle)

    # Positive floats are ordered as their bit patterns are.
    low, high = (lax.bitcast_convert_type(jnp.full_like(square, v), jnp.int32) for v in (2.0**-30, 2.0**40))
    low, _ = lax.fori_loop(0, 30, halve, (low, high))
    return lax.bitcast_convert_type(low, jnp.float32)


def _squared_length(x: Float32[Array, "d n"]) -> Float32[Array, "n"]:
    bits = lax.bitcast_convert_type(x, jnp.uint32)
    high = lax.bitcast_convert_type(bits & np.uint32(0xFFFFF000), jnp.float32)
    low = x - high
    square = high * high + (2 * high * low + low * low)  # 12 x 12 bits: each product is exact
    while square.shape[0] > 1:
        if square.shape[0] % 2:
            square = jnp.concatenate([square, jnp.zeros_like(square[:1])])
        square = square[: square.shape[0] // 2] + square[square.shape[0] // 2 :]
    return square[0]
