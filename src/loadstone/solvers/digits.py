"""From one precision to the next: a search that seems to have ended goes on where there are more digits."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from loadstone.problems.problem import Problem
from loadstone.solvers.search_state import (
    MINIMUM,
    OUT_OF_DIGITS,
    OUT_OF_PASSES,
    RUNNING,
    STOPPED,
    Plan,
    Search,
    trained_part,
)


def worthwhile(precisions: Sequence[str], problem: Problem) -> tuple[str, ...]:
    """Without 'split' where it cannot be expected to take less time than float32."""
    return tuple(one for one in precisions if one != "split" or problem.gains_from_split())


def unconfirmed_out_of_passes(state: Search, plan: Plan) -> Search:
    """An end that was seen in few digits with the last pass that was allowed cannot be confirmed any more."""
    seen = (state.status == STOPPED) | (state.status == MINIMUM)
    unconfirmed = seen & (state.passes >= plan.passes) & (plan.precision not in ("float32", "float64"))
    return state._replace(status=jnp.where(unconfirmed, OUT_OF_PASSES, state.status))


def unsettled(state: Search, plan: Plan) -> Bool[np.ndarray, "..."]:
    """Which searches have ended in a way that more digits might change. Float32 has enough of them to see the end, if
    not always to get there."""
    kinds = (OUT_OF_DIGITS,) if plan.precision in ("float32", "float64") else (OUT_OF_DIGITS, STOPPED, MINIMUM)
    ended = np.isin(np.asarray(state.status), kinds)
    return np.asarray(ended & (np.asarray(state.passes) < plan.passes))


def resumed(state: Search, going_on: Bool[np.ndarray, "..."], plan: Plan) -> Search:
    """The state of a search, or of a batch, that goes on in another precision."""

    def resume(state: Search) -> Search:
        return state._replace(solver=plan.solver.resume(trained_part(state.memory)[0], state.solver))

    status = jnp.where(going_on, RUNNING, state.status)
    return (resume(state) if status.ndim == 0 else jax.vmap(resume)(state))._replace(status=status)


def in_precision(problems: Sequence[Problem], precision: str) -> Sequence[Problem] | None:
    """The problems for passes in a precision, or None if one of them does not have the digits."""
    if precision == "float16":
        return [problem.in_float16() for problem in problems]
    if precision != "float64":
        return problems
    doubles = [double for problem in problems if (double := problem.in_float64()) is not None]
    return doubles if len(doubles) == len(problems) else None


def in_digits(state: Search, precision: str) -> Search:
    if precision != "float64":
        return state
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float64) if leaf.dtype == jnp.float32 else leaf, state)
