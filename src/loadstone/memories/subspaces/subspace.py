"""The base class of linear families of matrices, with the orthogonal projection onto them."""

from __future__ import annotations

import abc
from collections.abc import Hashable
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64


class Subspace(abc.ABC):
    """A linear subspace of the d x d matrices. Subspaces are frozen dataclasses, and their fields are their parameters.

    `projected` is enough to train and to measure; with the right `operations`, verdicts are proved as well.
    """

    @abc.abstractmethod
    def projected(self, matrix: Float[Any, "d d"], xp: ModuleType = np) -> Float[Any, "d d"]:
        """The member nearest to a matrix. `xp` is the module that the arrays belong to, NumPy or jax.numpy."""

    @abc.abstractmethod
    def dimension(self, d: int) -> int:
        """The number of free parameters of a member."""

    @abc.abstractmethod
    def operations(self, d: int) -> int:
        """A number k such that `projected`, computed in float64, is off by at most gamma(k) |matrix| (Euclidean norms,
        gamma as in proofs/rounding.py): 0 if it computes nothing, 1 for a mean of two numbers, d + 1 for one of d."""

    def check(self, d: int) -> None:  # noqa: B027
        """Refuse a dimension in which there is no such subspace."""

    def contains(self, matrix: Float64[np.ndarray, "d d"]) -> bool:
        """Whether a matrix is exactly a member, to the last digit; False if that is hard to tell."""
        return self.operations(len(matrix)) == 0 and bool((self.projected(matrix) == matrix).all())

    def axes(self, d: int) -> Float64[np.ndarray, "k d d"]:
        """An orthonormal basis, to rounding. Families that know one override this general computation."""
        units = np.eye(d * d).reshape(d * d, d, d)
        projection = np.stack([self.projected(unit) for unit in units]).reshape(d * d, d * d)
        values, vectors = np.linalg.eigh(projection)
        return vectors[:, values > 0.5].T.reshape(-1, d, d)

    def pieces(self) -> tuple[tuple[Any, ...], Hashable]:
        """The arrays that the projection needs, and the rest, for which programs are compiled."""
        return (), self

    @classmethod
    def from_pieces(cls, arrays: tuple[Any, ...], rest: Any) -> Subspace:
        """The subspace with these pieces."""
        return rest


def unit_rows(entries: Bool[np.ndarray, "d d"]) -> Float64[np.ndarray, "k d d"]:
    """For each of these entries, the matrix that is 1 there and 0 elsewhere."""
    index = np.flatnonzero(entries)
    rows = np.zeros((len(index), entries.size))
    rows[np.arange(len(index)), index] = 1
    return rows.reshape(-1, *entries.shape)
