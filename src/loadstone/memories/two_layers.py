"""Memories that are not linear: two layers with an activation between them.

The query of input e is V a(K e), as in the feed-forward block of a transformer: rows of K are keys, columns of V are
values. No theory here says what they can hold. Their loss is not convex either, so what a solver stores bounds what
can be stored from below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Float

from loadstone.memories.memory import Memory, check_dimension
from loadstone.problems.products import mapped

Activation = Callable[[Float[Array, "n h"]], Float[Array, "n h"]]

#: 'attention' weighs the values by a softmax over the keys, as a transformer's attention does.
ACTIVATIONS: dict[str, Activation] = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "attention": partial(jax.nn.softmax, axis=-1),
}


@partial(jax.tree_util.register_dataclass, data_fields=["keys", "values"], meta_fields=["activation"])
@dataclass(frozen=True)
class TwoLayers(Memory):
    """keys: K, of size h x d. values: V, of size d x h. activation: a name in ACTIVATIONS."""

    keys: Float[Array | np.ndarray, "h d"]
    values: Float[Array | np.ndarray, "d h"]
    activation: str = "relu"

    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        check_dimension(self, inputs, self.keys.shape[-1])
        hidden = ACTIVATIONS[self.activation](mapped(inputs, self.keys, precision))
        return mapped(hidden, self.values, precision)

    @property
    def rank(self) -> int:
        return min(self.keys.shape)
