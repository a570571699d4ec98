"""The pass in float64 with all scores in memory, and the second moments that Newton's method also needs.

It is written for NumPy's interface: `xp` is NumPy on a CPU, where nothing has to be compiled, and jax.numpy (with
64-bit numbers switched on) on an accelerator.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Array, Float64

from loadstone.problems.arrays import Arrays

#: Arrays of either module.
Numbers = np.ndarray | Array
#: How many numbers of decoupled outputs are weighted at a time.
_NUMBERS_AT_A_TIME = 2**25


class ExactPass:
    """Scores, weights and their moments for one instance."""

    def __init__(self, arrays: Arrays, xp: ModuleType = np) -> None:
        self.xp = xp
        self.decoupled = arrays.decoupled
        self.inputs = xp.asarray(arrays.inputs, dtype=xp.float64)
        self.outputs = xp.asarray(arrays.outputs, dtype=xp.float64)
        self.targets = xp.asarray(arrays.targets)
        self.target_outputs = xp.asarray(arrays.target_outputs, dtype=xp.float64)
        n, m = len(arrays.targets), arrays.outputs.shape[-2]
        self.is_target = xp.arange(m)[None, :] == self.targets[:, None]
        self._pairs = np.triu_indices(self.inputs.shape[1])
        self._rows = max(1, _NUMBERS_AT_A_TIME // (m * self.inputs.shape[1])) if self.decoupled else n

    def scores(self, weights: Float64[Numbers, "d d"]) -> Float64[Numbers, "n m"]:
        """u_rho^T W e_mu for all competing outputs."""
        queries = self.inputs @ weights.T
        return (self.outputs @ queries[:, :, None])[:, :, 0] if self.decoupled else queries @ self.outputs.T

    def margins(self, scores: Float64[Numbers, "n m"]) -> Float64[Numbers, "n"]:
        """The target's score minus the rival's."""
        xp = self.xp
        target = xp.take_along_axis(scores, self.targets[:, None], axis=1)[:, 0]
        return target - xp.max(xp.where(self.is_target, -xp.inf, scores), axis=1)

    def mean(self, softmax: Float64[Numbers, "n m"]) -> Float64[Numbers, "n d"]:
        """The pull: outputs averaged with these weights."""
        return (softmax[:, None, :] @ self.outputs)[:, 0, :] if self.decoupled else softmax @ self.outputs

    def spreads(
        self, weights: Float64[Numbers, "n m"], sums: Float64[Numbers, "n d"], centres: Float64[Numbers, "n d"]
    ) -> Float64[Numbers, "n d d"]:
        """Sum over rho of weight (u_rho - c_mu) (u_rho - c_mu)^T, for weights with weighted sums `sums`. With the
        softmax and its mean as the centre, this is the covariance of the outputs of mu."""
        cross = sums[:, :, None] * centres[:, None, :]
        total = weights.sum(axis=1)[:, None, None]
        return (
            self._second_moments(weights)
            - cross
            - self.xp.swapaxes(cross, 1, 2)
            + total * centres[:, :, None] * centres[:, None, :]
        )

    def summed_squares(self, weights: Float64[Numbers, "n m"]) -> Float64[Numbers, "d d"]:
        """Sum over all associations and their outputs of weight u u^T."""
        if self.decoupled:
            return self._second_moments(weights).sum(axis=0)
        return (self.outputs.T * weights.sum(axis=0)) @ self.outputs

    def _second_moments(self, weights: Float64[Numbers, "n m"]) -> Float64[Numbers, "n d d"]:
        xp = self.xp
        if self.decoupled:
            pieces = []
            for first in range(0, weights.shape[0], self._rows):
                part = self.outputs[first : first + self._rows]
                weighted = part * weights[first : first + self._rows, :, None]
                pieces.append(xp.swapaxes(part, 1, 2) @ weighted)
            return xp.concatenate(pieces)
        d = self.inputs.shape[1]
        index = np.zeros((d, d), int)
        index[self._pairs] = index[self._pairs[::-1]] = np.arange(len(self._pairs[0]))
        return (weights @ self._products)[:, index]

    @cached_property
    def _products(self) -> Any:
        """Products of all pairs of components of shared outputs."""
        first, second = self._pairs
        return self.outputs[:, first] * self.outputs[:, second]
