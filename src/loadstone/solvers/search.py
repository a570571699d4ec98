"""The state of an iterative search, what its compiled program depends on, and how it goes from one precision to the
next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from loadstone.problems.loss import is_real
from loadstone.problems.problem import Problem
from loadstone.progress import Progress, silent
from loadstone.solvers.checkpoint import Checkpoint
from loadstone.solvers.solution import Status
from loadstone.solvers.stop import NO_LIMITS, Limits

if TYPE_CHECKING:
    from loadstone.solvers.solver import Iterative

Scalar = Float[Array, ""]

#: Passes of a solver without a schedule, unless the limits say otherwise.
DEFAULT_PASSES = 2000


@dataclass(frozen=True)
class SearchOptions:
    """What is asked of a solver besides problems and memories.

    stop: the stop rule (solvers/stop.py).
    limits: passes and seconds that the search may take.
    precisions: of the products, from PRECISIONS (kernels/products.py): the search begins with the first, and goes on
        to the next when it cannot get further, or seems to be at its end.
    progress: called now and then with the passes done, and the mean loss and accuracy of the last, in words.
    checkpoint: the file that the search is kept in, and goes on from. Only one problem can have one.
    """

    stop: str
    limits: Limits = NO_LIMITS
    precisions: tuple[str, ...] = ("float32",)
    progress: Progress = silent
    checkpoint: Checkpoint | None = None


def in_words(loss: float, accuracy: float) -> str:
    """The state of a search in words, for progress."""
    return f"loss {loss:.4f} accuracy {accuracy:.4f}"


#: Statuses as numbers, for compiled programs, and what each of them is in words.
RUNNING, STOPPED, SCHEDULE_ENDED, MINIMUM, OUT_OF_DIGITS, OUT_OF_PASSES, DIVERGED = range(7)
STATUS = (
    Status.OUT_OF_TIME,  # only the clock ends a search that is still running
    Status.STOPPED, Status.SCHEDULE_ENDED, Status.MINIMUM, Status.OUT_OF_DIGITS, Status.OUT_OF_PASSES, Status.DIVERGED,
)  # fmt: skip


class PassInfo(NamedTuple):
    """What a solver can see besides loss and gradient, and how it passes over some of the associations alone.

    wrong: mean softmax weight of the outputs that are not the target, with the shares of the associations.
    at: from parameters, rows and which of these rows count, to the mean loss of those associations and its gradient.
    associations: how many associations there are.
    rows: how many there are with padding.
    length: computes |W| of the memory that was measured, if that is a linear map.
    """

    wrong: Scalar
    at: Callable[[PyTree, Int[Array, "b"], Bool[Array, "b"]], tuple[Scalar, PyTree]]
    associations: Int[Array, ""] | int
    rows: int
    length: Callable[[], Scalar]


class Program(NamedTuple):
    """What the compiled program depends on besides shapes.

    solver, stop, precision: the solver, the stop rule and the precision of the products.
    passes: the search ends after this many that measure the memory.
    planned: whether that is the end of the solver's schedule and not a limit of the user.
    """

    solver: Iterative
    stop: str
    precision: str
    passes: int
    planned: bool


class Search(NamedTuple):
    """The state of a search.

    memory: the memory that the next pass will measure.
    solver: the state of the solver.
    passes: how many passes are done.
    status: how the search ended, as a number, or that it is running.
    loss, accuracy: mean loss and accuracy that each pass measured.
    """

    memory: Any
    solver: PyTree
    passes: Int[Array, ""]
    status: Int[Array, ""]
    loss: Float[Array, "passes"]
    accuracy: Float[Array, "passes"]


def trained_part(memory: Any) -> tuple[list[Array], Any]:
    """The arrays of real numbers of a memory, and a function that rebuilds it; masks, indices and the fields that the
    memory calls fixed stay as they are."""
    paths, structure = jax.tree_util.tree_flatten_with_path(memory)
    fixed = {jax.tree_util.GetAttrKey(name) for name in getattr(memory, "fixed", ())}
    leaves = [leaf for _, leaf in paths]
    trained = [is_real(leaf) and not fixed.intersection(path[:1]) for path, leaf in paths]

    def rebuilt(parameters: list[Array]) -> Any:
        given = iter(parameters)
        both = zip(trained, leaves)
        return jax.tree.unflatten(structure, [next(given) if is_trained else leaf for is_trained, leaf in both])

    return [leaf for is_trained, leaf in zip(trained, leaves) if is_trained], rebuilt


def drop_slower(precisions: Sequence[str], problem: Problem) -> tuple[str, ...]:
    """The precisions, without 'split' where it cannot be expected to take less time than float32."""
    return tuple(one for one in precisions if one != "split" or problem.gains_from_split())


def out_of_passes_if_unconfirmed(state: Search, program: Program) -> Search:
    """'Out of passes' where an end was seen in few digits with the last pass, and cannot be confirmed any more."""
    seen = (state.status == STOPPED) | (state.status == MINIMUM)
    unconfirmed = seen & (state.passes >= program.passes) & (program.precision not in ("float32", "float64"))
    return state._replace(status=jnp.where(unconfirmed, OUT_OF_PASSES, state.status))


def may_improve(state: Search, program: Program) -> Bool[np.ndarray, "..."]:
    """Which searches have ended in a way that more digits might change. Float32 has enough of them to recognise
    the end, if not always to reach it."""
    kinds = (OUT_OF_DIGITS,) if program.precision in ("float32", "float64") else (OUT_OF_DIGITS, STOPPED, MINIMUM)
    return np.asarray(np.isin(np.asarray(state.status), kinds) & (np.asarray(state.passes) < program.passes))


def resumed(state: Search, going_on: Bool[np.ndarray, "..."], program: Program) -> Search:
    """The state of a search, or of a batch, that goes on in another precision."""

    def resume(state: Search) -> Search:
        return state._replace(solver=program.solver.resume(trained_part(state.memory)[0], state.solver))

    status = jnp.where(going_on, RUNNING, state.status)
    return (resume(state) if status.ndim == 0 else jax.vmap(resume)(state))._replace(status=status)


def in_precision(problems: Sequence[Problem], precision: str) -> Sequence[Problem] | None:
    """The problems for passes in a precision, or None if one of them does not have float64 numbers."""
    if precision == "float16":
        return [problem.in_float16() for problem in problems]
    if precision != "float64":
        return problems
    doubles = [double for problem in problems if (double := problem.in_float64()) is not None]
    return doubles if len(doubles) == len(problems) else None


def in_digits(state: Search, precision: str) -> Search:
    """The state with numbers of the type that passes in this precision have."""
    if precision != "float64":
        return state
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float64) if leaf.dtype == jnp.float32 else leaf, state)
