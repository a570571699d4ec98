"""The Hessian within a linear family: P H P, P the orthogonal projection onto it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import scipy.linalg
import scipy.sparse

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.solvers.hessian import Hessian, Matrix, StreamedHessian, Vector, dense_bytes, matrix_of


class RestrictedHessian(Hessian):
    """Products and solves for matrices of the family. Gradients and solutions are members of it.

    Conjugate gradients stay inside by themselves. A dense solve is done in an orthonormal basis of the family, on the
    CPU: k x k numbers for a family of k dimensions, once the d^2 x d^2 matrix has been made.
    """

    def __init__(self, hessian: Hessian, subspace: Subspace) -> None:
        self.hessian, self.subspace, self.xp = hessian, subspace, hessian.xp
        self.inputs = hessian.inputs
        self.products = 0
        self._solve: Callable[[Vector], Vector] | None = None

    def product(self, v: Matrix) -> Matrix:
        self.products += 1
        return self._inside(self.hessian.product(v))

    def dense(self, target: Matrix, refinements: int = 3) -> Matrix:
        if isinstance(self.hessian, StreamedHessian):
            return self.hessian.dense(target)  # which says that there is none
        return super().dense(target, refinements)

    def _inside(self, matrix: Matrix) -> Matrix:
        return self.subspace.projected(matrix, self.xp)

    def _kronecker(self) -> Callable[[Matrix], Matrix]:
        whole = self.hessian._kronecker()
        return lambda matrix: self._inside(whole(matrix))

    def _factorised(self) -> Callable[[Vector], Vector]:
        d = self.inputs.shape[1]
        axes = scipy.sparse.csr_array(self.subspace.axes(d).reshape(-1, d * d))
        whole = matrix_of(np.asarray(self.hessian.inputs), np.asarray(self.hessian.covariances))
        matrix = np.asarray(axes @ (axes @ whole).T)
        del whole
        scale = float(np.trace(matrix)) / len(matrix)
        for ridge in (1e-14 * scale, 1e-12 * scale, 1e-10 * scale):
            try:
                factor = scipy.linalg.cho_factor(matrix + ridge * np.eye(len(matrix)), lower=True, overwrite_a=True)
            except np.linalg.LinAlgError:
                continue
            solve = lambda right: axes.T @ scipy.linalg.cho_solve(factor, axes @ np.asarray(right))  # noqa: B023, E731
            return lambda right: self.xp.asarray(solve(right))
        raise np.linalg.LinAlgError("the Hessian is singular to working precision")


def restricted_bytes(n: int, d: int, k: int, xp: ModuleType) -> int:
    """Memory of a dense solve in a family of k dimensions."""
    return dense_bytes(n, d, xp) + 8 * (2 * k * d**2 + 3 * k**2)
