"""Memories that are not linear: two layers with an activation between them.

The query of input e is V a(K e), as in the feed-forward block of a transformer: rows of K are keys, columns of V are
values. No theory here says what they can hold. Their loss is not convex either, so what a solver stores bounds what
can be stored from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import refuse, whole
from loadstone.kernels.products import mapped
from loadstone.memories.memory import Memory, check_dimension, kept
from loadstone.memories.normal import normal_matrix
from loadstone.trees import tree

Activation = Callable[[Float[Array, "n h"]], Float[Array, "n h"]]

#: 'attention' weighs the values by a softmax over the keys, as a transformer's attention does.
ACTIVATIONS: dict[str, Activation] = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "attention": partial(jax.nn.softmax, axis=-1),
}
#: Standard deviation of the scores of an attention at the start.
_SCORE = 5.0


@tree(data=["keys", "values"], meta=["activation"])
@dataclass(frozen=True)
class TwoLayers(Memory):
    """keys: K, of size h x d. values: V, of size d x h. activation: a name in ACTIVATIONS.

    The class itself is the family 'relu'; those below are families of the same memories with other activations.
    """

    keys: Float[Array | np.ndarray, "h d"]
    values: Float[Array | np.ndarray, "d h"]
    activation: str = "relu"

    @classmethod
    def check(cls, d: int, width: int) -> None:  # type: ignore[override]
        whole("width", width, 1, 10**6)

    @classmethod
    def initial(cls, d: int, seed: int, width: int) -> TwoLayers:  # type: ignore[override]
        """A memory whose keys have products of variance 1 with an input, and whose values are normal numbers."""
        keys = normal_matrix(seed, "memory", d, width).T * math.sqrt(d)
        values = normal_matrix(seed, "second factor", d, width) * (d * cls._deviation(d, width))
        return TwoLayers(keys, values, cls.activation)

    @classmethod
    def _deviation(cls, d: int, width: int) -> float:
        """The standard deviation of the values at the start."""
        return 1 / d

    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        check_dimension(self, inputs, self.keys.shape[-1])
        hidden = ACTIVATIONS[self.activation](mapped(inputs, self.keys, precision))
        return mapped(hidden, self.values, precision)

    @property
    def rank(self) -> int:
        return min(self.keys.shape)

    def in_file(self) -> tuple[str, Mapping[str, Any]]:
        return self.activation, {"keys": self.keys, "values": self.values}

    @classmethod
    def loaded(cls, family: str, arrays: Mapping[str, np.ndarray]) -> TwoLayers:
        shapes = {name: array.shape for name, array in arrays.items()}
        keys = shapes.get("keys", ())
        if len(keys) != 2 or 0 in keys or shapes != {"keys": keys, "values": keys[::-1]}:
            shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise refuse("file", f"one with {shown}", "one with keys (h, d) and values (d, h)")
        return TwoLayers(kept(arrays["keys"]), kept(arrays["values"]), cls.activation)


class Gelu(TwoLayers):
    """The family with the activation x Phi(x), as JAX approximates it."""

    activation = "gelu"


class Attention(TwoLayers):
    """The family with a softmax over all hidden units.

    At the start its weights all lie near 1/h, with a deviation of about sqrt(e - 1)/h. Values are drawn so large that
    scores have a deviation of _SCORE all the same. With values as small as those of other activations, searches end at
    poor minima and store a third as much (docs/measured.md).
    """

    activation = "attention"

    @classmethod
    def _deviation(cls, d: int, width: int) -> float:
        return _SCORE * math.sqrt(width / (d * (math.e - 1)))
