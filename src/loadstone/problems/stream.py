"""One seed is one infinite sequence of associations: its first p are the instance of p associations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from loadstone.arguments import choice, whole
from loadstone.problems.counters import Key, stream_key
from loadstone.problems.embeddings import LAWS, own_targets, own_vectors, vectors


@dataclass(frozen=True)
class Stream:
    """The associations of one seed in dimension d, with embeddings drawn from `law`.

    Every law has E|x|^2 = d: 'gaussian' is N(0, I_d), 'sphere' uniform at radius sqrt(d), 'rademacher' random signs.
    Original and decoupled problems of one seed share their inputs.
    """

    seed: int
    d: int
    law: str = "gaussian"

    def __post_init__(self) -> None:
        whole("seed", self.seed, 0, 2**64 - 1)
        whole("d", self.d, 1)
        choice("law", self.law, LAWS)

    def inputs(self, p: int) -> Float32[Array, "p d"]:
        return _rows(stream_key(self.seed, "inputs", self.d), _count(p), self.d, self.law)

    def outputs(self, p: int) -> Float32[Array, "p d"]:
        """Outputs that all inputs share (original problem)."""
        return _rows(stream_key(self.seed, "outputs", self.d), _count(p), self.d, self.law)

    @property
    def own_outputs_key(self) -> Key:
        """The key from which association mu derives the stream of its own outputs (decoupled problem)."""
        return stream_key(self.seed, "own outputs", self.d)

    def own_outputs(self, first: int, rows: int, p: int) -> Float32[Array, "rows d p"]:
        """The p own outputs of each of the associations first, ..., first + rows - 1, as columns."""
        return _own_block(self.own_outputs_key, jnp.uint32(first), rows, _count(p), self.d, self.law)

    def own_targets(self, p: int) -> Float32[Array, "p d"]:
        """u_mu^(mu): of each association's own outputs, the one at its own place."""
        return _own_targets(self.own_outputs_key, _count(p), self.d, self.law)


def _count(p: int) -> int:
    return whole("p", p, 2, 2**31 - 1)


@partial(jax.jit, static_argnums=(1, 2, 3))
def _rows(key: Key, p: int, d: int, law: str) -> Float32[Array, "p d"]:
    return vectors(key, jnp.arange(p, dtype=jnp.uint32), d, law).T


@partial(jax.jit, static_argnums=(2, 3, 4, 5))
def _own_block(key: Key, first, rows: int, p: int, d: int, law: str) -> Float32[Array, "rows d p"]:
    return own_vectors(key, first + jnp.arange(rows, dtype=jnp.uint32), p, d, law)


@partial(jax.jit, static_argnums=(1, 2, 3))
def _own_targets(key: Key, p: int, d: int, law: str) -> Float32[Array, "p d"]:
    return own_targets(key, jnp.arange(p, dtype=jnp.uint32), d, law)
