"""What a solver must have."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
from jaxtyping import Array, Bool, PyTree

from loadstone.problems.problem import Problem
from loadstone.solvers.search import PassInfo, Scalar, SearchOptions
from loadstone.solvers.segments import search
from loadstone.solvers.solution import Solution


def automatic_precision() -> str:
    """The precision in which passes are fastest on the present device."""
    return "float32" if jax.default_backend() == "cpu" else "float16"


class Solver(abc.ABC):
    """A way of storing associations. Solvers are frozen dataclasses: they can be compared and hashed, and their fields
    are their parameters."""

    #: Whether it makes a memory without a search: then stop rules, limits and precisions mean nothing to it.
    closed_form: ClassVar[bool] = False

    @abc.abstractmethod
    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        """Store each problem, starting from the memory of the same index."""

    def precisions(self) -> tuple[str, ...]:
        """The precisions that 'auto' stands for, in their order."""
        return (automatic_precision(),)

    def stop(self) -> str:
        """The stop rule that goes with the solver."""
        return "exact"

    def schedule(self) -> int | None:
        """How many passes the solver's schedule has; None if it has no schedule."""
        return None


class Iterative(Solver):
    """A solver that moves a memory from pass to pass. Between two passes it sees what the last one measured, and says
    which memory to try next; the loop around it (solvers/segments.py) does the rest, for one problem or a batch."""

    @abc.abstractmethod
    def start(self, parameters: PyTree) -> PyTree:
        """The state before the first pass, for a memory with these arrays of real numbers."""

    @abc.abstractmethod
    def move(self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: PyTree) -> tuple[PyTree, PyTree]:
        """The parameters to try next and the new state, given loss and gradient at the present ones."""

    def step(
        self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: PyTree, info: PassInfo
    ) -> tuple[PyTree, PyTree]:
        """What the loop does between two passes: one move, unless the solver also passes over parts of the problem."""
        return self.move(parameters, loss, gradient, state)

    def passes_per_move(self) -> int:
        """How many passes it takes from one measured memory to the next, the measurement included."""
        return 1

    def minimum(self, state: PyTree) -> Bool[Array, ""] | bool:
        """Whether nothing more can be gained."""
        return False

    def out_of_digits(self, state: PyTree) -> Bool[Array, ""] | bool:
        """Whether the numbers have too few digits for the search to go on."""
        return False

    def resume(self, parameters: PyTree, state: PyTree) -> PyTree:
        """The state with which the search goes on from these parameters in another precision."""
        return state

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        return search(self, problems, memories, options)
