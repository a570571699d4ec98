"""Margins and residuals with proven bounds on their rounding errors. NumPy only.

A sum or inner product of n terms that is computed in float64, in any order, with or without fused operations, differs
from the true one by at most gamma(n) times the sum of the absolute values of its terms, gamma(n) = n u / (1 - n u),
u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3). Those sums of absolute values are themselves
computed, with a relative error far below one per cent: SLACK covers it. Assumed are IEEE arithmetic with subnormal
numbers and products that multiply and add (no Strassen). Instances are float32 or float64 numbers and enter exactly.
Witnesses and multipliers are first scaled by a power of two, which changes nothing that they prove, so that nothing
under- or overflows on their account; what overflows on account of the instance proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from loadstone.problems.arrays import Arrays

_UNIT = 2.0**-53
SLACK = 1.01
#: Covers results below the range of normal numbers, whose errors are absolute.
_TINY = 1e-290
_NUMBERS_AT_A_TIME = 2**24


class Bound(NamedTuple):
    """What multipliers prove: no W of unit norm has all margins above `margin`, nor all of them above `cosine` times
    |u_rho - u_target| |e_mu|, the largest that the margin can be."""

    margin: float
    cosine: float


NOTHING = Bound(np.inf, np.inf)


def least_margin(arrays: Arrays, weights: Float64[np.ndarray, "d d"]) -> float:
    """A number that is not above the smallest margin of W / |W|: if it is positive, W stores every association."""
    weights = _scaled(np.asarray(weights, np.float64))
    norm = norm_above(weights)
    if not (np.isfinite(norm) and norm > 0):
        return -np.inf
    d = weights.shape[0]
    least = np.inf
    for rows, inputs, outputs, targets in _blocks(arrays):
        queries = inputs @ weights.T
        query_error = gamma(d) * SLACK * (np.abs(inputs) @ np.abs(weights).T) + _TINY
        scores = _against(outputs, queries)
        error = _against(np.abs(outputs), gamma(d) * SLACK * np.abs(queries) + query_error) * SLACK + _TINY
        index = np.arange(rows)
        difference = scores[index, targets][:, None] - scores
        below = difference - SLACK * (error[index, targets][:, None] + error + _UNIT * np.abs(difference))
        below[index, targets] = np.inf
        smallest = below.min()
        if not smallest > -np.inf:  # also where a product overflowed
            return -np.inf
        least = min(least, float(smallest))
    # The quotient is rounded once, and the loop's last subtraction once.
    return least / norm * (1 - gamma(4)) if least > 0 else least


def margin_bound(arrays: Arrays, multipliers: Float64[np.ndarray, "n m"]) -> Bound:
    """What these non-negative multipliers prove; NOTHING if they prove nothing.

    With R = sum over mu and rivals rho of lambda_{mu rho} (u_rho - u_target) e_mu^T, the margins of W satisfy
    sum lambda margin = -<R, W> <= |R|_F, so the least of them is at most |R|_F / sum lambda, and the least share of its
    largest value at most |R|_F / sum lambda |u_rho - u_target| |e_mu|. Targets have no weight.
    """
    n, d = arrays.inputs.shape
    m = multipliers.shape[1]
    multipliers = np.array(multipliers, np.float64)
    multipliers[np.arange(n), arrays.targets] = 0
    if not np.isfinite(multipliers).all() or (multipliers < 0).any() or not multipliers.any():
        return NOTHING
    if _ties(arrays, multipliers):
        return Bound(0.0, 0.0)
    multipliers = _scaled(multipliers)
    residual, error, total, reach = np.zeros((d, d)), np.zeros((d, d)), 0.0, 0.0
    first = 0
    for rows, inputs, outputs, targets in _blocks(arrays):
        weight = multipliers[first : first + rows]
        first += rows
        own = outputs[np.arange(rows), targets] if outputs.ndim == 3 else outputs[targets]
        sums = weight.sum(axis=1)
        slope = _averaged(weight, outputs) - sums[:, None] * own
        size = _averaged(weight, np.abs(outputs)) + sums[:, None] * np.abs(own)
        slope_error = gamma(m + 4) * SLACK * size + _TINY
        residual += slope.T @ inputs
        error += SLACK * (gamma(n + 4) * np.abs(slope) + slope_error).T @ np.abs(inputs) + _TINY
        total += float(sums.sum())
        reach += float(((weight * _distances_below(outputs, own)).sum(axis=1) * _lengths(inputs)).sum())
    norm = norm_above(np.abs(residual) + SLACK * error)
    few = 1 + gamma(n * m + d + 16) * SLACK
    if not (np.isfinite(norm) and np.isfinite(total) and np.isfinite(reach) and total > 0):
        return NOTHING
    return Bound(norm / total * few, norm / reach * few if reach > 0 else np.inf)


def certifies(bound: Bound, arrays: Arrays) -> bool:
    """Whether a bound counts as 'not storable': its cosine is zero but for rounding at this number of terms."""
    return bound.cosine <= 1e-13 + 8 * gamma(len(arrays.targets) + arrays.outputs.shape[-2])


def certain_tie(arrays: Arrays) -> tuple[int, int] | None:
    """An input and a rival that no W can tell from the target: the input is zero, or the two outputs are equal."""
    zero = np.flatnonzero(~arrays.inputs.any(axis=1))
    if len(zero):
        return int(zero[0]), int(arrays.targets[zero[0]] == 0)
    own = arrays.target_outputs
    if not arrays.own:
        _, first, inverse = np.unique(arrays.outputs, axis=0, return_index=True, return_inverse=True)
        twin = first[inverse.ravel()]  # the first output equal to each
        pairs = np.flatnonzero(twin != np.arange(len(twin)))
        for place in pairs:
            found = np.flatnonzero((arrays.targets == place) | (arrays.targets == twin[place]))
            if len(found):
                target = arrays.targets[found[0]]
                return int(found[0]), int(twin[place] if target == place else place)
        return None
    for mu in range(len(own)):
        same = np.flatnonzero((arrays.outputs[mu] == own[mu]).all(axis=1))
        if len(same) > 1:
            return mu, int(same[same != arrays.targets[mu]][0])
    return None


def norm_above(matrix: np.ndarray) -> float:
    """A number not below the Euclidean norm of all entries, and hardly above it; free of under- and overflow."""
    top = float(np.abs(matrix).max())
    if not (np.isfinite(top) and top > 0):
        return top
    return top * (float(np.linalg.norm(matrix / top)) * (1 + SLACK * gamma(matrix.size + 8)) + 1e-150)


def gamma(n: int) -> float:
    """n u / (1 - n u), the relative error of n rounded operations."""
    return n * _UNIT / (1 - n * _UNIT)


def _scaled(array: np.ndarray) -> np.ndarray:
    """Times the power of two that brings its largest entry into [1/2, 1)."""
    top = float(np.abs(array).max())
    return np.ldexp(array, -int(np.frexp(top)[1])) if np.isfinite(top) and top > 0 else array


def _ties(arrays: Arrays, multipliers: np.ndarray) -> bool:
    """Whether a pair with a positive multiplier is an exact tie: then 0 > 0 is among the inequalities themselves."""
    tie = certain_tie(arrays)
    return tie is not None and multipliers[tie] > 0


def _distances_below(outputs: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Numbers that are not above |u_rho - u_target|."""
    d = own.shape[1]
    squares = (outputs**2).sum(axis=-1)
    own_squares = (own**2).sum(axis=1)[:, None]
    size = squares if outputs.ndim == 3 else squares[None, :]
    square = size + own_squares - 2 * _against(outputs, own)
    return np.sqrt(np.maximum(0, square - 4 * SLACK * gamma(d + 4) * (size + own_squares)) * (1 - gamma(8)))


def _lengths(vectors: np.ndarray) -> np.ndarray:
    """Numbers that are not above the lengths of the rows."""
    return np.sqrt((vectors**2).sum(axis=1)) * (1 - 2 * gamma(vectors.shape[1] + 4))


def _blocks(arrays: Arrays) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """A few inputs at a time, with their outputs and targets, as float64."""
    n, d = arrays.inputs.shape
    m = arrays.outputs.shape[-2]
    rows = max(1, _NUMBERS_AT_A_TIME // (m * d if arrays.own else m))
    shared = None if arrays.own else arrays.outputs.astype(np.float64)
    for first in range(0, n, rows):
        part = slice(first, min(first + rows, n))
        outputs = arrays.outputs[part].astype(np.float64) if arrays.own else shared
        yield part.stop - first, arrays.inputs[part].astype(np.float64), outputs, arrays.targets[part]


def _against(outputs: np.ndarray, queries: np.ndarray) -> np.ndarray:
    return (outputs @ queries[:, :, None])[:, :, 0] if outputs.ndim == 3 else queries @ outputs.T


def _averaged(weights: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return (weights[:, None, :] @ outputs)[:, 0, :] if outputs.ndim == 3 else weights @ outputs
