"""A problem that is prepared for many passes: what every one of them would do again is done once.

On a GPU a step on a few thousand facts takes a fifth of a millisecond, and to round the same inputs and outputs again
would be a good part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Array, Bool, Float, Int

from loadstone.kernels.hopper.arrays import RecallOfArrays
from loadstone.kernels.hopper.step import StepArrays, slopes, step, step_arrays
from loadstone.kernels.recall import Recall, Slope, without_padding
from loadstone.kernels.table import kernel, shared_case
from loadstone.problems.arrays import Arrays
from loadstone.problems.problem import LinearStep, Problem
from loadstone.problems.wrapper import SameOutputs
from loadstone.trees import tree

if TYPE_CHECKING:
    from loadstone.problems.facts import Facts
    from loadstone.problems.padded import Padded


@tree(data=["problem", "step_arrays"], meta=["is_padded", "recall_of"])
@dataclass(frozen=True)
class Prepared(SameOutputs):
    """Facts with shared outputs, prepared for passes in float16 on a Hopper GPU.

    problem: the problem itself.
    step_arrays: its arrays as the kernel takes them.
    is_padded: whether some of the facts do not count.
    recall_of: the kernel, which makes the recall of such arrays.
    """

    problem: Facts | Padded
    step_arrays: StepArrays
    is_padded: bool
    recall_of: RecallOfArrays

    @property
    def _wrapped(self) -> Facts | Padded:
        return self.problem

    def recall(self, queries: Float[Array, "n d"], precision: str = "float32") -> Recall:
        return self.problem.recall(queries, precision)

    def slopes(self, queries: Float[Array, "n d"], precision: str = "float32") -> tuple[Recall, Slope]:
        if precision != "float16":
            return self.problem.slopes(queries, precision)
        return self._without_padding(*slopes(queries, self.step_arrays, self.recall_of))

    def linear_step(self, precision: str = "float32") -> LinearStep | None:
        if precision != "float16":
            return self.problem.linear_step(precision)

        def linear(weights: Float[Array, "d d"]) -> tuple[Recall, Float[Array, "d d"]]:
            recall, gradient = step(weights, self.step_arrays, self.inputs.shape[-2], self.recall_of)
            return self._without_padding(recall, recall.pull)[0], gradient

        return linear

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
        return without_padding(recall, slope, self.step_arrays.outputs.counts[0], self.target_outputs)


def prepared(problem: Facts | Padded, facts: Facts, count: Int[Array, ""] | None, precision: str) -> Problem:
    """The problem prepared for passes in a precision, or as it is where there is nothing to prepare.

    facts: the problem itself, or the facts with padding if it is padded.
    count: how many of the facts count, if the problem is padded.
    """
    outputs = facts.shared_outputs(count)
    recall_of = kernel("recall_of_arrays", shared_case(facts.inputs, outputs, precision))
    if recall_of is None:
        return problem
    return Prepared(problem, step_arrays(facts.inputs, outputs), count is not None, recall_of)
