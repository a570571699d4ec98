"""Random signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, UInt32

from loadstone.streams.laws.law import Law


@dataclass(frozen=True)
class Rademacher(Law):
    """Independent components of +1 or -1."""

    isotropic: ClassVar[bool] = True

    def vectors(self, words: UInt32[Array, "d n"]) -> Float32[Array, "d n"]:
        return jnp.where((words >> np.uint32(31)) == 1, jnp.float32(-1), jnp.float32(1))
