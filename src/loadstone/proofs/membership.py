"""How far a matrix can be from a subspace, and how long its projection can be: proven bounds. NumPy only.

A family says by how much its computed projection may be off (`operations`). A subspace that is given by a basis B (its
matrices as rows) is different, because there the projection itself is computed from rounded numbers. For it

- |P M| <= |B M| / s, s the smallest singular value of B: the products B M are bounded as all sums are. s^2 is the
  smallest eigenvalue of B B^T, and it is above any c for which B B^T - c has a Cholesky factorisation, less the error
  of that factorisation, at most gamma(k + 1) times the trace (Higham, ch. 10);
- the distance of M is at most |M - sum x_i B_i|, whatever the x_i are.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.proofs.arithmetic import SLACK, TINY, gamma, norm_above

#: A witness may be so far outside of its family, relative to its norm: not more than rounding can explain.
_ROUNDING = 1e-9


def is_member(subspace: Subspace, matrix: Float64[np.ndarray, "d d"]) -> bool:
    """Whether a matrix, whose largest entry is about 1, lies in a subspace but for rounding."""
    return distance_above(subspace, matrix) <= _ROUNDING * float(np.linalg.norm(matrix))


def distance_above(subspace: Subspace, matrix: Float64[np.ndarray, "d d"]) -> float:
    """An upper bound on the distance of a matrix from a subspace; 0 if the matrix is a member exactly."""
    if isinstance(subspace, Given):
        return _distance_from_span(_rows(subspace), matrix.ravel())
    if subspace.contains(matrix):
        return 0.0
    difference = norm_above(matrix - subspace.projected(matrix)) * (1 + gamma(2))
    return difference + _projection_error(subspace, matrix)


def projected_norm_above(subspace: Subspace, matrix: Float64[np.ndarray, "d d"]) -> float:
    """An upper bound on the norm of the projection of a matrix."""
    if isinstance(subspace, Given):
        return _norm_in_span(_rows(subspace), matrix.ravel())
    return norm_above(subspace.projected(matrix)) + _projection_error(subspace, matrix)


def _projection_error(subspace: Subspace, matrix: Float64[np.ndarray, "d d"]) -> float:
    operations = subspace.operations(len(matrix))
    return SLACK * gamma(operations) * norm_above(matrix) + TINY if operations else 0.0


def _rows(subspace: Given) -> Float64[np.ndarray, "k entries"]:
    return subspace.scaled_basis.reshape(len(subspace.basis), -1)


def _distance_from_span(rows: Float64[np.ndarray, "k entries"], vector: Float64[np.ndarray, "entries"]) -> float:
    combination = np.linalg.lstsq(rows.T, vector, rcond=None)[0]
    if not np.isfinite(combination).all():
        return np.inf
    error = SLACK * gamma(len(rows) + 2) * (np.abs(combination) @ np.abs(rows) + np.abs(vector)) + TINY
    return norm_above(np.abs(vector - combination @ rows) + error) * (1 + gamma(4))


def _norm_in_span(rows: Float64[np.ndarray, "k entries"], vector: Float64[np.ndarray, "entries"]) -> float:
    error = SLACK * gamma(len(vector) + 2) * (np.abs(rows) @ np.abs(vector)) + TINY
    least = _smallest_singular_value_below(rows)
    return norm_above(np.abs(rows @ vector) + error) / least * (1 + gamma(4)) if least > 0 else np.inf


def _smallest_singular_value_below(rows: Float64[np.ndarray, "k entries"]) -> float:
    """A lower bound on it; 0 if none is proved."""
    gram = rows @ rows.T
    shift = np.linalg.eigvalsh(gram)[0] / 2
    try:
        np.linalg.cholesky(gram - shift * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return 0.0
    # The errors of the products, of the subtraction, and of the factorisation.
    error = SLACK * (gamma(rows.shape[1] + 2) + gamma(2) + gamma(len(gram) + 2)) * np.trace(gram) + TINY
    return float(np.sqrt(max(0.0, shift - error))) * (1 - gamma(4))
