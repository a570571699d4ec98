"""Standard normal numbers from random words, the same to the last bit on every device.

One seed must give one instance everywhere. Compilers may fuse a product and a sum into one rounding (FMA) and libraries
differ in log or erf_inv, so the usual samplers differ in the last digit between devices and even between block shapes.
Here every rounding is fixed: a normal is `centre + slope * offset`, read from a table of the normal quantile function
with 256 cells an octave of tail probability. The product has at most 24 significant bits, so it is exact with or
without FMA. The quantile is off by less than 4e-6 and reaches 6.3 deviations (2^-33 in each tail).
"""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float32, Int32
from scipy.special import ndtri

from loadstone.streams.counters import Word

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
    index, offset, negative = table_cell(words)
    centre, slope = (jnp.asarray(column)[index] for column in normal_table())
    magnitude = centre + slope * offset
    return jnp.where(negative, -magnitude, magnitude)


def table_cell(words: Word) -> tuple[Int32[Array, "*shape"], Float32[Array, "*shape"], Bool[Array, "*shape"]]:
    """Cell of the table, offset within it, and whether the normal is negative.

    The lowest bit of a word is the sign, the rest the tail probability.
    """
    tail = words | np.uint32(1)
    octave = lax.clz(tail)
    leading = tail << octave
    index = (octave << np.uint32(8)) | ((leading >> np.uint32(23)) & np.uint32(255))
    offset = ((leading >> np.uint32(8)) & np.uint32(_OFFSETS - 1)).astype(jnp.int32) - _OFFSETS // 2
    return index.astype(jnp.int32), offset.astype(jnp.float32), (words & np.uint32(1)) == 1
