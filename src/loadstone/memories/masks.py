"""Random masks, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from loadstone.arguments import rank_fraction, refuse, set_as
from loadstone.memories.subspaces.masked import Masked
from loadstone.problems.counters import Key, stream_key, threefry


@dataclass(frozen=True)
class RandomMask:
    """A mask of round(density d^2) entries, drawn uniformly but for one rule: no row and no column is empty.

    density: the share of the entries, in (0, 1].
    """

    density: float

    def __post_init__(self) -> None:
        set_as(self, "density", rank_fraction("density", self.density))

    def check(self, d: int) -> None:
        """Refuse a dimension in which rows or columns would have to be empty."""
        if round(self.density * d * d) < min(2 * d - 1, d * d):
            least = f"at least {(2 * d - 1) / d**2:.4g} at d = {d}, so that each row and each column has an entry"
            raise refuse("density", self.density, least)

    def drawn(self, d: int, seed: int) -> Masked:
        """The mask of a seed."""
        self.check(d)
        mask = _mask(stream_key(seed, "mask", d), d, round(self.density * d * d))
        return Masked.from_pieces((mask,), None)


@partial(jax.jit, static_argnums=(1, 2))
def _mask(key: Key, d: int, count: int) -> Bool[Array, "d d"]:
    """The entries with the smallest random words, and before all others the smallest of each row and each column."""
    index = jnp.arange(d, dtype=jnp.uint32)
    rows, columns = jnp.meshgrid(index, index, indexing="ij")
    # Zero is kept for the entries that must be there.
    words = jnp.maximum(threefry((key[0], key[1]), (rows, columns))[0], 1)
    needed = words.at[index, jnp.argmin(words, axis=1)].set(0)
    needed = needed.at[jnp.argmin(words, axis=0), index].set(0)
    order = jnp.argsort(needed.reshape(-1), stable=True)
    return jnp.zeros(d * d, bool).at[order[:count]].set(True).reshape(d, d)
