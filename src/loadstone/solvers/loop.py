"""The loop of an iterative solver: pass after pass until a rule, a limit or the solver itself ends it.

It is one compiled program for one problem or a batch of them, and its state stays on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from loadstone.compiling import Call, compiled_loop
from loadstone.kernels.recall import Recall
from loadstone.problems.decoupled import rounding_programs
from loadstone.problems.loss import mean_loss
from loadstone.problems.problem import Problem
from loadstone.solvers.search import (
    DEFAULT_PASSES,
    DIVERGED,
    MINIMUM,
    OUT_OF_DIGITS,
    OUT_OF_PASSES,
    RUNNING,
    SCHEDULE_ENDED,
    STOPPED,
    PassInfo,
    Program,
    Scalar,
    Search,
    SearchOptions,
    trained_part,
)
from loadstone.solvers.stop import met

if TYPE_CHECKING:
    from loadstone.solvers.solver import Iterative


def program_of(solver: Iterative, options: SearchOptions, precision: str) -> Program:
    """The program that is compiled for a search in one precision, as far as it depends on more than shapes."""
    planned = solver.schedule()
    allowed = options.limits.passes
    if planned is not None and (allowed is None or planned <= allowed):
        return Program(solver, options.stop, precision, planned, True)
    measured = (allowed or DEFAULT_PASSES) - 1
    return Program(solver, options.stop, precision, 1 + measured // solver.passes_per_move(), False)


def begun(memory: Any, program: Program) -> Search:
    """A search before its first pass."""
    memory = jax.tree.map(jnp.asarray, memory)
    trace = jnp.full(program.passes, jnp.nan)
    return Search(memory, program.solver.start(trained_part(memory)[0]), jnp.int32(0), jnp.int32(RUNNING), trace, trace)


def joined(trees: Sequence[Any]) -> Any:
    """A single tree as it is, several of them stacked."""
    return trees[0] if len(trees) == 1 else jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


@partial(compiled_loop, static_argnames="program")
def advance_one(problem: Problem, state: Search, until: Int[Array, ""], program: Program) -> Search:
    """Go on until `until` passes are done, or the search ends."""
    return _advance(problem, state, until, program)


@partial(compiled_loop, static_argnames="program")
def advance_batch(problems: Problem, states: Search, until: Int[Array, ""], program: Program) -> Search:
    """`advance_one` for stacked problems and states: they pass together, and one that has ended stays unchanged."""
    return jax.vmap(lambda problem, state: _advance(problem, state, until, program))(problems, states)


def programs(problem: Problem, memory: Any, program: Program, count: int) -> Iterator[Call]:
    """The compiled functions that `count` searches together call, given the shapes of a problem and a memory."""
    state, until = jax.eval_shape(partial(begun, program=program), memory), jax.ShapeDtypeStruct((), jnp.int32)
    if program.precision == "float16":
        rounded = jax.eval_shape(lambda problem: problem.in_float16(), problem)
        if rounded != problem:
            yield from rounding_programs(problem)
        problem = rounded
    if count == 1:
        yield advance_one, (problem, state, until, program)
        return
    stacked = (jax.eval_shape(lambda tree: joined([tree] * count), tree) for tree in (problem, state))
    yield advance_batch, (*stacked, until, program)


def _advance(problem: Problem, state: Search, until: Int[Array, ""], program: Program) -> Search:
    unfinished = lambda state: (state.status == RUNNING) & (state.passes < until)  # noqa: E731
    return jax.lax.while_loop(unfinished, partial(_pass, problem.prepared(program.precision), program), state)


def _pass(problem: Problem, program: Program, state: Search) -> Search:
    """Measure the memory; end if a rule is met, else let the solver move it."""
    parameters, rebuilt = trained_part(state.memory)
    loss_of = partial(_loss, rebuilt=rebuilt, precision=program.precision)
    measure = jax.value_and_grad(loss_of, argnums=1, has_aux=True)
    (loss, recall), gradient = measure(problem, parameters)
    n, violations = problem.associations, jnp.sum(~recall.stored)
    last = state.passes + 1 >= program.passes
    status = jnp.where(last, SCHEDULE_ENDED if program.planned else OUT_OF_PASSES, RUNNING)
    status = jnp.where(program.solver.out_of_digits(state.solver), OUT_OF_DIGITS, status)
    status = jnp.where(program.solver.minimum(state.solver), MINIMUM, status)
    # 'exact' is a promise about W itself, so there only margins count that no rounding can have made.
    unsure = jnp.sum(~recall.stored_beyond_rounding) if program.stop == "exact" else violations
    status = jnp.where(met(program.stop, unsure, n), STOPPED, status)
    status = jnp.where(jnp.isfinite(loss), status, DIVERGED)

    def at(parameters: list[Array], rows: Int[Array, "b"], counted: Bool[Array, "b"]) -> tuple[Array, list[Array]]:
        part = problem.part(rows, counted)
        assert part is not None  # the solver has checked this before the search began
        (loss, _), gradient = measure(part, parameters)
        return loss, gradient

    wrong, rows = _mean(-jnp.expm1(-recall.loss), problem), problem.inputs.shape[-2]
    info = PassInfo(wrong, at, n, rows, lambda: jnp.linalg.norm(state.memory.matrix()))
    moved, solver = program.solver.step(parameters, loss, gradient, state.solver, info)
    going_on = lambda new, old: jnp.where(status == RUNNING, new, old)  # noqa: E731
    parameters, solver = jax.tree.map(going_on, (moved, solver), (parameters, state.solver))
    traced = lambda trace, value: trace.at[state.passes].set(value.astype(trace.dtype))  # noqa: E731
    traces = traced(state.loss, loss), traced(state.accuracy, 1 - violations / n)
    return Search(rebuilt(parameters), solver, state.passes + 1, status.astype(jnp.int32), *traces)


def _loss(
    problem: Problem, parameters: list[Array], rebuilt: Callable[[list[Array]], Any], precision: str
) -> tuple[Scalar, Recall]:
    return mean_loss(problem, rebuilt(parameters), precision=precision)


def _mean(numbers: Float[Array, "n"], problem: Problem) -> Scalar:
    """The mean over the associations, with their shares."""
    if problem.shares is None:
        return numbers.sum() / problem.associations
    return (problem.shares * numbers).sum() / problem.shares.sum()
