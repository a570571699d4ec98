"""The pairs of an input and a rival that a proof of 'not storable' weighs, in the fewest coordinates. NumPy only.

A pair i stands for the matrix a_i = (u_rho - u_target) e_mu^T, and the proof is a sum of them that is zero. That does
not depend on the coordinates of inputs and outputs, but whether it can be proved does: in the space that the a_i extend
in, no direction may be left that none of them has. Here every change of coordinates is exact: components that never
differ are left out, the others are multiplied by powers of two, and k vectors in more than k dimensions become unit
vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from loadstone.problems.arrays import Arrays
from loadstone.proofs.arithmetic import SLACK, TINY, gamma
from loadstone.proofs.scaling import exponent_of, multipliers_of_scaled, times_power
from loadstone.whitening import root_of_inverse


class Pairs(NamedTuple):
    """Inputs, the outputs that compete for each, and multipliers, of which some are positive and none is negative.

    inputs, outputs, targets: as in `Arrays`, in float64; inputs and outputs may have different dimensions.
    multipliers: for each input and each of its outputs; zero for the target.
    input_errors, output_errors: how far each vector may be from the true one, if a change of coordinates was rounded.
    """

    inputs: Float64[np.ndarray, "n a"]
    outputs: Float64[np.ndarray, "*n m b"]
    targets: Int[np.ndarray, "n"]
    multipliers: Float64[np.ndarray, "n m"]
    input_errors: Float64[np.ndarray, "n"] | None = None
    output_errors: Float64[np.ndarray, "*n m"] | None = None

    @property
    def decoupled(self) -> bool:
        return self.outputs.ndim == 3

    def differences(self, mu: int) -> Float64[np.ndarray, "m b"]:
        """u_rho - u_target for one input and all its outputs; each is rounded once."""
        outputs = self.outputs[mu] if self.decoupled else self.outputs
        return outputs - outputs[self.targets[mu]]

    def weighed(self, mu: int) -> tuple[Float64[np.ndarray, "k b"], Float64[np.ndarray, "k"]]:
        """The differences that have multipliers, and these."""
        used = self.multipliers[mu] > 0
        return self.differences(mu)[used], self.multipliers[mu, used]

    def difference_errors(self, mu: int) -> Float64[np.ndarray, "k"] | float:
        """How far those differences may be from the true ones, but for their own rounding."""
        if self.output_errors is None:
            return 0.0
        errors = self.output_errors[mu] if self.decoupled else self.output_errors
        return errors[self.multipliers[mu] > 0] + errors[self.targets[mu]]


def pairs_of(arrays: Arrays, multipliers: Float64[np.ndarray, "n m"]) -> Pairs | None:
    """The pairs that have multipliers, in numbers of moderate size; None if these are no multipliers, or if the sizes
    of the numbers differ too much."""
    multipliers = np.array(multipliers, np.float64)
    multipliers[np.arange(len(arrays.targets)), arrays.targets] = 0
    if not np.isfinite(multipliers).all() or (multipliers < 0).any() or not multipliers.any():
        return None
    of_inputs, of_outputs = exponent_of(arrays.inputs, 1), exponent_of(arrays.outputs, (-2, -1))
    multipliers = multipliers_of_scaled(multipliers, of_inputs + of_outputs)
    used = multipliers.any(axis=1)  # beside the largest multipliers, tiny ones may have become zero
    given_inputs, of_inputs = arrays.inputs[used], of_inputs[used, None]
    given_outputs = arrays.outputs
    if arrays.decoupled:
        given_outputs, of_outputs = arrays.outputs[used], of_outputs[used, None, None]
    inputs, outputs = times_power(given_inputs, -of_inputs), times_power(given_outputs, -of_outputs)
    exact = (times_power(inputs, of_inputs) == given_inputs).all() and (
        times_power(outputs, of_outputs) == given_outputs
    ).all()
    # Otherwise a part of some vector is so small that it underflows.
    return Pairs(inputs, outputs, arrays.targets[used], multipliers[used]) if exact else None


def has_tie(pairs: Pairs) -> bool:
    """Whether some a_i is zero: a rival that ties with its target under every W."""
    return not pairs.inputs.any(axis=1).all() or any(
        (pairs.multipliers[mu] > 0)[~pairs.differences(mu).any(axis=1)].any() for mu in range(len(pairs.inputs))
    )


def in_fewest_coordinates(pairs: Pairs) -> Pairs:
    """The same pairs in coordinates of their own. There is no such change in a family, which says what W is made of."""
    inputs = _coordinates(pairs.inputs, origin=False)
    if pairs.decoupled:
        flat = pairs.outputs.reshape(-1, pairs.outputs.shape[-1])
        return pairs._replace(inputs=inputs, outputs=_even(flat, _spread(flat)).reshape(*pairs.outputs.shape[:2], -1))
    used = np.union1d(np.flatnonzero(pairs.multipliers.any(axis=0)), pairs.targets)
    outputs = _coordinates(pairs.outputs[used], origin=True)
    return Pairs(inputs, outputs, np.searchsorted(used, pairs.targets), pairs.multipliers[:, used])


def whitened(pairs: Pairs) -> Pairs:
    """The same pairs in coordinates in which inputs, and outputs, extend as far in every direction, but for rounding.

    Such a map is invertible, or no proof is possible after it. Each sum of k products is off by at most gamma(k) times
    the sum of their absolute values.
    """
    right = root_of_inverse(pairs.inputs)[0]
    flat = pairs.outputs.reshape(-1, pairs.outputs.shape[-1])
    flat = flat - flat.mean(axis=0)  # rounded once
    left = root_of_inverse(flat)[0]
    input_errors = gamma(len(right) + 2) * np.linalg.norm(np.abs(pairs.inputs) @ np.abs(right), axis=1)
    output_errors = gamma(len(left) + 4) * np.linalg.norm(np.abs(flat) @ np.abs(left), axis=1)
    return pairs._replace(
        inputs=pairs.inputs @ right,
        outputs=(flat @ left).reshape(pairs.outputs.shape),
        input_errors=SLACK * input_errors + TINY,
        output_errors=(SLACK * output_errors + TINY).reshape(pairs.outputs.shape[:-1]),
    )


def _coordinates(vectors: Float64[np.ndarray, "n d"], origin: bool) -> Float64[np.ndarray, "n k"]:
    """The vectors in no more dimensions than they can extend in; with `origin` only their differences count."""
    spread = _spread(vectors) if origin else np.abs(vectors).max(axis=0)
    distinct, place = np.unique(vectors + 0, axis=0, return_inverse=True)  # adding 0 turns -0 into 0
    dimensions = len(distinct) - origin
    if dimensions < np.count_nonzero(spread):
        return np.eye(dimensions, len(distinct), k=int(origin))[:, place.ravel()].T
    return _even(vectors, spread)


def _spread(vectors: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "d"]:
    return np.ptp(vectors, axis=0)


def _even(vectors: Float64[np.ndarray, "n d"], spread: Float64[np.ndarray, "d"]) -> Float64[np.ndarray, "n k"]:
    """The components that differ, multiplied by powers of two so that all differ by about as much.

    The factors are at most 2^100, so that products of a few such numbers neither overflow nor underflow, and at least
    1, because half of the smallest number is none.
    """
    differ = spread > 0
    return vectors[:, differ] * np.ldexp(1.0, np.clip(-np.frexp(spread[differ])[1], 0, 100))
