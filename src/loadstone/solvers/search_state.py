"""The state of an iterative search, and what its compiled program depends on."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from loadstone.solvers.solution import Status
from loadstone.solvers.solver import Iterative

#: Statuses as numbers, for compiled programs.
RUNNING, STOPPED, SCHEDULE_ENDED, MINIMUM, OUT_OF_DIGITS, OUT_OF_PASSES, DIVERGED = range(7)
STATUS = {
    RUNNING: Status.OUT_OF_TIME,  # only the clock ends a search that is still running
    STOPPED: Status.STOPPED,
    SCHEDULE_ENDED: Status.SCHEDULE_ENDED,
    MINIMUM: Status.MINIMUM,
    OUT_OF_DIGITS: Status.OUT_OF_DIGITS,
    OUT_OF_PASSES: Status.OUT_OF_PASSES,
    DIVERGED: Status.DIVERGED,
}


class Plan(NamedTuple):
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
    real = [jnp.issubdtype(jnp.result_type(leaf), jnp.inexact) for leaf in leaves]
    trained = [is_real and not fixed.intersection(path[:1]) for is_real, (path, _) in zip(real, paths)]

    def rebuilt(parameters: list[Array]) -> Any:
        given = iter(parameters)
        return jax.tree.unflatten(structure, [next(given) if one else leaf for one, leaf in zip(trained, leaves)])

    return [leaf for one, leaf in zip(trained, leaves) if one], rebuilt
