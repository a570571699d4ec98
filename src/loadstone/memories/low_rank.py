"""A memory of low rank: W = Q R^T, a linear network of two layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import whole
from loadstone.kernels.products import exact_there, mapped, times
from loadstone.memories.memory import Memory, check_dimension
from loadstone.memories.normal import normal_matrix
from loadstone.trees import tree


@tree(data=["left", "right"])
@dataclass(frozen=True)
class LowRank(Memory):
    """The query of input e is Q (R^T e).

    left: Q, of size d x m.
    right: R, of size d x m.
    """

    left: Float[Array | np.ndarray, "d m"]
    right: Float[Array | np.ndarray, "d m"]

    @classmethod
    def initial(cls, d: int, seed: int, m: int | None = None) -> LowRank:
        """A memory of rank m (default: d), with every entry of both factors drawn from N(0, 1/d^2)."""
        cls.check(d, m)
        m = d if m is None else m
        return cls(normal_matrix(seed, "memory", d, m), normal_matrix(seed, "second factor", d, m))

    @classmethod
    def check(cls, d: int, m: int | None = None) -> None:  # type: ignore[override]
        whole("m", d if m is None else m, 1, d)

    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        check_dimension(self, inputs, self.right.shape[-2])
        return mapped(times(inputs, self.right, precision), self.left, precision)

    def transformed(self, left: Float[np.ndarray, "d d"], right: Float[np.ndarray, "d d"]) -> LowRank:
        return LowRank(left @ np.asarray(self.left, np.float64), right.T @ np.asarray(self.right, np.float64))

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        return exact_there(self.left, self.right.T)

    def is_dense(self, precision: str) -> bool:
        # These are the passes of a GPU. A product with each factor would round and write more arrays that have a row
        # for each association, and on a GPU that counts, not the number of products.
        return precision == "float16"

    @property
    def rank(self) -> int:
        return self.left.shape[-1]
