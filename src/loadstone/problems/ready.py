"""A problem that is ready for many passes: what every one of them would do again is done once.

On a GPU a step on a few thousand facts takes a fifth of a millisecond, and to round the same inputs and outputs again
would be a good part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from loadstone.kernels.hopper.arrays import FilledRecall
from loadstone.kernels.hopper.step import Filled, filled_up, slopes, step
from loadstone.kernels.recall import Recall, Slope, without_padding
from loadstone.kernels.table import Case, found
from loadstone.problems.arrays import Arrays
from loadstone.problems.problem import LinearStep, Problem
from loadstone.problems.wrapper import SameOutputs
from loadstone.trees import tree

if TYPE_CHECKING:
    from loadstone.problems.facts import Facts
    from loadstone.problems.padded import Padded


@tree(data=["problem", "filled"], meta=["is_padded", "kernel"])
@dataclass(frozen=True)
class Ready(SameOutputs):
    """Facts with shared outputs, ready for passes in float16 on a Hopper GPU.

    problem: the problem itself.
    filled: its arrays as the kernel takes them.
    is_padded: whether some of the facts do not count.
    kernel: what makes the recall of filled arrays.
    """

    problem: Facts | Padded
    filled: Filled
    is_padded: bool
    kernel: FilledRecall

    @property
    def _wrapped(self) -> Facts | Padded:
        return self.problem

    def recall(self, queries: Float[Array, "n d"], precision: str = "float32") -> Recall:
        return self.problem.recall(queries, precision)

    def slopes(self, queries: Float[Array, "n d"], precision: str = "float32") -> tuple[Recall, Slope]:
        if precision != "float16":
            return self.problem.slopes(queries, precision)
        return self._without_padding(*slopes(queries, self.filled, self.kernel))

    def linear_step(self, precision: str = "float32") -> LinearStep | None:
        if precision != "float16":
            return self.problem.linear_step(precision)

        def of(weights: Float[Array, "d d"]) -> tuple[Recall, Float[Array, "d d"]]:
            recall, gradient = step(weights, self.filled, self.inputs.shape[-2], self.kernel)
            return self._without_padding(recall, recall.pull)[0], gradient

        return of

    def part(self, rows: Int[Array, "b"], counted: Bool[Array, "b"]) -> Problem | None:
        return self.problem.part(rows, counted)

    def arrays(self) -> Arrays:
        return self.problem.arrays()

    def in_float32(self) -> Problem:
        return self.problem.in_float32()

    def in_float64(self) -> Problem | None:
        return self.problem.in_float64()

    def _without_padding(self, recall: Recall, slope: Slope) -> tuple[Recall, Slope]:
        if not self.is_padded:
            return recall, slope
        return without_padding(recall, slope, self.filled.answers.counts[0], self.target_outputs)


def ready(problem: Facts | Padded, facts: Facts, count: Int[Array, ""] | None, precision: str) -> Problem:
    """The problem ready for passes in a precision, or as it is where there is nothing to prepare.

    facts: the problem itself, or the facts with padding if it is padded.
    count: how many of the facts count, if the problem is padded.
    """
    (n, d), m = facts.inputs.shape, facts.competitors
    dtype = jnp.result_type(facts.inputs, facts.outputs)
    kernel = found(Case("filled", precision, n, m, d, dtype, count is not None))
    if kernel is None:
        return problem
    arrays = filled_up(facts.inputs, facts.outputs, facts.targets, count)
    return Ready(problem, arrays, count is not None, kernel)
