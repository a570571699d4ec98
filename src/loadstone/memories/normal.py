"""The random matrices that memories start from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from loadstone.compiling import Call
from loadstone.problems.budget import Budget
from loadstone.streams.counters import KEY_SHAPE, Key, stream_key
from loadstone.streams.embeddings import vectors


def normal_matrix(seed: int, purpose: str, d: int, columns: int) -> Float32[Array, "d columns"]:
    """Entries drawn from N(0, 1/d^2). Matrices of different purposes (streams/counters.py) are independent."""
    Budget().require(4 * d * columns, "a memory")
    return _normal_matrix(stream_key(seed, purpose, d), d, columns)


def programs(d: int, columns: int) -> Iterator[Call]:
    """The compiled calls of `normal_matrix`."""
    yield _normal_matrix, (KEY_SHAPE, d, columns)


@partial(jax.jit, static_argnums=(1, 2))
def _normal_matrix(key: Key, d: int, columns: int) -> Float32[Array, "d columns"]:
    return vectors(key, jnp.arange(columns, dtype=jnp.uint32), d, "gaussian") / d
