"""The one waist: a problem is whatever can pass once over the outputs that compete for each association."""

from __future__ import annotations

from typing import Protocol

from jaxtyping import Array, Float, Int

from loadstone.problems.recall import Recall


class Problem(Protocol):
    """n associations to be stored in a d x d memory. Solvers know a problem only through these members.

    Problems are immutable pytrees: they cross `jit`, and problems of equal shape may be stacked and mapped over.
    """

    inputs: Float[Array, "n d"]
    target_outputs: Float[Array, "n d"]

    @property
    def form(self) -> str:
        """In words, what is stored and in which precision."""

    def recall(self, queries: Float[Array, "n d"], precision: str = "float32") -> Recall:
        """One pass: what each query, made from the input at its place, meets."""

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        """All scores of a few associations, given by their rows. The target of row mu is at `targets[mu]`."""

    @property
    def targets(self) -> Int[Array, "n"]:
        """For each association, the place of its target among its competing outputs."""

    def in_float32(self) -> "Problem":
        """The same instance with no output rounded below float32: what final measurements are made on."""
