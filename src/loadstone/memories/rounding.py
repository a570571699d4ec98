"""Margins and residuals with proven bounds on their rounding errors. NumPy only.

A sum or inner product of n terms that is computed in float64, in any order, with or without fused operations, differs
from the true one by at most gamma(n) times the sum of the absolute values of its terms, gamma(n) = n u / (1 - n u),
u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3). Those sums of absolute values are themselves
computed, with a relative error far below one per cent: SLACK covers it. Instances are float32 or float64 numbers and
enter exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float64

from loadstone.problems.arrays import Arrays

_UNIT = 2.0**-53
SLACK = 1.01
#: Covers results below the range of normal numbers, whose errors are absolute.
_TINY = 1e-290
_NUMBERS_AT_A_TIME = 2**24


def least_margin(arrays: Arrays, weights: Float64[np.ndarray, "d d"]) -> float:
    """A number that is not above the smallest margin of W: if it is positive, W stores every association."""
    weights = np.asarray(weights, np.float64)
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
        if not smallest > -np.inf:  # also where the product overflowed
            return -np.inf
        least = min(least, float(smallest))
    return least


def margin_bound(arrays: Arrays, multipliers: Float64[np.ndarray, "n m"]) -> float:
    """A number that no W of unit norm has all of its margins above, proved by these non-negative multipliers.

    With R = sum over mu and rivals rho of lambda_{mu rho} (u_rho - u_target) e_mu^T, the margins of W satisfy
    sum lambda margin = -<R, W> <= |R|_F, so the least of them is at most |R|_F / sum lambda. Targets have no weight.
    """
    n, d = arrays.inputs.shape
    m = multipliers.shape[1]
    residual, error, total = np.zeros((d, d)), np.zeros((d, d)), 0.0
    first = 0
    for rows, inputs, outputs, targets in _blocks(arrays):
        weight = np.array(multipliers[first : first + rows], np.float64)
        first += rows
        weight[np.arange(rows), targets] = 0
        own = (outputs[np.arange(rows), targets] if outputs.ndim == 3 else outputs[targets]).astype(np.float64)
        sums = weight.sum(axis=1)
        slope = _averaged(weight, outputs) - sums[:, None] * own
        size = _averaged(weight, np.abs(outputs)) + sums[:, None] * np.abs(own)
        slope_error = gamma(m + 4) * SLACK * size + _TINY
        residual += slope.T @ inputs
        error += SLACK * (gamma(n + 4) * np.abs(slope) + slope_error).T @ np.abs(inputs) + _TINY
        total += float(sums.sum())
    if not total > 0:
        return np.inf
    norm = float(np.linalg.norm(np.abs(residual) + SLACK * error)) * (1 + gamma(d * d + 8))
    bound = norm / total * (1 + gamma(n * m + 8) * SLACK)
    return bound if np.isfinite(bound) else np.inf


def scale(arrays: Arrays) -> float:
    """Longest input times longest output: no W of unit norm has a score above it."""
    lengths = (np.linalg.norm(np.asarray(part, np.float64), axis=-1).max() for part in (arrays.inputs, arrays.outputs))
    return float(np.prod(list(lengths)))


def gamma(n: int) -> float:
    """n u / (1 - n u), the relative error of n rounded operations."""
    return n * _UNIT / (1 - n * _UNIT)


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
