"""A full memory: W itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float

from loadstone.kernels.products import mapped
from loadstone.memories.memory import Memory, check_dimension
from loadstone.memories.normal import normal_matrix
from loadstone.trees import tree


@tree(data=["weights"])
@dataclass(frozen=True)
class Full(Memory):
    """weights: W, of size d x d; the query of input e is W e."""

    weights: Float[Array | np.ndarray, "d d"]

    @classmethod
    def initial(cls, d: int, seed: int) -> Full:
        """Every entry drawn from N(0, 1/d^2)."""
        return cls(normal_matrix(seed, "memory", d, d))

    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        check_dimension(self, inputs, self.weights.shape[-1])
        return mapped(inputs, self.weights, precision)

    def transformed(self, left: Float[np.ndarray, "d d"], right: Float[np.ndarray, "d d"]) -> Full:
        return Full(left @ np.asarray(self.weights, np.float64) @ right)

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        return self.weights

    @property
    def rank(self) -> int:
        return self.weights.shape[-1]

    def is_dense(self, precision: str) -> bool:
        return True
