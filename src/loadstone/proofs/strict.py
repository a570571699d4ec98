"""Do multipliers prove that no W stores an instance? Proven bounds in float64. NumPy and SciPy only.

With a_i = (u_rho - u_target) e_mu^T for each pair i of an input and a rival, W stores the instance if <a_i, W> < 0 for
all i. By Gordan's theorem there is no such W if and only if R = sum lambda_i a_i is zero for some multipliers
lambda_i >= 0 that are not all zero. Those of a search leave a small R. But with H = sum lambda_i a_i a_i^T

    lambda'_i = lambda_i (1 - <a_i, H^-1 R>)   satisfy   sum lambda'_i a_i = R - H H^-1 R = 0   exactly,

and they are positive where the lambda_i are if max |a_i| |R| is below the smallest eigenvalue of H. So an upper bound
on |R| and a lower bound on that eigenvalue are a proof that nothing is storable, without a remainder. The eigenvalue is
above s, less the errors of rounding, if H - s has a Cholesky factorisation in float64: these errors are at most
gamma(k + 1) times the trace for k dimensions (Higham, ch. 10), and as much again for the sums that H is made of.

In a linear family, P the projection onto it, the same is true of the matrices P a_i. Their coordinates are products
with axes of the family; the axes are known up to rounding, and how far each can be from the family is bounded, too.

If R is zero exactly, or there are few pairs, exact.py needs no bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from jaxtyping import Float64

from loadstone.free_memory import half_of_free_memory, in_units
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.proofs.arithmetic import SLACK, TINY, gamma, norm_above
from loadstone.proofs.curvature import matrix_bytes, matrix_of
from loadstone.proofs.exact import corrected_exactly, sums_to_zero
from loadstone.proofs.membership import distance_above
from loadstone.proofs.pairs import Pairs, has_tie, in_fewest_coordinates, pairs_of


class TooLargeError(Exception):
    """The proof needs more memory than there is; the message says how much."""


def excludes_all(
    arrays: Arrays,
    multipliers: Float64[np.ndarray, "n m"],
    subspace: Subspace | None = None,
    most_bytes: int | None = None,
) -> bool:
    """Whether these multipliers prove that no W, or none of a subspace, has all margins positive.

    most_bytes: of memory that it may take; None: half of what is free.
    """
    pairs = pairs_of(arrays, multipliers)
    if pairs is None:
        return False
    if has_tie(pairs):
        return True
    by_bounds = _bounds_exclude_all(pairs if subspace else in_fewest_coordinates(pairs), subspace, most_bytes)
    return by_bounds or sums_to_zero(pairs, subspace) or corrected_exactly(pairs, subspace)


def _bounds_exclude_all(pairs: Pairs, subspace: Subspace | None, most_bytes: int | None) -> bool:
    (n, a), (m, b) = pairs.inputs.shape, pairs.outputs.shape[-2:]
    dimensions = a * b if subspace is None else subspace.dimension(a)
    if np.count_nonzero(pairs.multipliers) <= dimensions:
        return False  # fewer pairs than dimensions: H is singular
    needed = matrix_bytes(n, a, b) + (0 if subspace is None else 8 * dimensions * (a * b + dimensions))
    if needed > (half_of_free_memory() if most_bytes is None else most_bytes):
        raise TooLargeError(f"a proof that excludes smaller ones needs {in_units(needed)} of memory")
    sums = _summed(pairs)
    matrix = matrix_of(pairs.inputs, sums.spreads)
    trace = float(np.trace(matrix)) * SLACK
    # Each term of H is a product of seven numbers, two of them rounded before, and n m terms are added.
    error = gamma(n + m + 12) * trace
    residual, residual_error = sums.residual.ravel(), sums.error.ravel()
    longest = sums.longest
    if subspace is None:
        length = norm_above(np.abs(residual) + residual_error)
    else:
        axes, distance = _axes(subspace, a)
        size = _norm_above(axes)
        matrix = np.asarray(axes @ (axes @ matrix).T)
        error += 2 * gamma(a * b + 2) * trace
        error = size**2 * error + (2 * size + distance) * distance * trace
        rounding = SLACK * (abs(axes) @ (residual_error + gamma(a * b + 2) * np.abs(residual)))
        length = norm_above(np.abs(axes @ residual) + rounding)
        length += distance * norm_above(np.abs(residual) + residual_error)
        longest *= size + distance
        trace = float(np.trace(matrix)) * SLACK
    error = SLACK * (error + 2 * gamma(dimensions + 2) * trace) + TINY
    wanted = SLACK * length * longest
    if not (np.isfinite(trace) and trace > 0 and wanted + error < trace):
        return False
    matrix[np.diag_indices_from(matrix)] -= 2 * (error + wanted)
    try:
        scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


class _Sums(NamedTuple):
    """What a proof adds up over all pairs i with multipliers lambda_i, input e and D_i = u_rho - u_target.

    spreads: for each input, sum lambda_i D_i D_i^T.
    residual, error: R = sum lambda_i D_i e^T, and how far each of its entries can be from the true one.
    longest: an upper bound on |D_i| |e|.
    """

    spreads: Float64[np.ndarray, "n b b"]
    residual: Float64[np.ndarray, "b a"]
    error: Float64[np.ndarray, "b a"]
    longest: float


def _summed(pairs: Pairs) -> _Sums:
    n, (m, b) = len(pairs.inputs), pairs.outputs.shape[-2:]
    spreads, slopes, sizes, longest = np.empty((n, b, b)), np.empty((n, b)), np.empty((n, b)), np.empty(n)
    for mu in range(n):
        used = pairs.multipliers[mu] > 0
        differences, weights = pairs.differences(mu)[used], pairs.multipliers[mu, used]
        spreads[mu] = (weights[:, None] * differences).T @ differences
        slopes[mu], sizes[mu] = weights @ differences, weights @ np.abs(differences)
        longest[mu] = np.sqrt((differences**2).sum(axis=1).max())
    lengths = np.sqrt((pairs.inputs**2).sum(axis=1))
    error = SLACK * (gamma(n + 3) * np.abs(slopes) + gamma(m + 4) * sizes).T @ np.abs(pairs.inputs) + TINY
    return _Sums(spreads, slopes.T @ pairs.inputs, error, SLACK * float((longest * lengths).max()))


def _axes(subspace: Subspace, d: int) -> tuple[scipy.sparse.csr_array | Float64[np.ndarray, "k dd"], float]:
    """Matrices as rows, and a bound on the distance of all of them together from matrices that span the subspace if
    they are independent."""
    if isinstance(subspace, Given):
        return subspace.scaled_basis.reshape(-1, d * d), 0.0
    axes = subspace.axes(d)
    distance = norm_above(np.array([distance_above(subspace, axis) for axis in axes]))
    return scipy.sparse.csr_array(axes.reshape(-1, d * d)), distance


def _norm_above(axes: scipy.sparse.csr_array | Float64[np.ndarray, "k dd"]) -> float:
    """An upper bound on the spectral norm of the absolute values, from the largest sums over rows and columns."""
    sizes = abs(axes)
    return float(np.sqrt(sizes.sum(axis=0).max() * sizes.sum(axis=1).max())) * SLACK
