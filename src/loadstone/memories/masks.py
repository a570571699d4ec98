"""Masks drawn from a seed, and masks of the largest entries of a matrix."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from loadstone.arguments import rank_fraction, refuse
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.masked import Masked
from loadstone.streams.counters import Key, stream_key, threefry


class RandomMask(Projected):
    """The family of a mask of round(density d^2) entries, drawn uniformly except that no row or column is empty. Its
    memories are instances of `Projected`.

    density: the share of the entries, in (0, 1].
    """

    @classmethod
    def check(cls, d: int, density: float) -> None:  # type: ignore[override]
        """Refuse a density with which rows or columns would have to be empty."""
        if round(rank_fraction("density", density) * d * d) < 2 * d - 1:
            least = f"at least {(2 * d - 1) / d**2:.4g} at d = {d}, so that each row and each column has an entry"
            raise refuse("density", density, least)

    @classmethod
    def initial(cls, d: int, seed: int, density: float) -> Projected:  # type: ignore[override]
        """A memory whose entries are drawn from the same seed as its mask."""
        return Projected.initial(d, seed, drawn_mask(d, seed, density))

    @classmethod
    def subspace_of_family(cls, d: int, seed: int | None, density: float) -> Masked:  # type: ignore[override]
        if seed is None:
            drawn = "given with a mask: a density needs a seed, as exact_capacity and `loadstone certify` have one"
            raise refuse("family", "masked", drawn)
        return drawn_mask(d, seed, density)


def drawn_mask(d: int, seed: int, density: float) -> Masked:
    """The mask drawn from a seed."""
    RandomMask.check(d, density)
    return Masked.from_pieces((_mask(stream_key(seed, "mask", d), d, round(density * d * d)),), None)


@partial(jax.jit, static_argnums=(1, 2))
def _mask(key: Key, d: int, count: int) -> Bool[Array, "d d"]:
    """A mask of the entries with the smallest random words."""
    index = jnp.arange(d, dtype=jnp.uint32)
    rows, columns = jnp.meshgrid(index, index, indexing="ij")
    return _smallest(threefry((key[0], key[1]), (rows, columns))[0], count)


def largest_entries(matrix: Float[np.ndarray, "d d"], count: int) -> Bool[np.ndarray, "d d"]:
    """A mask of the `count` entries of largest magnitude. The largest of each row and each column, at most 2 d, come
    before all others."""
    return np.asarray(_smallest(jnp.asarray(-np.abs(matrix)), jnp.int32(count)))


@jax.jit
def _smallest(numbers: Shaped[Array, "d d"], count: Int[Array, ""] | int) -> Bool[Array, "d d"]:
    """A mask of the smallest numbers. The smallest of each row and each column come before all others."""
    index = jnp.arange(len(numbers))
    needed = jnp.zeros(numbers.shape, bool).at[index, jnp.argmin(numbers, axis=1)].set(True)
    needed = needed.at[jnp.argmin(numbers, axis=0), index].set(True)
    order = jnp.lexsort((numbers.reshape(-1), ~needed.reshape(-1)))
    return jnp.zeros(numbers.size, bool).at[order].set(jnp.arange(numbers.size) < count).reshape(numbers.shape)
