"""The Hessian within a linear family: P H P, P the orthogonal projection onto it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import ModuleType

import numpy as np
import scipy.sparse
from jaxtyping import Float64

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.proofs.curvature import matrix_of
from loadstone.solvers.hessian import Hessian, Matrix, StreamedHessian, Vector, dense_bytes, solver_of


class RestrictedHessian(Hessian):
    """Products and solves for matrices of the family. Gradients and solutions are members of it.

    Conjugate gradients stay inside by themselves. A dense solve is done in an orthonormal basis of the family, on the
    CPU: k x k numbers for a family of k dimensions.
    """

    def __init__(self, hessian: Hessian, subspace: Subspace) -> None:
        self.hessian, self.subspace, self.xp, self.inputs = hessian, subspace, hessian.xp, hessian.inputs
        self.products = 0
        self._solve: Callable[[Vector], Vector] | None = None

    def product(self, v: Matrix) -> Matrix:
        self.products += 1
        return self._inside(self.hessian.product(v))

    def dense(self, target: Matrix) -> Matrix:
        if isinstance(self.hessian, StreamedHessian):
            return self.hessian.dense(target)  # which raises: there is none
        return super().dense(target)

    def _inside(self, matrix: Matrix) -> Matrix:
        return self.subspace.projected(matrix, self.xp)

    def _kronecker(self) -> Callable[[Matrix], Matrix]:
        whole = self.hessian._kronecker()
        return lambda matrix: self._inside(whole(matrix))

    @cached_property
    def _axes(self) -> scipy.sparse.csr_array:
        d = self.inputs.shape[1]
        return scipy.sparse.csr_array(self.subspace.axes(d).reshape(-1, d * d))

    @cached_property
    def _matrix(self) -> Float64[np.ndarray, "k k"]:
        """H in the coordinates of the family: sum over mu of (A_i e_mu)^T C_mu (A_j e_mu), A_i the axes."""
        inputs, covariances = np.asarray(self.inputs), np.asarray(self.hessian.covariances)
        (n, d), k = inputs.shape, self._axes.shape[0]
        if not _is_small(k, d):
            return np.asarray(self._axes @ (self._axes @ matrix_of(inputs, covariances)).T)
        images = (self._axes.reshape(k * d, d) @ inputs.T).reshape(k, d, n).transpose(2, 0, 1)
        spread = images @ covariances
        return spread.transpose(1, 0, 2).reshape(k, n * d) @ images.transpose(1, 0, 2).reshape(k, n * d).T

    def _mean_of_diagonal(self) -> float:
        return float(np.trace(self._matrix)) / len(self._matrix)

    def _factorised_with(self, ridge: float) -> Callable[[Vector], Vector] | None:
        solve = solver_of(self._matrix.copy(), ridge)
        return solve and (lambda right: self.xp.asarray(self._axes.T @ solve(self._axes @ np.asarray(right))))


def restricted_bytes(n: int, d: int, k: int, xp: ModuleType) -> int:
    """Memory of a dense solve in a family of k dimensions."""
    to_form = 8 * 3 * n * (k * d + d**2) if _is_small(k, d) else dense_bytes(n, d, xp) + 8 * k * d**2
    return to_form + 8 * (k * d**2 + 3 * k**2)


def restricted_work(n: int, d: int, k: int) -> float:
    """Operations of a dense solve in a family of k dimensions."""
    return (n * k**2 * d if _is_small(k, d) else n * d**4 / 2 + 2 * d**4) + k**3 / 3


def _is_small(k: int, d: int) -> bool:
    """Whether it is less work to sum over the associations in the family than to make the d^2 x d^2 matrix."""
    return 2 * k**2 < d**3
