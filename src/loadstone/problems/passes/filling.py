"""Arrays for kernels on a Hopper GPU: float16, and filled up with zeros to whole blocks."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Float16, Int, Int32

#: Components come in multiples of this.
WIDTH = 64


def filled(matrix: Float[Array, "n d"], rows: int, width: int = WIDTH) -> Float16[Array, "more wider"]:
    """The matrix in float16, with zeros up to the next multiples of `rows` and `width`."""
    n, d = matrix.shape
    return jnp.pad(matrix.astype(jnp.float16), ((0, -n % rows), (0, -d % width)))


def counted(n: int, m: int, count: Int[Array, ""] | None) -> Int32[Array, "2"]:
    """How many of n queries and of m outputs count: all, or the first `count` of both."""
    whole = jnp.asarray([n, m], jnp.int32)
    return whole if count is None else jnp.clip(count.astype(jnp.int32), 0, whole)
