"""A memory of a linear family: W is the projection of a matrix onto a subspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import refuse
from loadstone.memories.memory import Dense, kept
from loadstone.memories.normal import normal_matrix
from loadstone.memories.subspaces.registry import arrays_of, name_of, subspace_from
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.readable import readable
from loadstone.trees import told_apart


@told_apart  # not `tree`: which parts of the subspace are arrays depends on its class
@jax.tree_util.register_pytree_with_keys_class
@dataclass(frozen=True)
class Projected(Dense):
    """W = P(weights), P the orthogonal projection onto a subspace. Its derivative is P again, so gradients stay inside.

    weights: a d x d matrix.
    subspace: the family.
    """

    weights: Float[Array | np.ndarray, "d d"]
    subspace: Subspace

    #: The arrays of a subspace are not trained, even if they are real numbers.
    fixed: ClassVar[tuple[str, ...]] = ("subspace",)

    __repr__ = readable

    @classmethod
    def made(cls, weights: Float[Array | np.ndarray, "d d"], subspace: Subspace) -> Projected:
        """A memory whose subspace holds its real numbers in the precision of the weights."""
        arrays, rest = subspace.pieces()
        xp = np if isinstance(weights, np.ndarray) else jnp
        converted = (array.astype(weights.dtype) if array.dtype.kind == "f" else array for array in arrays)
        return cls(weights, type(subspace).from_pieces(tuple(xp.asarray(array) for array in converted), rest))

    @classmethod
    def initial(cls, d: int, seed: int, subspace: Subspace) -> Projected:  # type: ignore[override]
        """The projection of a matrix with entries drawn from N(0, 1/d^2)."""
        memory = Projected.made(normal_matrix(seed, "memory", d, d), subspace)
        return Projected(memory.matrix(), memory.subspace)

    @classmethod
    def check(cls, d: int, subspace: Subspace) -> None:  # type: ignore[override]
        subspace.check(d)

    @classmethod
    def subspace_of_family(cls, d: int, seed: int | None, subspace: Subspace) -> Subspace:  # type: ignore[override]
        return subspace

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        return self.subspace.projected(self.weights, np if isinstance(self.weights, np.ndarray) else jnp)

    def in_file(self) -> tuple[str, Mapping[str, Any]]:
        return name_of(self.subspace), {"weights": self.weights, **arrays_of(self.subspace)}

    @classmethod
    def loaded(cls, family: str, arrays: Mapping[str, np.ndarray]) -> Projected:
        weights = arrays.get("weights", np.empty(0))
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or weights.size == 0:
            raise refuse("weights", f"of shape {weights.shape}", "such that they make a d x d memory")
        rest = {name: array for name, array in arrays.items() if name != "weights"}
        return Projected.made(kept(weights), subspace_from(family, rest, len(weights)))

    def tree_flatten_with_keys(self) -> tuple[tuple, tuple]:
        arrays, rest = self.subspace.pieces()
        key = jax.tree_util.GetAttrKey
        return ((key("weights"), self.weights), (key("subspace"), arrays)), (type(self.subspace), rest)

    @classmethod
    def tree_unflatten(cls, aux: tuple[type[Subspace], Any], children: tuple) -> Projected:
        weights, arrays = children
        kind, rest = aux
        return cls(weights, kind.from_pieces(arrays, rest))
