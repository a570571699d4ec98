"""Do multipliers prove that no W stores an instance? Proven bounds in float64. NumPy and SciPy only.

With a_i = (u_rho - u_target) e_mu^T for each pair i of an input and a rival, W stores the instance if <a_i, W> < 0 for
all i. By Gordan's theorem there is no such W if and only if R = sum lambda_i a_i is zero for some multipliers
lambda_i >= 0 that are not all zero. Those of a search leave a small R. But with H = sum lambda_i a_i a_i^T

    lambda'_i = lambda_i (1 - <a_i, H^-1 R>)   satisfy   sum lambda'_i a_i = R - H H^-1 R = 0   exactly,

and they are positive where the lambda_i are if max |a_i| |R| is below the smallest eigenvalue of H. So an upper bound
on |R| and a lower bound on that eigenvalue are a proof that nothing is storable, without a remainder.

A matrix less s has no eigenvalue below zero, but for the errors of rounding, if it has a Cholesky factorisation in
float64: these errors are at most gamma(k + 1) times the trace for k dimensions (Higham, ch. 10), and as much again for
the sums that the matrix is made of. H has d^2 dimensions, so first a cheaper bound is tried: H = sum C_mu (x) e_mu
e_mu^T with C_mu = sum lambda_i D_i D_i^T over the pairs of one input, D_i = u_rho - u_target; so if c_mu is below the
smallest eigenvalue of C_mu, then H is above 1 (x) sum c_mu e_mu e_mu^T, and all matrices are d x d. As |R| is only a
rounding error, such bounds have room for many orders of magnitude. H itself is needed where most rivals of an input
hardly weigh, which happens in few dimensions, and in small families.

In a linear family, P the projection onto it, the same is true of the matrices P a_i. Their coordinates are products
with axes of the family; the axes are known up to rounding, and how far each can be from the family is bounded, too.

Where H is singular, exact.py may have a proof.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

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
from loadstone.proofs.membership import distance_above, projected_norm_above
from loadstone.proofs.pairs import Pairs, has_tie, in_fewest_coordinates, pairs_of

#: For each dimension of the inputs, how many of them are looked at for the cheaper bound.
_INPUTS_A_DIMENSION = 4
#: Shorter sums are done in one block.
_SMALLEST_BLOCK = 128
#: How many numbers of the C_mu are in memory at the same time.
_NUMBERS_AT_A_TIME = 2**24


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
    if bounds_exclude_all(pairs if subspace else in_fewest_coordinates(pairs), subspace, most_bytes):
        return True
    return has_tie(pairs) or sums_to_zero(pairs, subspace) or corrected_exactly(pairs, subspace)


def bounds_exclude_all(pairs: Pairs, subspace: Subspace | None = None, most_bytes: int | None = None) -> bool:
    """Whether bounds on R and H prove it. In a subspace the pairs must have the coordinates that they were given in."""
    if 0 in (pairs.inputs.shape[1], pairs.outputs.shape[-1]):
        return False  # all inputs are zero, or all outputs are equal
    sums = _summed(pairs)
    if subspace is None:
        length = norm_above(np.abs(sums.residual) + sums.error)
    else:
        length = projected_norm_above(subspace, sums.residual) + norm_above(sums.error)
    if not np.isfinite(length * sums.longest):
        return False
    if _above_by_inputs(pairs) > SLACK * length * sums.longest:
        return True
    return _excluded_by_the_whole(pairs, sums, subspace, most_bytes)


class _Sums(NamedTuple):
    """residual, error: R = sum lambda_i D_i e^T, and how far each of its entries can be from the true one.
    longest: an upper bound on |a_i| = |D_i| |e|."""

    residual: Float64[np.ndarray, "b a"]
    error: Float64[np.ndarray, "b a"]
    longest: float


def _summed(pairs: Pairs) -> _Sums:
    n, (m, b) = len(pairs.inputs), pairs.outputs.shape[-2:]
    slopes, sizes, longest = np.empty((n, b)), np.empty((n, b)), np.empty(n)
    for mu in range(n):
        differences, weights = pairs.weighed(mu)
        slopes[mu], sizes[mu] = _in_blocks(weights, differences), weights @ np.abs(differences)
        longest[mu] = np.sqrt((differences**2).sum(axis=1).max())
    lengths = np.sqrt((pairs.inputs**2).sum(axis=1))
    error = gamma(_operations(n) + 1) * np.abs(slopes) + gamma(_operations(m) + 2) * sizes
    error = SLACK * error.T @ np.abs(pairs.inputs) + TINY
    return _Sums(_in_blocks(slopes.T, pairs.inputs), error, SLACK * float((longest * lengths).max()))


def _in_blocks(left: Float64[np.ndarray, "*rows k"], right: Float64[np.ndarray, "k columns"]) -> Float64[Any, "..."]:
    """A product that is added up in blocks, so that its error does not grow with k, but with the root of k."""
    block = _block(len(right))
    return sum(left[..., i : i + block] @ right[i : i + block] for i in range(0, len(right), block))


def _operations(k: int) -> int:
    """How many rounded operations there are at most on the way of each term of `_in_blocks` into its sum."""
    return _block(k) + -(-k // _block(k))


def _block(k: int) -> int:
    return max(_SMALLEST_BLOCK, math.isqrt(k))


def _spread(pairs: Pairs, mu: int) -> Float64[np.ndarray, "b b"]:
    """C_mu. Each of its terms is a product of three numbers, two of them rounded before, and at most m are added."""
    differences, weights = pairs.weighed(mu)
    return (weights[:, None] * differences).T @ differences


def _above_by_inputs(pairs: Pairs) -> float:
    """A lower bound on the smallest eigenvalue of H, from those of the C_mu of the inputs that weigh most."""
    (n, a), (m, b) = pairs.inputs.shape, pairs.outputs.shape[-2:]
    most = np.argsort(-pairs.multipliers.sum(axis=1), kind="stable")[: _INPUTS_A_DIMENSION * a]
    parts = np.array_split(most, -(-most.size * b**2 // _NUMBERS_AT_A_TIME))
    least = [_least_eigenvalues(np.stack([_spread(pairs, mu) for mu in part]), m + 5) for part in parts]
    inputs = pairs.inputs[most]
    return float(_least_eigenvalues(((inputs.T * np.concatenate(least)) @ inputs)[None], n + 3)[0])


def _least_eigenvalues(matrices: Float64[np.ndarray, "j k k"], operations: int) -> Float64[np.ndarray, "j"]:
    """Lower bounds on the smallest eigenvalues of positive semidefinite matrices, whose entries are sums of this many
    operations; 0 where none is proved. Half of each is given away to need a single factorisation."""
    size = matrices.shape[1]
    traces = np.trace(matrices, axis1=1, axis2=2)
    errors = SLACK * (gamma(operations) + 2 * gamma(size + 2)) * traces + TINY
    if not np.isfinite(traces).all():
        return np.zeros(len(matrices))
    shifts = np.linalg.eigvalsh(matrices)[:, 0] / 2
    hopeful = np.flatnonzero(shifts > errors)
    proved = [index for index in hopeful if _is_positive(matrices[index], shifts[index])]
    bounds = np.zeros(len(matrices))
    bounds[proved] = (shifts - errors)[proved]
    return bounds


def _is_positive(matrix: Float64[np.ndarray, "k k"], shift: float) -> bool:
    """Whether a matrix (overwritten) less a shift has a Cholesky factorisation."""
    matrix.flat[:: len(matrix) + 1] -= shift
    # The transpose is the same matrix, in the order that LAPACK wants: nothing is copied.
    return scipy.linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)[1] == 0


def _excluded_by_the_whole(pairs: Pairs, sums: _Sums, subspace: Subspace | None, most_bytes: int | None) -> bool:
    """Whether the smallest eigenvalue of H itself, or of P H P in a subspace, is above max |a_i| |R|."""
    (n, a), (m, b) = pairs.inputs.shape, pairs.outputs.shape[-2:]
    dimensions = a * b if subspace is None else subspace.dimension(a)
    if np.count_nonzero(pairs.multipliers) <= dimensions:
        return False  # fewer pairs than dimensions: H is singular
    needed = matrix_bytes(n, a, b) + (0 if subspace is None else 8 * dimensions * (a * b + dimensions))
    if needed > (half_of_free_memory() if most_bytes is None else most_bytes):
        raise TooLargeError(f"a proof that excludes smaller ones needs {in_units(needed)} of memory")
    matrix = matrix_of(pairs.inputs, np.stack([_spread(pairs, mu) for mu in range(n)]))
    trace = float(np.trace(matrix)) * SLACK
    # Each term of H is a product of five numbers, two of them rounded before, and n m terms are added.
    error = gamma(n + m + 12) * trace
    residual, residual_error, longest = sums.residual.ravel(), sums.error.ravel(), sums.longest
    length = norm_above(np.abs(residual) + residual_error)
    if subspace is not None:
        axes, distance = _axes(subspace, a)
        size = _norm_above(axes)
        matrix = np.asarray(axes @ (axes @ matrix).T)
        error = size**2 * (error + 2 * gamma(a * b + 2) * trace) + (2 * size + distance) * distance * trace
        rounding = SLACK * (abs(axes) @ (residual_error + gamma(a * b + 2) * np.abs(residual)))
        length = norm_above(np.abs(axes @ residual) + rounding) + distance * length
        longest *= size + distance
        trace = float(np.trace(matrix)) * SLACK
    error = SLACK * (error + 2 * gamma(dimensions + 2) * trace) + TINY
    needed_eigenvalue = SLACK * length * longest
    shift = 2 * (error + needed_eigenvalue)
    return bool(np.isfinite(trace) and shift < trace and _is_positive(matrix, shift))


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
