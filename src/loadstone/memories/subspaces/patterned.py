"""Symmetric, traceless, skew and circulant matrices: those whose entries depend on each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int

from loadstone.arguments import refuse
from loadstone.memories.subspaces.subspace import Subspace, unit_rows


@dataclass(frozen=True)
class Symmetric(Subspace):
    """W = W^T."""

    def projected(self, matrix: Float[Any, "d d"], xp: ModuleType = np) -> Float[Any, "d d"]:
        return (matrix + matrix.T) / 2

    def dimension(self, d: int) -> int:
        return d * (d + 1) // 2

    def operations(self, d: int) -> int:
        return 1

    def contains(self, matrix: Float64[np.ndarray, "d d"]) -> bool:
        return bool((matrix == matrix.T).all())

    def axes(self, d: int) -> Float64[np.ndarray, "k d d"]:
        return np.concatenate([_pairs(d, 1), unit_rows(np.eye(d, dtype=bool))])


@dataclass(frozen=True)
class Traceless(Subspace):
    """W = W^T with zero trace."""

    def projected(self, matrix: Float[Any, "d d"], xp: ModuleType = np) -> Float[Any, "d d"]:
        d = matrix.shape[0]
        return (matrix + matrix.T) / 2 - xp.trace(matrix) / d * xp.eye(d, dtype=matrix.dtype)

    def dimension(self, d: int) -> int:
        return d * (d + 1) // 2 - 1

    def operations(self, d: int) -> int:
        # A mean of two, the mean of the diagonal (d + 1), and their difference, whose two parts are no longer than W.
        return d + 4

    def check(self, d: int) -> None:
        if d < 2:
            raise refuse("d", d, "at least 2 for the family 'traceless', which is only zero at d = 1")

    def contains(self, matrix: Float64[np.ndarray, "d d"]) -> bool:
        # The exact sum, rounded once, is zero if and only if the trace is.
        return bool((matrix == matrix.T).all()) and math.fsum(np.diag(matrix)) == 0

    def axes(self, d: int) -> Float64[np.ndarray, "k d d"]:
        # Row i of the diagonals is i ones, then -i, scaled to length 1: each is orthogonal to those before it.
        diagonals = np.tril(np.ones((d - 1, d)))
        steps = np.arange(1, d)
        diagonals[steps - 1, steps] = -steps
        diagonals /= np.sqrt(steps * (steps + 1))[:, None]
        return np.concatenate([_pairs(d, 1), diagonals[:, :, None] * np.eye(d)])


@dataclass(frozen=True)
class Skew(Subspace):
    """W = -W^T."""

    def projected(self, matrix: Float[Any, "d d"], xp: ModuleType = np) -> Float[Any, "d d"]:
        return (matrix - matrix.T) / 2

    def dimension(self, d: int) -> int:
        return d * (d - 1) // 2

    def operations(self, d: int) -> int:
        return 1

    def check(self, d: int) -> None:
        if d < 2:
            raise refuse("d", d, "at least 2 for the family 'skew', which is only zero at d = 1")

    def contains(self, matrix: Float64[np.ndarray, "d d"]) -> bool:
        return bool((matrix == -matrix.T).all())

    def axes(self, d: int) -> Float64[np.ndarray, "k d d"]:
        return _pairs(d, -1)


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


def _pairs(d: int, sign: int) -> Float64[np.ndarray, "k d d"]:
    """For each entry above the diagonal, the matrix of length 1 that has it and its mirror image times `sign`."""
    upper = unit_rows(np.triu(np.ones((d, d), bool), 1))
    return (upper + sign * upper.transpose(0, 2, 1)) / np.sqrt(2)


def _differences(d: int) -> Int[np.ndarray, "d d"]:
    """i - j modulo d."""
    return (np.arange(d)[:, None] - np.arange(d)[None, :]) % d
