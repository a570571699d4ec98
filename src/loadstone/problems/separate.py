"""Associations with given outputs of which each has its own set: a decoupled instance as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from loadstone.kernels.decoupled_xla import decoupled_recall, decoupled_scores
from loadstone.kernels.outputs import check_queries
from loadstone.kernels.products import rounded
from loadstone.kernels.recall import Recall, Slope
from loadstone.problems.arrays import Arrays
from loadstone.problems.problem import PassWithSlopes
from loadstone.trees import tree


@tree(data=["inputs", "outputs", "targets", "shares"], meta=["description"])
@dataclass(frozen=True)
class Separate(PassWithSlopes):
    """outputs: for each association its outputs, as columns."""

    inputs: Float[Array, "n d"]
    outputs: Float[Array, "n d m"]
    targets: Int[Array, "n"]
    description: str = "decoupled, outputs given"
    shares: Float[Array, "n"] | None = None

    @property
    def target_outputs(self) -> Float[Array, "n d"]:
        return jnp.take_along_axis(self.outputs, self.targets[:, None, None], axis=2)[:, :, 0]

    @property
    def competitors(self) -> int:
        return self.outputs.shape[-1]

    def slopes(self, queries: Float[Array, "n d"], precision: str = "float32") -> tuple[Recall, Slope]:
        check_queries(queries, self.inputs)
        recall = decoupled_recall(queries, self.outputs, self.targets, precision)
        return recall, recall.pull - rounded(self.target_outputs.astype(queries.dtype), precision)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        return decoupled_scores(queries, self.outputs[rows], "float32")

    def in_float32(self) -> Separate:
        return self

    def in_float64(self) -> Separate:
        return replace(self, inputs=self.inputs.astype(jnp.float64), outputs=self.outputs.astype(jnp.float64))

    def arrays(self) -> Arrays:
        outputs = np.ascontiguousarray(np.asarray(self.outputs).transpose(0, 2, 1))
        return Arrays(np.asarray(self.inputs), outputs, np.asarray(self.targets, np.int64))


def separate(arrays: Arrays) -> Separate:
    """The problem of a decoupled instance, its numbers rounded to float32 unless JAX has float64 switched on."""
    kind = jnp.float64 if jax.config.read("jax_enable_x64") else jnp.float32
    outputs = jnp.asarray(np.ascontiguousarray(arrays.outputs.transpose(0, 2, 1)), kind)
    return Separate(jnp.asarray(arrays.inputs, kind), outputs, jnp.asarray(arrays.targets, jnp.int32))
