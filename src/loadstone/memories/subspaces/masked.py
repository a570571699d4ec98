"""Matrices that are zero outside of a mask: any mask, blocks along the diagonal, the diagonal."""

from __future__ import annotations

import abc
from collections.abc import Hashable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float, Float64
from numpy.typing import ArrayLike

from loadstone.arguments import refuse, set_as, whole
from loadstone.given_arrays import array_of
from loadstone.memories.subspaces.subspace import Subspace, unit_rows


class Entries(Subspace):
    """Matrices that may differ from zero at certain entries only."""

    @abc.abstractmethod
    def entries(self, d: int) -> Bool[Any, "d d"]:
        """Where a member may differ from zero."""

    def projected(self, matrix: Float[Any, "d d"], xp: ModuleType = np) -> Float[Any, "d d"]:
        return xp.where(self.entries(matrix.shape[0]), matrix, xp.zeros_like(matrix))

    def dimension(self, d: int) -> int:
        return int(np.sum(self.entries(d)))

    def operations(self, d: int) -> int:
        return 0

    def axes(self, d: int) -> Float64[np.ndarray, "k d d"]:
        return unit_rows(np.asarray(self.entries(d)))


@dataclass(frozen=True, eq=False)
class Masked(Entries):
    """mask: where W may differ from zero. Each row and each column must have such an entry: without one, an output, or
    an input, would have a component that the memory never sees."""

    mask: Bool[Array | np.ndarray, "d d"]

    def __post_init__(self) -> None:
        set_as(self, "mask", _checked(self.mask))

    def entries(self, d: int) -> Bool[Any, "d d"]:
        return self.mask

    def check(self, d: int) -> None:
        if self.mask.shape != (d, d):
            raise refuse("mask.shape", self.mask.shape, f"({d}, {d}), the shape of W")

    def pieces(self) -> tuple[tuple[Any, ...], Hashable]:
        return (self.mask,), None

    @classmethod
    def from_pieces(cls, arrays: tuple[Any, ...], rest: Any) -> Masked:
        """Without checks: inside a compiled program the entries of a mask are not known."""
        subspace = object.__new__(cls)
        set_as(subspace, "mask", arrays[0])
        return subspace


@dataclass(frozen=True)
class Blocks(Entries):
    """Blocks of equal size along the diagonal, as the heads of an attention layer have them.

    count: how many blocks.
    """

    count: int

    def __post_init__(self) -> None:
        set_as(self, "count", whole("count", self.count, 1))

    def entries(self, d: int) -> Bool[np.ndarray, "d d"]:
        block = np.arange(d) // (d // self.count)
        return block[:, None] == block[None, :]

    def check(self, d: int) -> None:
        if d % self.count:
            raise refuse("count", self.count, f"a divisor of d = {d}, because blocks have equal sizes")


@dataclass(frozen=True)
class Diagonal(Entries):
    """W is diagonal."""

    def entries(self, d: int) -> Bool[np.ndarray, "d d"]:
        return np.eye(d, dtype=bool)


def _checked(given: ArrayLike) -> Bool[np.ndarray, "d d"]:
    array = array_of("mask", given, "a square array of True and False")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0 or array.dtype.kind not in "biuf":
        raise refuse("mask", f"{array.dtype} of shape {array.shape}", "a square array of True and False, or of 1 and 0")
    if not ((array == 0) | (array == 1)).all():
        raise refuse("mask", "an array with other numbers", "a square array of True and False, or of 1 and 0")
    mask = array.astype(bool)
    for name, axis in (("row", 1), ("column", 0)):
        empty = np.flatnonzero(~mask.any(axis=axis))
        if len(empty):
            raise refuse("mask", f"empty in {name} {empty[0]}", "a mask with an entry in each row and each column")
    return mask
