"""The one waist: a problem is whatever can pass once over the outputs that compete for each association."""

from __future__ import annotations

from typing import Protocol

from jaxtyping import Array, Float, Int

from loadstone.problems.arrays import Arrays
from loadstone.problems.recall import Recall, crossed, dense


class Problem(Protocol):
    """n associations to be stored in a d x d memory. Solvers know a problem only through these members.
    A problem needs `recall`; it may have a faster `descend` of its own.

    Problems are immutable pytrees: they cross `jit`, and problems of equal shape may be stacked and mapped over.
    """

    inputs: Float[Array, "n d"]
    target_outputs: Float[Array, "n d"]
    #: For each association, the place of its target among its competing outputs.
    targets: Int[Array, "n"]
    #: In words, what is stored and in which precision.
    form: str
    #: How many rows are associations, where the rest is padding that lets many sizes share one compiled program.
    count: Int[Array, ""] | None = None

    @property
    def associations(self) -> Int[Array, ""] | int:
        return self.inputs.shape[-2] if self.count is None else self.count

    def recall(self, queries: Float[Array, "n d"], precision: str = "float32") -> Recall:
        """One pass: what each query, made from the input at its place, meets."""

    def descend(self, weights: Float[Array, "d d"], precision: str = "float32") -> tuple[Recall, Float[Array, "d d"]]:
        """One pass with the queries W e, and the gradient of its mean loss with respect to W."""
        recall = self.recall(dense(self.inputs, weights.T, precision), precision)
        slope = recall.pull - self.pulled_targets(precision)
        return recall, crossed(slope, self.inputs, precision) / self.associations

    def pulled_targets(self, precision: str) -> Float[Array, "n d"]:
        """The target outputs, rounded as those are that pull: a perfect memory has slopes of exactly zero."""
        return self.target_outputs

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        """All scores of a few associations, given by their rows. The target of row mu is at `targets[mu]`."""

    def arrays(self) -> Arrays:
        """The instance as plain arrays, all outputs at hand: what a proof is about."""

    def in_float32(self) -> "Problem":
        """The same instance with no output rounded below float32: what final measurements are made on."""
