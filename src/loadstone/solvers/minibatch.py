"""Solvers that take the associations in blocks: many small moves in the time of one pass.

A block is a pass over all outputs for a few of the inputs, so the blocks of one round, which has every association
once, cost one pass together. The memory that a round ends with has not been measured as a whole: another pass does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from loadstone.arguments import positive, refuse, set_as, whole
from loadstone.problems.problem import Problem
from loadstone.solvers.search import PassInfo, Scalar, SearchOptions
from loadstone.solvers.solution import Solution
from loadstone.solvers.solver import Iterative
from loadstone.streams.counters import threefry

#: Any two words: the order of the associations must only be random and the same everywhere.
_KEY = 1, 2


@dataclass(frozen=True)
class InBlocks(Iterative):
    """A solver that moves after every block.

    batch: how many associations a block has; 0: all of them, so that a round is one move and one pass.
    """

    batch: int = 0

    def __post_init__(self) -> None:
        set_as(self, "batch", whole("batch", self.batch, 0, 2**31 - 1))

    def start(self, parameters: PyTree) -> Int[Array, ""]:
        """The number of rounds done. What moves between two blocks is W alone."""
        return jnp.int32(0)

    def step(
        self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: Int[Array, ""], info: PassInfo
    ) -> tuple[PyTree, Int[Array, ""]]:
        if not self.batch:
            return self.move(parameters, loss, gradient, state)[0], state + 1
        order, batch = _order(state, info), min(self.batch, info.rows)

        def block(index: Int[Array, ""], parameters: PyTree) -> PyTree:
            numbers = index * batch + jnp.arange(batch)
            counted = numbers < info.associations
            loss, gradient = info.at(parameters, order[jnp.where(counted, numbers, 0)], counted)
            return self.move(parameters, loss, gradient, state)[0]

        blocks = (info.associations + batch - 1) // batch
        return jax.lax.fori_loop(0, blocks, block, parameters), state + 1

    def passes_per_move(self) -> int:
        return 2 if self.batch else 1

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        if not self.batch:
            return super().solve(problems, memories, options)
        for problem in problems:
            _check_parts(problem, self.batch, type(self).batch)
        cost, progress = self.passes_per_move(), options.progress
        passes = lambda measured: cost * (measured - 1) + 1  # noqa: E731
        options = replace(options, progress=lambda measured, words: progress(passes(measured), words))
        solutions = super().solve(problems, memories, options)
        return [replace(solution, passes=passes(solution.passes)) for solution in solutions]


@dataclass(frozen=True)
class Minibatch(InBlocks):
    """Plain steps against the gradient of one minibatch after the other.

    batch: how many associations a minibatch has; the default takes all of them if there are fewer.
    learning_rate: the same at every step.
    """

    batch: int = 16
    learning_rate: float = 0.2

    def __post_init__(self) -> None:
        set_as(self, "batch", whole("batch", self.batch, 1, 2**31 - 1))
        set_as(self, "learning_rate", positive("learning_rate", self.learning_rate))

    def move(self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: PyTree) -> tuple[PyTree, PyTree]:
        return jax.tree.map(lambda old, change: old - self.learning_rate * change, parameters, gradient), state


def _order(rounds: Int[Array, ""], info: PassInfo) -> Int[Array, "rows"]:
    """The associations in the order of one round, a new random one each time, whatever the padding, which comes last.

    Each association draws a word from (round, association) and they are sorted by their words.
    """
    index = jnp.arange(info.rows, dtype=jnp.uint32)
    words, _ = threefry((jnp.uint32(_KEY[0]), jnp.uint32(_KEY[1])), (jnp.full_like(index, rounds), index))
    inside = index < info.associations
    return jnp.lexsort((words, ~inside)).astype(jnp.int32)


def _check_parts(problem: Problem, batch: int, default: int) -> None:
    """Refuse what cannot be taken in blocks, before anything is compiled. The default is for problems of any size."""
    count = int(problem.associations)
    if count < batch != default:
        raise refuse("batch", batch, f"at most {count}, the number of associations")
    if problem.shares is not None:
        raise refuse("batch", batch, "0 for a problem with shares: in blocks all associations weigh the same")
    if problem.part(jnp.zeros(1, jnp.int32), jnp.ones(1, bool)) is None:
        raise refuse("batch", batch, f"0 for this problem ({problem.description}), which has no blocks")
