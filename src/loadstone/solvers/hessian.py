"""The Hessian of the cross-entropy, sum_mu C_mu (x) e_mu e_mu^T, and two ways to solve with it.

Its product with V is sum_mu C_mu V e_mu e_mu^T: 6 n d^2 operations. Conjugate gradients need only that. Near the
threshold they may stall, because the C_mu of different associations differ by orders of magnitude; then the d^2 x d^2
matrix is made (one product over pairs of components) and factorised, 8 d^4 bytes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from types import ModuleType

import jax
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float64

from loadstone.compiling import compiled
from loadstone.solvers.threads import all_threads

Matrix = Float64[np.ndarray, "d d"]


class Hessian:
    """Products and solves; V and gradients are d x d matrices."""

    def __init__(self, inputs: Float64[np.ndarray, "n d"], covariances: Float64[np.ndarray, "n d d"], xp: ModuleType):
        self.inputs, self.covariances, self.xp = inputs, covariances, xp
        self.products = 0
        self._solve = None

    def product(self, v: Matrix) -> Matrix:
        self.products += 1
        queries = self.inputs @ v.T
        return (self.covariances @ queries[:, :, None])[:, :, 0].T @ self.inputs

    def conjugate_gradients(self, target: Matrix, tolerance: float, most: int) -> tuple[Matrix, bool]:
        """Solve H V = target to a relative residual; whether it got there within `most` products.

        The preconditioner is the mean C times the mean e e^T: exact where all C_mu are alike.
        """
        xp = self.xp
        precondition = self._kronecker()
        v, rest = xp.zeros_like(target), target
        goal = tolerance * float(xp.linalg.norm(target))
        if goal == 0:
            return v, True
        direction = near = precondition(rest)
        size = float((rest * near).sum())
        for _ in range(most):
            image = self.product(direction)
            curvature = float((direction * image).sum())
            if not curvature > 0:
                return v, False
            v = v + (size / curvature) * direction
            rest = rest - (size / curvature) * image
            if float(xp.linalg.norm(rest)) <= goal:
                return v, True
            near = precondition(rest)
            size, before = float((rest * near).sum()), size
            if not size > 0:
                return v, False
            direction = near + (size / before) * direction
        return v, False

    def dense(self, target: Matrix, refinements: int = 3) -> Matrix:
        """Solve H V = target by a Cholesky factorisation, refined against the product."""
        if self._solve is None:
            with all_threads(len(target), self.xp):
                self._solve = self._factorised()
        solve = lambda right: self._solve(right.reshape(-1)).reshape(right.shape)  # noqa: E731
        v = solve(target)
        for _ in range(refinements):
            v = v + solve(target - self.product(v))
        return v

    def _kronecker(self) -> Callable[[Matrix], Matrix]:
        left = _inverse(self.covariances.mean(axis=0), self.xp)
        right = _inverse(self.inputs.T @ self.inputs, self.xp)
        return lambda matrix: left @ matrix @ right

    def _factorised(self) -> Callable[[Float64[np.ndarray, "d*d"]], Float64[np.ndarray, "d*d"]]:
        # A ridge lets directions through that no association sees, or none any more; refinement takes its effect out
        # elsewhere. It is raised until the factorisation succeeds.
        d = self.inputs.shape[1]
        scale = float((self.covariances.trace(axis1=1, axis2=2) * (self.inputs**2).sum(axis=1)).sum()) / d**2
        for ridge in (1e-14 * scale, 1e-12 * scale, 1e-10 * scale):
            matrix = _matrix(self.inputs, self.covariances, self.xp)
            if self.xp is not np:
                factor = _cholesky(matrix, ridge, d)
                if bool(self.xp.isfinite(factor[-1, -1])):
                    return lambda right: _cholesky_solve(factor, right, d)  # noqa: B023
                del matrix, factor  # there is no room for two
                continue
            matrix[np.arange(d**2), np.arange(d**2)] += ridge
            with contextlib.suppress(np.linalg.LinAlgError):
                factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
                return lambda right: scipy.linalg.cho_solve(factor, right, check_finite=False)
        raise np.linalg.LinAlgError("the Hessian is singular to working precision")


def _inverse(matrix: Matrix, xp: ModuleType) -> Matrix:
    """Inverse on the range: with fewer inputs or outputs than dimensions, nothing happens in the other directions."""
    values, vectors = xp.linalg.eigh(matrix)
    seen = values > 1e-12 * values[-1]
    return (vectors * xp.where(seen, 1 / xp.where(seen, values, 1.0), 0.0)[None, :]) @ vectors.T


def _matrix(
    inputs: Float64[np.ndarray, "n d"], covariances: Float64[np.ndarray, "n d d"], xp: ModuleType
) -> Float64[np.ndarray, "d*d d*d"]:
    """H[(i, j), (k, l)] = sum_mu C_mu[i, k] e_mu[j] e_mu[l]. Both factors are symmetric: only pairs i <= k, j <= l are
    multiplied, a quarter of the work."""
    d = inputs.shape[1]
    first, second = np.triu_indices(d)
    place = np.zeros((d, d), int)
    place[first, second] = place[second, first] = np.arange(len(first))
    packed = covariances[:, first, second].T @ (inputs[:, first] * inputs[:, second])
    if xp is np:
        whole = np.empty((d * d, d * d))
        for i in range(d):
            whole[i * d : (i + 1) * d] = packed[place[i]][:, place].transpose(1, 0, 2).reshape(d, d * d)
        return whole
    return _unpack(packed, xp.asarray(place))


@jax.jit
def _unpack(packed, place):
    d = place.shape[0]
    rows = jax.lax.map(lambda pairs: packed[pairs][:, place].transpose(1, 0, 2).reshape(d, d * d), place)
    return rows.reshape(d * d, d * d)


#: Rows of a tile, at most: the library's own routines would need room for a second matrix.
_MOST_ROWS = 5000


def _tile_rows(d: int, most: int) -> int:
    return d * next(count for count in range(max(1, min(d, most // d)), 0, -1) if d % count == 0)


@partial(compiled, static_argnames=("d", "most"), donate_argnums=0)
def _cholesky(
    matrix: Float64[Array, "d*d d*d"], ridge: float, d: int, most: int = _MOST_ROWS
) -> Float64[Array, "d*d d*d"]:
    """The factor L of L L^T on an accelerator, tile by tile in the place of the matrix. Its transpose is left on and
    above the diagonal, because the library takes columns that lie in a row; below stays what was.
    """
    size = _tile_rows(d, most)
    tiles = d * d // size
    tile = lambda a, i, j: jax.lax.dynamic_slice(a, (j * size, i * size), (size, size)).T  # noqa: E731
    put = lambda a, part, i, j: jax.lax.dynamic_update_slice(a, part.T, (j * size, i * size))  # noqa: E731

    def column(k, a):
        corner = jax.lax.linalg.cholesky(tile(a, k, k), symmetrize_input=False)

        def below(i, a):
            solved = jax.lax.linalg.triangular_solve(corner, tile(a, i, k), lower=True, transpose_a=True)
            return put(a, solved, i, k)

        def right(j, a):
            row = tile(a, j, k)
            down = lambda i, a: put(a, tile(a, i, j) - tile(a, i, k) @ row.T, i, j)  # noqa: E731
            return jax.lax.fori_loop(j, tiles, down, a)

        a = jax.lax.fori_loop(k + 1, tiles, below, put(a, corner, k, k))
        return jax.lax.fori_loop(k + 1, tiles, right, a)

    index = jax.numpy.arange(d * d)
    return jax.lax.fori_loop(0, tiles, column, matrix.at[index, index].add(ridge))


@partial(compiled, static_argnames=("d", "most"))
def _cholesky_solve(
    factor: Float64[Array, "d*d d*d"], right: Float64[Array, "d*d"], d: int, most: int = _MOST_ROWS
) -> Float64[Array, "d*d"]:
    """Solve L L^T x = right with what `_cholesky` left, reading whole rows of it only."""
    size = _tile_rows(d, most)
    tiles = d * d // size
    rows = lambda k: jax.lax.dynamic_slice(factor, (k * size, 0), (size, d * d))  # noqa: E731
    part = lambda vector, k: jax.lax.dynamic_slice(vector, (k * size,), (size,))  # noqa: E731
    put = lambda vector, piece, k: jax.lax.dynamic_update_slice(vector, piece, (k * size,))  # noqa: E731

    def solve(k, piece, transpose):
        corner = jax.lax.dynamic_slice(factor, (k * size, k * size), (size, size)).T
        options = {"left_side": True, "lower": True, "transpose_a": transpose}
        return jax.lax.linalg.triangular_solve(corner, piece[:, None], **options)[:, 0]

    def forward(k, rest):
        # Each solved piece replaces its right-hand side and is taken out of those after it.
        piece = solve(k, part(rest, k), transpose=False)
        after = jax.numpy.arange(d * d) >= (k + 1) * size
        return put(rest - jax.numpy.where(after, piece @ rows(k), 0.0), piece, k)

    def backward(count, solution):
        # What is not yet solved is zero, so that only the part after the corner counts.
        k = tiles - 1 - count
        return put(solution, solve(k, part(half, k) - rows(k) @ solution, transpose=True), k)

    half = jax.lax.fori_loop(0, tiles, forward, right)
    return jax.lax.fori_loop(0, tiles, backward, jax.numpy.zeros_like(right))
