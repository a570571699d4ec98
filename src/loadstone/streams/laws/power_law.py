"""Gaussian vectors whose variances fall as a power of the component's number, as those of real embeddings do.

Component k of a vector is that of the Gaussian law times a number: a linear map that can be inverted. So the first p
associations of a seed are storable under this law if and only if they are under the Gaussian one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float32, UInt32

from loadstone.arguments import positive, set_as
from loadstone.streams.laws.law import Law
from loadstone.streams.normals import normals


@dataclass(frozen=True)
class PowerLaw(Law):
    """exponent: component k has a variance proportional to k to the power of minus this."""

    exponent: float = 1.0

    def __post_init__(self) -> None:
        set_as(self, "exponent", positive("exponent", self.exponent))

    def vectors(self, words: UInt32[Array, "d n"]) -> Float32[Array, "d n"]:
        variance = np.arange(1, words.shape[0] + 1, dtype=np.float64) ** -self.exponent
        scale = np.sqrt(variance / variance.mean()).astype(np.float32)
        return normals(words) * scale[:, None]
