"""The Hessian of the cross-entropy, sum_mu C_mu (x) e_mu e_mu^T, and two ways to solve with it.

Its product with V is sum_mu C_mu V e_mu e_mu^T: 6 n d^2 operations. Conjugate gradients need only that. Near the
threshold they may stall, because the C_mu of different associations differ by orders of magnitude; then the d^2 x d^2
matrix is formed (one product over pairs of components) and factorised by the library, with memory of `dense_bytes`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import jax
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float64

from loadstone.compiling import compiled
from loadstone.problems.numpy_pass import ExactPass, Numbers
from loadstone.proofs.curvature import matrix_of
from loadstone.threads import all_threads

#: How often a dense solution is corrected by the residual that it leaves.
_REFINEMENTS = 3

Matrix = Float64[Numbers, "d d"]
Vector = Float64[Numbers, "entries"]


def dense_bytes(n: int, d: int, xp: ModuleType) -> int:
    """Memory of a dense solve: on a CPU the matrix and a packed copy of a quarter of it, on an accelerator two
    matrices; and in either case the covariances with the arrays that they are computed from."""
    matrices = 5 * d**4 // 4 if xp is np else 2 * d**4
    return 8 * (matrices + 3 * n * d**2)


def matrices_bytes(n: int, m: int, d: int) -> int:
    """Memory of the covariances, of the arrays that they are computed from, and of a few arrays of scores."""
    return 8 * (3 * n * d**2 + m * d**2 // 2 + scores_bytes(n, m) // 8)


def scores_bytes(n: int, m: int) -> int:
    """Memory of the arrays of scores that exist at the same time."""
    return 8 * 8 * n * m


class Hessian:
    """Products and solves; V and gradients are d x d matrices."""

    def __init__(self, inputs: Float64[Numbers, "n d"], covariances: Float64[Numbers, "n d d"], xp: ModuleType) -> None:
        self.inputs, self.covariances, self.xp = inputs, covariances, xp
        self.products = 0
        self._solve: Callable[[Vector], Vector] | None = None

    def product(self, v: Matrix) -> Matrix:
        self.products += 1
        queries = self.inputs @ v.T
        return (self.covariances @ queries[:, :, None])[:, :, 0].T @ self.inputs

    def conjugate_gradients(
        self, target: Matrix, tolerance: float, most: int, look: Callable[[], None] = lambda: None
    ) -> tuple[Matrix, bool]:
        """Solve H V = target to a relative residual of `tolerance`, and say whether `most` products were enough.

        The preconditioner is the mean C times the mean e e^T, which is exact if all C_mu are equal. `look` is called
        before each product, and may raise an exception if time is up.
        """
        xp = self.xp
        precondition = self._kronecker()
        v, residual = xp.zeros_like(target), target
        goal = tolerance * float(xp.linalg.norm(target))
        if goal == 0:
            return v, True
        direction = scaled = precondition(residual)
        size = float((residual * scaled).sum())
        for _ in range(most):
            look()
            image = self.product(direction)
            curvature = float((direction * image).sum())
            if not curvature > 0:
                return v, False
            v = v + (size / curvature) * direction
            residual = residual - (size / curvature) * image
            if float(xp.linalg.norm(residual)) <= goal:
                return v, True
            scaled = precondition(residual)
            size, before = float((residual * scaled).sum()), size
            if not size > 0:
                return v, False
            direction = scaled + (size / before) * direction
        return v, False

    def dense(self, target: Matrix) -> Matrix:
        """Solve H V = target by a Cholesky factorisation, refined against the product."""
        if self._solve is None:
            with all_threads(len(target), self.xp):
                self._solve = self._factorised()
        of_vector = self._solve
        solve = lambda right: of_vector(right.reshape(-1)).reshape(right.shape)  # noqa: E731
        v = solve(target)
        for _ in range(_REFINEMENTS):
            v = v + solve(target - self.product(v))
        return v

    def _mean_covariance(self) -> Matrix:
        return self.covariances.mean(axis=0)

    def _kronecker(self) -> Callable[[Matrix], Matrix]:
        left = _inverse(self._mean_covariance(), self.xp)
        right = _inverse(self.inputs.T @ self.inputs, self.xp)
        return lambda matrix: left @ matrix @ right

    def _factorised(self) -> Callable[[Vector], Vector]:
        # H vanishes in directions on which no association depends, or no longer does. A ridge makes it invertible
        # there, and refinement removes its effect elsewhere. It is raised until the factorisation succeeds.
        scale = self._mean_of_diagonal()
        for ridge in (1e-14 * scale, 1e-12 * scale, 1e-10 * scale):
            if (solve := self._factorised_with(ridge)) is not None:
                return solve
        raise np.linalg.LinAlgError("the Hessian is singular to working precision")

    def _mean_of_diagonal(self) -> float:
        traces, squares = self.covariances.trace(axis1=1, axis2=2), (self.inputs**2).sum(axis=1)
        return float((traces * squares).sum()) / self.inputs.shape[1] ** 2

    def _factorised_with(self, ridge: float) -> Callable[[Vector], Vector] | None:
        if self.xp is not np:
            factor = _factor_on_device(self.inputs, self.covariances, ridge)
            if not bool(self.xp.isfinite(factor[-1, -1])):
                return None
            return lambda right: _solve_on_device(factor, right)
        return solver_of(matrix_of(np.asarray(self.inputs), np.asarray(self.covariances)), ridge)


class StreamedHessian(Hessian):
    """A Hessian without the matrices C_mu, which need n d^2 numbers: a product takes two products with all outputs.

    C_mu is the spread of the outputs of mu about a centre c_mu: sum over rho of weight (u_rho - c_mu) (u_rho - c_mu)^T.
    """

    def __init__(
        self,
        exact: ExactPass,
        weights: Float64[Numbers, "n m"],
        sums: Float64[Numbers, "n d"],
        centres: Float64[Numbers, "n d"],
    ) -> None:
        self.inputs, self.xp, self.exact = exact.inputs, exact.xp, exact
        self.weights, self.sums, self.centres, self.totals = weights, sums, centres, weights.sum(axis=1)[:, None]
        self.products = 0

    def product(self, v: Matrix) -> Matrix:
        self.products += 1
        queries = self.inputs @ v.T
        image = self.exact.mean(self.weights * self.exact.scores(v))
        along_centre = (self.centres * queries).sum(axis=1, keepdims=True)
        along_sum = (self.sums * queries).sum(axis=1, keepdims=True)
        image = image - self.sums * along_centre + self.centres * (self.totals * along_centre - along_sum)
        return image.T @ self.inputs

    def dense(self, target: Matrix) -> Matrix:
        raise np.linalg.LinAlgError("without the matrices there is no dense solve")

    def _mean_covariance(self) -> Matrix:
        of_squares = self.exact.summed_squares(self.weights)
        mixed = self.sums.T @ self.centres
        about = of_squares - mixed - mixed.T + (self.totals * self.centres).T @ self.centres
        return about / self.inputs.shape[0]


def _inverse(matrix: Matrix, xp: ModuleType) -> Matrix:
    """Inverse on the range: with fewer inputs or outputs than dimensions, the other directions stay zero."""
    values, vectors = xp.linalg.eigh(matrix)
    seen = values > 1e-12 * values[-1]
    return (vectors * xp.where(seen, 1 / xp.where(seen, values, 1.0), 0.0)[None, :]) @ vectors.T


def solver_of(matrix: Float64[np.ndarray, "k k"], ridge: float) -> Callable[[Vector], Vector] | None:
    """A function that solves with a matrix (overwritten) plus a ridge; None if there is no Cholesky factor."""
    matrix[np.diag_indices_from(matrix)] += ridge
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return lambda right: scipy.linalg.cho_solve(factor, right, check_finite=False)


@compiled
def _factor_on_device(
    inputs: Float64[Array, "n d"], covariances: Float64[Array, "n d d"], ridge: float
) -> Float64[Array, "entries entries"]:
    """The Cholesky factor of H plus a ridge; not finite if there is none. Needs memory for two such matrices."""
    n, d = inputs.shape
    pairs = (inputs[:, :, None] * inputs[:, None, :]).reshape(n, d * d)
    matrix = (covariances.reshape(n, d * d).T @ pairs).reshape(d, d, d, d).swapaxes(1, 2).reshape(d * d, d * d)
    index = jax.numpy.arange(d * d)
    return jax.scipy.linalg.cho_factor(matrix.at[index, index].add(ridge), lower=True)[0]


@compiled
def _solve_on_device(
    factor: Float64[Array, "entries entries"], right: Float64[Array, "entries"]
) -> Float64[Array, "entries"]:
    # If it were not compiled as one program, this would need memory for four matrices.
    return jax.scipy.linalg.cho_solve((factor, True), right)
