"""Margins and residuals with proven bounds on their rounding errors. NumPy only.

What is known of rounded sums is in arithmetic.py. Instances are float32 or float64 numbers and are taken as exact.

Storability does not change when an input, or all outputs that compete for it, are multiplied by a positive number. So
every input, the outputs, the witness and the multipliers are first multiplied by powers of two that bring their
largest entries into [1/2, 1). After that nothing can overflow, and all that underflows adds up to less than TINY.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.proofs.arithmetic import SLACK, TINY, UNIT, gamma, norm_above
from loadstone.proofs.membership import distance_above, projected_norm_above
from loadstone.proofs.scaling import exponent_of, multipliers_of_scaled, scaled, times_power

_NUMBERS_AT_A_TIME = 2**24


class Bound(NamedTuple):
    """What multipliers prove about the margins of every W of unit norm.

    margin: the smallest is at most this, in the units of the instance.
    share: the smallest ratio of a margin to |u_target - u_rho| |e_mu|, the largest that it can be, is at most this.
    """

    margin: float
    share: float


#: The bound of multipliers that exclude no W.
NOTHING_EXCLUDED = Bound(np.inf, np.inf)


def is_rounding(bound: Bound, arrays: Arrays) -> bool:
    """Whether a bound is zero but for rounding in sums of this many terms. That alone excludes no W whose margins are
    smaller still: strict.py does."""
    return bound.share <= 1e-13 + 8 * gamma(len(arrays.targets) + arrays.outputs.shape[-2])


def least_margin(arrays: Arrays, weights: Float64[np.ndarray, "d d"], subspace: Subspace | None = None) -> float:
    """A lower bound on the smallest margin of W / |W|: minus infinity if it is not proved to be positive, and zero if
    it is, but below all numbers of float64.

    With a subspace they are those of its member nearest to W. It is no longer than W, and if W is a distance D away
    from it, its margins are smaller by at most D |u_target - u_rho| |e_mu|.
    """
    weights = scaled(np.asarray(weights, np.float64))[0]
    norm = norm_above(weights)
    if not (np.isfinite(norm) and norm > 0):
        return -np.inf
    distance = 0.0 if subspace is None else distance_above(subspace, weights)
    d = weights.shape[0]
    least = np.inf
    for block in _blocks(arrays, *_exponents(arrays)):
        inputs, outputs = block.inputs, block.outputs
        queries = inputs @ weights.T
        query_error = gamma(d) * SLACK * (np.abs(inputs) @ np.abs(weights).T) + TINY
        scores = _against(outputs, queries)
        error = _against(np.abs(outputs), gamma(d) * SLACK * np.abs(queries) + query_error) * SLACK + TINY
        target = np.arange(len(inputs)), block.targets
        difference = scores[target][:, None] - scores
        below = difference - SLACK * (error[target][:, None] + error + UNIT * np.abs(difference))
        if distance:
            largest = _distances(block)[1] * _lengths(inputs)[1][:, None]
            below -= SLACK * (distance * largest + UNIT * np.abs(below))
        below[target] = np.inf
        smallest = below.min(axis=1)
        if not (smallest > 0).all():
            return -np.inf
        # The last subtraction and the quotient were rounded, too.
        with np.errstate(over="ignore"):
            margins = np.ldexp(smallest / norm * (1 - gamma(8)), block.exponents)
        least = min(least, float(margins.min()))
    # Take the next number below, because `ldexp` rounds a tiny result, and overflows at a huge one.
    return float(np.nextafter(min(least, np.finfo(float).max), 0))


def margin_bound(arrays: Arrays, multipliers: Float64[np.ndarray, "n m"], subspace: Subspace | None = None) -> Bound:
    """What these non-negative multipliers prove about every W of unit norm; NOTHING_EXCLUDED if they prove nothing.

    With R = sum over mu and rivals rho of lambda_{mu rho} (u_rho - u_target) e_mu^T, the margins of W satisfy
    sum lambda margin = -<R, W> <= |R|_F, so the least of them is at most |R|_F / sum lambda, and the least share of its
    largest value at most |R|_F / sum lambda |u_rho - u_target| |e_mu|. Targets have no weight.

    For a W of a subspace <R, W> = <P R, W>, so |P R|_F takes the place of |R|_F; P is the orthogonal projection.
    """
    n, d = arrays.inputs.shape
    m = arrays.outputs.shape[-2]
    multipliers = np.array(multipliers, np.float64)
    multipliers[np.arange(n), arrays.targets] = 0
    if not np.isfinite(multipliers).all() or (multipliers < 0).any() or not multipliers.any():
        return NOTHING_EXCLUDED
    if _is_tie(arrays, multipliers):
        return Bound(0.0, 0.0)
    of_inputs, of_outputs = _exponents(arrays)
    exponents = of_inputs + of_outputs
    multipliers = multipliers_of_scaled(multipliers, exponents)
    residual, error, reach = np.zeros((d, d)), np.zeros((d, d)), 0.0
    first = 0
    for block in _blocks(arrays, of_inputs, of_outputs):
        inputs, outputs = block.inputs, block.outputs
        weight = multipliers[first : first + len(inputs)]
        first += len(inputs)
        targets, sums = block.target_outputs, weight.sum(axis=1)
        slope = _averaged(weight, outputs) - sums[:, None] * targets
        size = _averaged(weight, np.abs(outputs)) + sums[:, None] * np.abs(targets)
        slope_error = gamma(m + 4) * SLACK * size + TINY
        residual += slope.T @ inputs
        error += SLACK * (gamma(n + 4) * np.abs(slope) + slope_error).T @ np.abs(inputs) + TINY
        reach += float(((weight * _distances(block)[0]).sum(axis=1) * _lengths(inputs)[0]).sum())
    if subspace is None:
        norm = norm_above(np.abs(residual) + SLACK * error)
    else:
        norm = projected_norm_above(subspace, residual) + norm_above(SLACK * error)
    norm *= 1 + gamma(n * m + d + 16) * SLACK
    reach -= TINY
    return Bound(_divided(norm, multipliers.sum(axis=1), exponents), norm / reach if reach > 0 else np.inf)


def certain_tie(arrays: Arrays) -> tuple[int, int] | None:
    """An input and a rival that ties with the target under every W: the input is zero, or the two outputs are equal."""
    zero = np.flatnonzero(~arrays.inputs.any(axis=1))
    if len(zero):
        return int(zero[0]), int(arrays.targets[zero[0]] == 0)
    if not arrays.decoupled:
        # Adding 0 turns -0 into 0; `unique` would treat them as different.
        _, first, inverse = np.unique(arrays.outputs + 0, axis=0, return_index=True, return_inverse=True)
        twin = first[inverse.ravel()]  # the first output equal to each
        for index in np.flatnonzero(twin != np.arange(len(twin))):
            rows = np.flatnonzero((arrays.targets == index) | (arrays.targets == twin[index]))
            if len(rows):
                target = arrays.targets[rows[0]]
                return int(rows[0]), int(twin[index] if target == index else index)
        return None
    for mu, target in enumerate(arrays.target_outputs):
        same = np.flatnonzero((arrays.outputs[mu] == target).all(axis=1))
        if len(same) > 1:
            return mu, int(same[same != arrays.targets[mu]][0])
    return None


class _Block(NamedTuple):
    """A few associations, scaled: the margins of the instance are those of the block times 2^exponents."""

    inputs: Float64[np.ndarray, "b d"]
    outputs: Float64[np.ndarray, "*b m d"]
    targets: Int[np.ndarray, "b"]
    exponents: Int[np.ndarray, "b"]

    @property
    def target_outputs(self) -> Float64[np.ndarray, "b d"]:
        decoupled = self.outputs.ndim == 3
        return self.outputs[np.arange(len(self.targets)), self.targets] if decoupled else self.outputs[self.targets]


def _blocks(arrays: Arrays, of_inputs: Int[np.ndarray, "n"], of_outputs: Int[np.ndarray, "n"]) -> Iterator[_Block]:
    n, d = arrays.inputs.shape
    m = arrays.outputs.shape[-2]
    rows = max(1, _NUMBERS_AT_A_TIME // (m * d if arrays.decoupled else m))
    shared = None if arrays.decoupled else times_power(arrays.outputs, -of_outputs[0])
    for first in range(0, n, rows):
        part = slice(first, first + rows)
        outputs = shared if shared is not None else times_power(arrays.outputs[part], -of_outputs[part, None, None])
        inputs = times_power(arrays.inputs[part], -of_inputs[part, None])
        yield _Block(inputs, outputs, arrays.targets[part], of_inputs[part] + of_outputs[part])


def _exponents(arrays: Arrays) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]]:
    """For each input, exponents of the powers of two that it and the outputs that compete for it are divided by."""
    of_inputs = exponent_of(arrays.inputs, 1)
    return of_inputs, np.broadcast_to(exponent_of(arrays.outputs, (-2, -1)), of_inputs.shape)


def _divided(norm: float, sums: Float64[np.ndarray, "n"], exponents: Int[np.ndarray, "n"]) -> float:
    """An upper bound on norm / (sum of sums 2^-exponents), whatever the exponents are."""
    sizes = np.frexp(sums)[1] - exponents
    most = sizes[sums > 0].max()
    total = float(np.ldexp(sums, -exponents - most).sum())
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.ldexp(norm / total * (1 + gamma(len(sums) + 8)), -most), np.inf))


def _is_tie(arrays: Arrays, multipliers: Float64[np.ndarray, "n m"]) -> bool:
    """Whether a pair with a positive multiplier is an exact tie: then 0 > 0 is among the inequalities themselves."""
    tie = certain_tie(arrays)
    return tie is not None and multipliers[tie] > 0


def _distances(block: _Block) -> tuple[Float64[np.ndarray, "b m"], Float64[np.ndarray, "b m"]]:
    """Lower and upper bounds on |u_rho - u_target|."""
    targets = block.target_outputs
    squares = (block.outputs**2).sum(axis=-1)
    sizes = (squares if squares.ndim == 2 else squares[None, :]) + (targets**2).sum(axis=1)[:, None]
    square = sizes - 2 * _against(block.outputs, targets)
    error = 4 * SLACK * gamma(targets.shape[1] + 4) * sizes + TINY
    last = gamma(8)  # of the roots and the last products
    return np.sqrt(np.maximum(0, square - error)) * (1 - last), np.sqrt(np.maximum(0, square) + error) * (1 + last)


def _lengths(vectors: Float64[np.ndarray, "n d"]) -> tuple[Float64[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    """Lower and upper bounds on the lengths of the rows."""
    lengths, error = np.sqrt((vectors**2).sum(axis=1)), 2 * gamma(vectors.shape[1] + 4)
    return lengths * (1 - error), lengths * (1 + error)


def _against(outputs: Float[np.ndarray, "*n m d"], queries: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
    return (outputs @ queries[:, :, None])[:, :, 0] if outputs.ndim == 3 else queries @ outputs.T


def _averaged(weights: Float[np.ndarray, "n m"], outputs: Float[np.ndarray, "*n m d"]) -> Float[np.ndarray, "n d"]:
    return (weights[:, None, :] @ outputs)[:, 0, :] if outputs.ndim == 3 else weights @ outputs
