"""N(0, I_d): the law of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array, Float32, UInt32

from loadstone.streams.laws.law import Law
from loadstone.streams.normals import normals


@dataclass(frozen=True)
class Gaussian(Law):
    """Independent standard normal components."""

    isotropic: ClassVar[bool] = True

    def vectors(self, words: UInt32[Array, "d n"]) -> Float32[Array, "d n"]:
        return normals(words)
