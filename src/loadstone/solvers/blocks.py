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
from jaxtyping import Array, Float, Int, PyTree

from loadstone.arguments import refuse, set_as, whole
from loadstone.problems.problem import Problem
from loadstone.solvers.solution import Solution
from loadstone.solvers.solver import Iterative, Looks, Request
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

    def onward(
        self, parameters: PyTree, loss: Float[Array, ""], gradient: PyTree, state: Int[Array, ""], looks: Looks
    ) -> tuple[PyTree, Int[Array, ""]]:
        if not self.batch:
            return self.move(parameters, loss, gradient, state)[0], state + 1
        order, batch = _order(state, looks), min(self.batch, looks.rows)

        def block(index: Int[Array, ""], parameters: PyTree) -> PyTree:
            places = index * batch + jnp.arange(batch)
            counted = places < looks.associations
            loss, gradient = looks.at(parameters, order[jnp.where(counted, places, 0)], counted)
            return self.move(parameters, loss, gradient, state)[0]

        blocks = (looks.associations + batch - 1) // batch
        return jax.lax.fori_loop(0, blocks, block, parameters), state + 1

    def passes_per_move(self) -> int:
        return 2 if self.batch else 1

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], request: Request) -> list[Solution]:
        if not self.batch:
            return super().solve(problems, memories, request)
        for problem in problems:
            _check_parts(problem, self.batch, type(self).batch)
        cost, told = self.passes_per_move(), request.progress
        if told:
            progress = lambda measured, loss, accuracy: told(cost * (measured - 1) + 1, loss, accuracy)  # noqa: E731
            request = replace(request, progress=progress)
        found = super().solve(problems, memories, request)
        return [replace(one, passes=cost * (one.passes - 1) + 1) for one in found]


def _order(rounds: Int[Array, ""], looks: Looks) -> Int[Array, "rows"]:
    """The associations in the order of one round, a new random one each time, whatever the padding, which comes last.

    Each association draws a word from (round, association) and they are sorted by their words.
    """
    index = jnp.arange(looks.rows, dtype=jnp.uint32)
    words, _ = threefry((jnp.uint32(_KEY[0]), jnp.uint32(_KEY[1])), (jnp.full_like(index, rounds), index))
    inside = index < looks.associations
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
