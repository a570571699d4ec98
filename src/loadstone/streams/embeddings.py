"""Random vectors from a stream, by the law of their components."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, UInt32

from loadstone.streams.counters import Key, fold, threefry
from loadstone.streams.laws.registry import law_of


def vectors(key: Key, rows: UInt32[Array, "n"], d: int, law: str) -> Float32[Array, "d n"]:
    """The vectors of a stream at the given rows, as the columns of a matrix.

    Words j and j + ceil(words / 2) of a vector are the two words of one Threefry block.
    """
    embedding_law = law_of(law)
    count = embedding_law.words(d)
    half = (count + 1) // 2
    column = jnp.arange(half, dtype=jnp.uint32)[:, None]
    shape = (half, rows.shape[0])
    counter = (jnp.broadcast_to(rows[None, :], shape), jnp.broadcast_to(column, shape))
    return embedding_law.vectors(jnp.concatenate(threefry((key[0], key[1]), counter), axis=0)[:count])


def decoupled_vectors(
    key: Key, associations: UInt32[Array, "b"], count: int, d: int, law: str
) -> Float32[Array, "b d count"]:
    """For each association, the first `count` vectors of its stream of outputs."""
    rows = jnp.arange(count, dtype=jnp.uint32)
    return jax.vmap(lambda mu: vectors(fold(key, mu, 0), rows, d, law))(associations)


def decoupled_targets(key: Key, associations: UInt32[Array, "b"], d: int, law: str) -> Float32[Array, "b d"]:
    """For each association mu, vector mu of its stream of outputs."""
    return jax.vmap(lambda mu: vectors(fold(key, mu, 0), mu[None], d, law)[:, 0])(associations)
