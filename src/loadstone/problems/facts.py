"""Associations with shared outputs: N inputs onto M outputs, several inputs may have the same target."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from loadstone.arguments import refuse
from loadstone.problems.arrays import Arrays
from loadstone.problems.passes import gpu, shared_cpu
from loadstone.problems.passes.shared import shared_recall, shared_scores
from loadstone.problems.problem import Problem
from loadstone.problems.recall import Recall, first_only

#: Scores alive at a time, by platform: on a CPU a block of them should stay in the last cache.
_SCORES_PER_BLOCK = {"cpu": 3_000_000, "gpu": 200_000_000}


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["inputs", "outputs", "targets", "count"],
    meta_fields=["block", "form"],
)
@dataclass(frozen=True)
class Facts(Problem):
    """Input n has the output `targets[n]` as its target, and every other output competes."""

    inputs: Float[Array, "n d"]
    outputs: Float[Array, "m d"]
    targets: Int[Array, "n"]
    block: int
    form: str = field(default="outputs shared")
    count: Int[Array, ""] | None = None

    @property
    def target_outputs(self) -> Float[Array, "n d"]:
        return self.outputs[self.targets]

    def recall(self, queries: Float[Array, "n d"], precision: str = "float32") -> Recall:
        if self._runs_fused(queries, precision):
            return shared_cpu.fused_recall(queries, self.outputs, self.targets)
        found = self._recall(queries, precision)
        return found if self.count is None else first_only(found, self.count, self.target_outputs)

    def _recall(self, queries: Float[Array, "n d"], precision: str) -> Recall:
        sizes = queries.shape[0], self.outputs.shape[0]
        small = queries.shape[1] <= gpu.MOST_SHARED and sizes[0] * sizes[1] <= gpu.MOST_SCORES
        if precision == "float16" and small and gpu.shared_kernel():
            from loadstone.problems.passes.shared_hopper import fused_recall

            return fused_recall(queries, self.outputs, self.targets, sizes if self.count is None else (self.count,) * 2)
        return shared_recall(queries, self.outputs, self.targets, self.block, precision, self.count)

    def descend(self, weights: Float[Array, "d d"], precision: str = "float32") -> tuple[Recall, Float[Array, "d d"]]:
        if self._runs_fused(weights, precision):
            return shared_cpu.fused_descend(weights, self.inputs, self.outputs, self.targets)
        return super().descend(weights, precision)

    def pulled_targets(self, precision: str) -> Float[Array, "n d"]:
        rounded = self.outputs.astype(precision) if precision in ("float16", "bfloat16") else self.outputs
        return rounded.astype(self.outputs.dtype)[self.targets]

    def _runs_fused(self, operand: Float[Array, "..."], precision: str) -> bool:
        singles = precision == "float32" and operand.dtype == self.inputs.dtype == self.outputs.dtype == jnp.float32
        return singles and self.count is None and shared_cpu.available()

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        return shared_scores(queries, self.outputs, "float32")

    def arrays(self) -> Arrays:
        return Arrays(*(np.asarray(part) for part in (self.inputs, self.outputs, self.targets)))

    def in_float32(self) -> "Facts":
        return self


def facts(inputs: ArrayLike, outputs: ArrayLike, targets: ArrayLike | None = None, block: int | None = None) -> Facts:
    """The problem of storing given facts: input n must recall output `targets[n]` (default: output n)."""
    inputs, outputs = _embeddings("inputs", inputs), _embeddings("outputs", outputs)
    n, m = inputs.shape[0], outputs.shape[0]
    if inputs.shape[1] != outputs.shape[1]:
        raise refuse("outputs.shape", outputs.shape, f"(M, {inputs.shape[1]}) to match inputs of shape {inputs.shape}")
    if m < 2:
        raise refuse("outputs.shape", outputs.shape, "(M, d) with M of at least 2, since one output has no rival")
    if targets is None and n != m:
        raise refuse("targets", None, f"given, because {n} inputs and {m} outputs do not pair one to one")
    targets = np.arange(n) if targets is None else np.asarray(targets)
    if targets.shape != (n,) or not np.issubdtype(targets.dtype, np.integer):
        raise refuse("targets", f"{targets.dtype}{targets.shape}", f"{n} whole numbers, one for each input")
    if targets.min() < 0 or targets.max() >= m:
        raise refuse("targets", f"{targets.min()}..{targets.max()}", f"in 0..{m - 1}, places of outputs")
    return Facts(jnp.asarray(inputs), jnp.asarray(outputs), jnp.asarray(targets, jnp.int32), block or block_rows(n, m))


def block_rows(n: int, m: int) -> int:
    """How many of n inputs to pass at a time against m outputs on the present device."""
    scores = _SCORES_PER_BLOCK["cpu" if jax.default_backend() == "cpu" else "gpu"]
    return max(1, min(n, max(128, scores // m)))


def _embeddings(name: str, value: ArrayLike) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != 2 or 0 in array.shape or not np.issubdtype(array.dtype, np.number):
        raise refuse(name, f"{array.dtype}{array.shape}", "a matrix of numbers, one embedding per row")
    array = array.astype(np.float64 if array.dtype == np.float64 and jax.config.jax_enable_x64 else np.float32)
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(place)} is {array[place]}, but every component must be finite.")
    return array
