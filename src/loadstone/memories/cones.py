"""Memories with non-negative entries, and positive semidefinite ones. Both are squares: W = A o A, and W = A A^T.

The loss is convex in W, and W ranges over a convex cone, but it is A that is trained. Nothing is lost by that: a point
at which the gradient with respect to A vanishes and no direction of A has negative curvature is a global minimum. Let G
be the gradient with respect to W (for W = A A^T its symmetric part).

- Entries: the gradient is 2 G o A, so G_ij = 0 wherever W_ij > 0. Where A_ij = 0, the curvature along that entry is
  2 G_ij, so G_ij >= 0.
- Semidefinite: the gradient is 2 G A, so G W = 0. If A has no inverse, A v = 0 for some v of length 1; for any x the
  direction x v^T changes W at second order only, so its curvature is 2 x^T G x, and G is semidefinite. If A has an
  inverse, G = 0.

In both cases G is in the dual cone and <G, W> = 0: these are the conditions of Karush, Kuhn and Tucker, which are
sufficient because the problem is convex. An entry A_ij = 0, or a kernel of A, does not move under gradients, however,
so a search has to start away from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from loadstone.kernels.products import exact_there
from loadstone.memories.memory import Dense
from loadstone.memories.normal import normal_matrix
from loadstone.trees import tree

#: Standard deviation of the random factors of a start. Our normals stay below 6.4, so no factor is near zero.
_DEVIATION = 1 / 8


@tree(data=["root"])
@dataclass(frozen=True)
class Nonnegative(Dense):
    """root: A; W = A o A, the square of each entry."""

    root: Float[Array | np.ndarray, "d d"]

    @classmethod
    def initial(cls, d: int, seed: int) -> Nonnegative:
        """A memory with entries of W about 1/d."""
        return cls((1 + _DEVIATION * d * normal_matrix(seed, "memory", d, d)) / jnp.sqrt(d))

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        return self.root * self.root


@tree(data=["root"])
@dataclass(frozen=True)
class PositiveSemidefinite(Dense):
    """root: A; W = A A^T."""

    root: Float[Array | np.ndarray, "d d"]

    @classmethod
    def initial(cls, d: int, seed: int) -> PositiveSemidefinite:
        """A memory with W about 1/d times the identity."""
        deviation = _DEVIATION * jnp.sqrt(d) * normal_matrix(seed, "memory", d, d)
        return cls((jnp.eye(d, dtype=deviation.dtype) + deviation) / jnp.sqrt(d))

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        return exact_there(self.root, self.root.T)
