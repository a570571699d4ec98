"""Memories whose entries have few bits, and training through the rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64

from loadstone.arguments import refuse, whole
from loadstone.kernels.products import mapped
from loadstone.levels import MOST_BITS, half_levels, step_of
from loadstone.memories.memory import Memory, check_dimension
from loadstone.memories.normal import normal_matrix
from loadstone.trees import tree


def rounded_to_bits(weights: Float[np.ndarray, "d d"], bits: int) -> Float64[np.ndarray, "d d"]:
    """W with each entry rounded to the nearest of 2^b levels, at the spacing that changes a Gaussian W least."""
    floats = np.asarray(weights, np.float64)
    return nearest_levels(floats, bits, step_of(bits) * float(np.sqrt((floats**2).mean())))


def nearest_levels(weights: Float[Any, "*shape"], bits: int, step: Any, xp: Any = np) -> Float[Any, "*shape"]:
    """The nearest of the levels (k + 1/2) step, k = -2^(b-1) .. 2^(b-1) - 1; all zero if the step is."""
    half = half_levels(bits)
    index = xp.floor(weights / xp.where(step > 0, step, 1))
    return (xp.clip(index, -half, half - 1) + 0.5) * step


@tree(data=["weights"], meta=["bits"])
@dataclass(frozen=True)
class Rounded(Memory):
    """W is `weights` rounded to b bits an entry. Gradients pass through the rounding as if it were not there (the
    straight-through estimator), so that any solver that follows gradients can train it.

    weights: real numbers from which W is made.
    bits: of each entry of W.
    """

    weights: Float[Array | np.ndarray, "d d"]
    bits: int

    @classmethod
    def check(cls, d: int, bits: int) -> None:  # type: ignore[override]
        whole("bits", bits, 1, MOST_BITS)

    @classmethod
    def initial(cls, d: int, seed: int, bits: int) -> Rounded:  # type: ignore[override]
        """A memory with weights drawn from N(0, 1/d^2)."""
        return cls(normal_matrix(seed, "memory", d, d), bits)

    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        check_dimension(self, inputs, self.weights.shape[-1])
        weights = jnp.asarray(self.weights)
        return mapped(inputs, weights + jax.lax.stop_gradient(self.matrix() - weights), precision)

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        xp = np if isinstance(self.weights, np.ndarray) else jnp
        step = step_of(self.bits) * xp.sqrt((self.weights**2).mean())
        return nearest_levels(self.weights, self.bits, step, xp)

    @property
    def rank(self) -> int:
        return self.weights.shape[-1]

    def in_file(self) -> tuple[str, Mapping[str, Any]]:
        """The rounded W, as a full matrix."""
        return "full", {"weights": self.matrix()}

    @classmethod
    def loaded(cls, family: str, arrays: Mapping[str, np.ndarray]) -> Memory:
        raise refuse("family", family, "one whose memories are kept in files")
