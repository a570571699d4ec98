"""Circulant matrices."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int

from loadstone.memories.subspaces.subspace import Subspace


@dataclass(frozen=True)
class Circulant(Subspace):
    """W_ij depends on i - j modulo d only: a convolution on a ring."""

    def projected(self, matrix: Float[Any, "d d"], xp: ModuleType = np) -> Float[Any, "d d"]:
        d = matrix.shape[0]
        # Column k of the gathered matrix holds the entries with i - j = k.
        means = matrix[np.arange(d)[:, None], _differences(d)].mean(axis=0)
        return means[_differences(d)]

    def dimension(self, d: int) -> int:
        return d

    def operations(self, d: int) -> int:
        return d + 1

    def contains(self, matrix: Float64[np.ndarray, "d d"]) -> bool:
        return bool((matrix == matrix[:, 0][_differences(len(matrix))]).all())

    def axes(self, d: int) -> Float64[np.ndarray, "k d d"]:
        return (_differences(d)[None] == np.arange(d)[:, None, None]) / np.sqrt(d)


def _differences(d: int) -> Int[np.ndarray, "d d"]:
    """i - j modulo d."""
    return (np.arange(d)[:, None] - np.arange(d)[None, :]) % d
