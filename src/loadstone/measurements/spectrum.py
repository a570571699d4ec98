"""Singular values of a memory."""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import refuse
from loadstone.compiling import Call, compiled
from loadstone.memories.foreign import as_memory
from loadstone.memories.memory import Memory, in_digits_of


def singular_values(memory: Memory) -> Float[np.ndarray, "m"]:
    """The m largest singular values of W (m its rank), in falling order, scaled so that the largest is 2.

    Recall does not depend on the scale of W; the law of the paper ends at 2.

    Example:
        >>> from loadstone.measurements.spectrum import singular_values
        >>> len(singular_values(loadstone.initial_memory(8, 0.5)))
        4
    """
    memory = as_memory(memory)
    return matrix_singular_values(memory_matrix(memory), memory.rank)


def memory_matrix(memory: Memory) -> Float[np.ndarray, "d d"]:
    """W as a NumPy array."""
    with in_digits_of(memory):
        return np.asarray(_matrix(as_memory(memory)), np.float64)


def matrix_singular_values(matrix: Float[np.ndarray, "d d"], rank: int) -> Float[np.ndarray, "m"]:
    """The largest singular values of a matrix, as many as its rank, scaled so that the largest is 2."""
    values = np.linalg.svd(matrix, compute_uv=False)[:rank]
    if not np.isfinite(values).all() or values[0] == 0:
        raise refuse("memory", f"of largest singular value {values[0]}", "finite and not zero to be scaled")
    return values * (2 / values[0])


def programs(memory: Memory) -> Iterator[Call]:
    """The compiled functions that `memory_matrix` calls, given the shapes of a memory."""
    yield _matrix, (memory,)


@compiled
def _matrix(memory: Memory) -> Float[Array, "d d"]:
    return jnp.asarray(memory.matrix())
