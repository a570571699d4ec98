"""Factors of low rank, one at a time: with R fixed, W = Q R^T is linear in Q, and the loss is convex in it; likewise
with Q fixed. So each turn is a convex problem, which L-BFGS solves; then the other factor has its turn.

Where both factors together are at a minimum, each of them is at its own, by convexity, and nothing is left to gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from loadstone.arguments import refuse, set_as, whole
from loadstone.memories.foreign import class_name
from loadstone.memories.low_rank import LowRank
from loadstone.problems.problem import Problem
from loadstone.solvers.coordinates import search_whitened
from loadstone.solvers.lbfgs import LBFGS, Pairs, State
from loadstone.solvers.search import Scalar, SearchOptions
from loadstone.solvers.solution import Solution
from loadstone.solvers.solver import Iterative


class AlternatingState(NamedTuple):
    """Whose turn it is, and how far it has got.

    search: the search of the factor whose turn it is.
    waiting: what is known of the curvature of the other factor, from its last turn.
    left: whether Q moves; otherwise R.
    moves: how many moves this turn has made.
    flat: whether the gradient of both factors says that nothing more can be gained.
    """

    search: State
    waiting: Pairs
    left: Bool[Array, ""]
    moves: Int[Array, ""]
    flat: Bool[Array, ""]


@dataclass(frozen=True)
class Alternating(Iterative):
    """L-BFGS on one factor after the other.

    turn: most moves of one factor before the other has its turn; it comes earlier if the minimum of the first is found.
    pairs, tolerance, whiten: those of L-BFGS.
    """

    turn: int = 50
    pairs: int = 20
    tolerance: float = 1e-5
    whiten: bool = True

    def __post_init__(self) -> None:
        set_as(self, "turn", whole("turn", self.turn, 1, 10**9))
        search = self._search  # which checks its parameters
        set_as(self, "pairs", search.pairs)
        set_as(self, "tolerance", search.tolerance)

    @property
    def _search(self) -> LBFGS:
        return LBFGS(self.pairs, self.tolerance, self.whiten)

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        for memory in memories:
            if not isinstance(memory, LowRank):
                raise refuse("memory", class_name(memory), "LowRank, whose two factors take turns")
        if not self.whiten:
            return super().solve(problems, memories, options)
        return search_whitened(super().solve, problems, memories, options)

    def start(self, parameters: PyTree) -> AlternatingState:
        search = self._search.start(parameters)
        return AlternatingState(search, search.pairs, jnp.asarray(True), jnp.int32(0), jnp.asarray(False))

    def resume(self, parameters: PyTree, state: AlternatingState) -> AlternatingState:
        return state._replace(search=self._search.resume(parameters, state.search), flat=jnp.asarray(False))

    def move(
        self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: AlternatingState
    ) -> tuple[PyTree, AlternatingState]:
        solver = self._search
        point, search = solver.move(parameters, loss, _gradient_of(state.left, gradient), state.search)
        accepted = search.trials == 0
        moves = state.moves + accepted
        ends = accepted & (search.flat | (moves > self.turn))
        # The pass that ends a turn has measured the gradient of the other factor too: its search begins with it.
        fresh = solver.resume(parameters, search._replace(pairs=state.waiting))
        other_point, other = solver.move(parameters, loss, _gradient_of(~state.left, gradient), fresh)
        size = jnp.sqrt(sum(jnp.sum(part**2) for part in parameters))
        length = jnp.sqrt(sum(jnp.sum(part**2) for part in gradient))
        flat = accepted & (length * size <= self.tolerance * loss)
        go_on = AlternatingState(search, state.waiting, state.left, moves, flat)
        hand_over = AlternatingState(other, search.pairs, ~state.left, jnp.int32(0), go_on.flat)
        point, turn = jax.tree.map(lambda new, old: jnp.where(ends, new, old), (other_point, hand_over), (point, go_on))
        # At the minimum the next pass sees this point again, and the search ends with it.
        return jax.tree.map(lambda new, old: jnp.where(go_on.flat, old, new), point, parameters), turn

    def precisions(self) -> tuple[str, ...]:
        return self._search.precisions()

    def minimum(self, state: AlternatingState) -> Bool[Array, ""]:
        return state.flat

    def out_of_digits(self, state: AlternatingState) -> Bool[Array, ""]:
        return self._search.out_of_digits(state.search)


def _gradient_of(is_left: Bool[Array, ""], gradient: Sequence[Float[Array, "d m"]]) -> list[Float[Array, "d m"]]:
    """The gradient of one factor; that of the other is put to zero, so that it stays where it is."""
    left, right = gradient
    return [jnp.where(is_left, left, 0), jnp.where(is_left, 0, right)]
