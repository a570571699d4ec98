"""Matrices filled up with zeros to the sizes that kernels for Hopper GPUs take."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Float16


def filled(matrix: Float[Array, "n d"], rows: int, width: int) -> Float16[Array, "rows width"]:
    n, d = matrix.shape
    return jnp.pad(matrix.astype(jnp.float16), ((0, rows - n), (0, width - d)))


def up(size: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-size // step) * step
