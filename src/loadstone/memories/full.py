"""A full memory: W itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float

from loadstone.memories.memory import Dense
from loadstone.memories.normal import normal_matrix
from loadstone.trees import tree


@tree(data=["weights"])
@dataclass(frozen=True)
class Full(Dense):
    """weights: W, of size d x d; the query of input e is W e."""

    weights: Float[Array | np.ndarray, "d d"]

    @classmethod
    def initial(cls, d: int, seed: int) -> Full:
        """A memory with every entry drawn from N(0, 1/d^2)."""
        return cls(normal_matrix(seed, "memory", d, d))

    def transformed(self, left: Float[np.ndarray, "d d"], right: Float[np.ndarray, "d d"]) -> Full:
        return Full(left @ np.asarray(self.weights, np.float64) @ right)

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        return self.weights
