"""A subspace given by a basis."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Float64, Int
from numpy.typing import ArrayLike

from loadstone.arguments import refuse, set_as
from loadstone.given_arrays import array_of
from loadstone.memories.subspaces.subspace import Subspace

#: Matrices of unit length count as independent if their smallest singular value is at least this share of the largest.
_INDEPENDENT = 1e-6


@dataclass(frozen=True, eq=False)
class Given(Subspace):
    """W = sum over i of x_i B_i.

    basis: the B_i, an array (k, d, d) of independent matrices.
    """

    basis: Float64[np.ndarray, "k d d"]
    #: An orthonormal basis of the same subspace, to rounding; in a compiled program, an array of that program.
    orthonormal: Float[Array | np.ndarray, "k d d"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        basis = _checked(self.basis)
        set_as(self, "basis", basis)
        if not (np.ldexp(self.scaled_basis, self._exponents) == basis).all():
            raise refuse("basis", "a matrix whose entries differ by more than 10^300", "one of entries of similar size")
        rows = self.scaled_basis.reshape(len(basis), -1)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
        if len(basis) > rows.shape[1] or sizes[-1] < _INDEPENDENT * sizes[0]:
            dependent = f"{len(basis)} matrices that are dependent, or nearly so"
            raise refuse("basis", dependent, "independent matrices")
        set_as(self, "orthonormal", axes.reshape(basis.shape))

    @cached_property
    def scaled_basis(self) -> Float64[np.ndarray, "k d d"]:
        """The matrices times powers of two that bring their largest entries into [1/2, 1); their span is the same."""
        return np.ldexp(self.basis, -self._exponents)

    @cached_property
    def _exponents(self) -> Int[np.ndarray, "k 1 1"]:
        return np.frexp(np.abs(self.basis).max(axis=(1, 2)))[1][:, None, None]

    def projected(self, matrix: Float[Any, "d d"], xp: ModuleType = np) -> Float[Any, "d d"]:
        # Sums of products, and not a matrix product, which some devices would round.
        axes = xp.asarray(self.orthonormal, dtype=matrix.dtype)
        along = (axes * matrix[None]).sum(axis=(1, 2))
        return (along[:, None, None] * axes).sum(axis=0)

    def dimension(self, d: int) -> int:
        return len(self.basis)

    def operations(self, d: int) -> int:
        raise NotImplementedError("the projection is itself rounded: see proofs/membership.py")

    def contains(self, matrix: Float64[np.ndarray, "d d"]) -> bool:
        return False

    def axes(self, d: int) -> Float64[np.ndarray, "k d d"]:
        return np.asarray(self.orthonormal, np.float64)

    def check(self, d: int) -> None:
        if self.basis.shape[1:] != (d, d):
            raise refuse("basis.shape", self.basis.shape, f"(k, {d}, {d}), so that each matrix has the shape of W")

    def pieces(self) -> tuple[tuple[Any, ...], Hashable]:
        return (self.orthonormal,), self

    @classmethod
    def from_pieces(cls, arrays: tuple[Any, ...], rest: Any) -> Given:
        subspace = object.__new__(cls)
        set_as(subspace, "basis", rest.basis)
        set_as(subspace, "orthonormal", arrays[0])
        return subspace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and np.array_equal(self.basis, other.basis)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.basis.shape, hashlib.sha256(self.basis.tobytes()).digest()))


def _checked(given: ArrayLike) -> Float64[np.ndarray, "k d d"]:
    allowed = "an array (k, d, d) of finite real numbers, the matrices that W is made of"
    array = array_of("basis", given, allowed)
    square = array.ndim == 3 and array.shape[1] == array.shape[2] and array.size > 0
    if not square or array.dtype.kind not in "biuf":
        raise refuse("basis", f"{array.dtype} of shape {array.shape}", allowed)
    basis = np.ascontiguousarray(array, np.float64)
    # NumPy would compare whole numbers as float64, which rounds them; Python compares them as they are.
    given_exactly = array.astype(object) if array.dtype.kind in "iu" else array
    if not np.isfinite(basis).all() or not (basis == given_exactly).all():
        raise refuse("basis", "an array with numbers that are infinite or too long", f"{allowed}, which float64 holds")
    zero = np.flatnonzero(~basis.any(axis=(1, 2)))
    if len(zero):
        raise refuse("basis", f"zero at index {zero[0]}", "made of matrices that are not zero")
    return basis
