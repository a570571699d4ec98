"""What a solver must have."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
from jaxtyping import Array, Bool, Float, Int, PyTree

from loadstone.problems.problem import Problem
from loadstone.solvers.checkpoint import Checkpoint
from loadstone.solvers.solution import Solution
from loadstone.solvers.stop import NO_LIMITS, Limits

#: Called now and then with the number of passes done, and the mean loss and accuracy of the last.
Progress = Callable[[int, float, float], None]

#: Passes of a solver without a schedule, unless the limits say otherwise.
DEFAULT_PASSES = 2000


@dataclass(frozen=True)
class Request:
    """What is asked of a solver besides problems and memories.

    stop: the stop rule (solvers/stop.py).
    limits: passes and seconds that the search may take.
    precisions: of the products, from PRECISIONS (kernels/products.py): the search begins with the first, and goes on
        to the next when it cannot get further, or seems to have got to its end.
    progress: called now and then with how far the search is.
    checkpoint: the file that the search is kept in, and goes on from. Only one problem can have one.
    """

    stop: str
    limits: Limits = NO_LIMITS
    precisions: tuple[str, ...] = ("float32",)
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None


def automatic_precision() -> str:
    """The precision in which passes are fastest on the present device."""
    return "float32" if jax.default_backend() == "cpu" else "float16"


class Looks(NamedTuple):
    """What a solver can see besides loss and gradient, and how it looks at some of the associations alone.

    wrong: mean softmax weight of the outputs that are not the target, with the shares of the associations.
    at: from parameters, rows and which of these rows count, to the mean loss of those associations and its gradient.
    associations: how many associations there are.
    rows: how many there are with padding.
    length: computes |W| of the memory that was measured, if that is a linear map.
    """

    wrong: Float[Array, ""]
    at: Callable[[PyTree, Int[Array, "b"], Bool[Array, "b"]], tuple[Float[Array, ""], PyTree]]
    associations: Int[Array, ""] | int
    rows: int
    length: Callable[[], Float[Array, ""]]


class Solver(abc.ABC):
    """A way of storing associations. Solvers are frozen dataclasses: they can be compared and hashed, and their fields
    are their parameters."""

    #: Whether it makes a memory without a search: then stop rules, limits and precisions mean nothing to it.
    closed_form: ClassVar[bool] = False

    @abc.abstractmethod
    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], request: Request) -> list[Solution]:
        """Store each problem, starting from the memory of the same index."""

    def precisions(self) -> tuple[str, ...]:
        """What the precision 'auto' means."""
        return (automatic_precision(),)

    def stop(self) -> str:
        """The stop rule that goes with the solver."""
        return "exact"

    def schedule(self) -> int | None:
        """How many passes the solver's schedule has; None if it has no schedule."""
        return None


class Iterative(Solver):
    """A solver that moves a memory from pass to pass. Between two passes it sees what the last one measured, and says
    which memory to try next; the loop around it (solvers/loop.py) does the rest, for one problem or a batch."""

    @abc.abstractmethod
    def start(self, parameters: PyTree) -> PyTree:
        """The state before the first pass, for a memory with these arrays of real numbers."""

    @abc.abstractmethod
    def move(
        self, parameters: PyTree, loss: Float[Array, ""], gradient: PyTree, state: PyTree
    ) -> tuple[PyTree, PyTree]:
        """The parameters to try next and the new state, given loss and gradient at the present ones."""

    def onward(
        self, parameters: PyTree, loss: Float[Array, ""], gradient: PyTree, state: PyTree, looks: Looks
    ) -> tuple[PyTree, PyTree]:
        """What the loop does between two passes: one move, unless the solver also looks at parts of the problem."""
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

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], request: Request) -> list[Solution]:
        from loadstone.solvers.loop import search  # here, because loop.py imports this class

        return search(self, problems, memories, request)
