"""Compile the programs of a run before it starts: a GPU that waits for a compiler computes nothing.

A function is lowered and compiled here for the shapes of its arrays alone, which takes no memory on the device. JAX
keeps the compiled program, and the later call with the arrays finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from itertools import product

import jax
import jax.numpy as jnp

from loadstone.measurements import accuracy, scores, spectrum
from loadstone.memories import normal
from loadstone.memories.families import initial_memory
from loadstone.memories.memory import Memory
from loadstone.problems import decoupled
from loadstone.problems.budget import Budget
from loadstone.problems.kinds import is_grouped, sets_of_outputs
from loadstone.problems.problem import Problem
from loadstone.runs import result
from loadstone.runs.plan import batch_sizes
from loadstone.runs.run import problem_of
from loadstone.runs.spec import OF_STREAMS, REACH, Spec
from loadstone.solvers import hebbian, loop
from loadstone.solvers.search import Program, SearchOptions, drop_slower
from loadstone.solvers.solver import Iterative
from loadstone.solvers.stop import Limits
from loadstone.streams import stream
from loadstone.tasks.reach import SameShape

#: A compiled function and its arguments: shapes in place of arrays, values for static arguments.
Call = tuple[jax.stages.Wrapped, tuple]


def compile_ahead(specs: Sequence[Spec], platform: str, budget: int | None, compilers: Executor) -> list[Future]:
    """Let compilers compile everything that `specs` will need in training and measuring. They are runs of one program,
    the largest first. What is returned tells when each function is compiled."""
    return [compilers.submit(_compile, *call) for call in calls(specs, platform, budget)]


def _compile(function: jax.stages.Wrapped, arguments: tuple) -> None:
    lowered = function.lower(*arguments)
    lowered.compile()


def calls(specs: Sequence[Spec], platform: str, budget: int | None = None) -> Iterator[Call]:
    """The compiled functions that runs call, in their order."""
    spec = specs[0]
    if spec.solver == REACH:
        yield from _reaching(spec, Budget(budget) if budget else None)
    solver = None if spec.solver in OF_STREAMS else spec.made_solver
    if not (isinstance(solver, Iterative) or (solver and solver.closed_form)):
        return
    size, together = (1, 1) if budget else batch_sizes(specs, platform)
    problem = jax.eval_shape(lambda: problem_of(spec, Budget(budget) if budget else None))
    memory = jax.eval_shape(lambda: initial_memory(spec.d, spec.kappa, spec.seed, spec.family))
    yield from _making(spec, problem, memory)
    if isinstance(solver, Iterative):
        precision = solver.precisions()[0] if spec.precision == "auto" else spec.precision
        program = loop.program_of(solver, SearchOptions(spec.stop), precision)
        yield from _training(problem, memory, program, max(len(specs[:size]), together))
    elif spec.solver == "hebbian":
        yield hebbian._sum, (problem,)
    yield from _measuring(problem, memory)


def _making(spec: Spec, problem: Problem, memory: Memory) -> Iterator[Call]:
    """The functions that make a problem and its initial memory from their streams."""
    key, d, law = jax.ShapeDtypeStruct((2,), jnp.uint32), spec.d, spec.law
    rows = stream._rounded_up(problem.inputs.shape[0], stream._COLUMNS)
    yield normal._normal_matrix, (key, d, memory.rank)
    yield stream._shared_rows, (key, rows, d, law)
    if spec.answers is not None or is_grouped(spec.problem):
        yield from _making_answers(spec, problem.inputs.shape[0])
    elif spec.problem == "decoupled":
        yield stream._decoupled_targets, (key, rows, d, law)
        for count in {part.shape[0] for part in _stored_parts(problem)}:
            at_a_time = stream._ROWS if jax.default_backend() == "cpu" else count
            yield stream._decoupled_block, (key, jax.ShapeDtypeStruct((), jnp.uint32), at_a_time, rows, d, law)


def _making_answers(spec: Spec, facts: int) -> Iterator[Call]:
    """The functions that make the outputs of a problem of so many facts with a number of answers."""
    key, columns = jax.ShapeDtypeStruct((2,), jnp.uint32), stream._rounded_up(spec.answers or facts, stream._COLUMNS)
    if spec.problem == "original":
        yield stream._shared_rows, (key, columns, spec.d, spec.law)
    else:
        at_a_time = stream._ROWS if jax.default_backend() == "cpu" else sets_of_outputs(spec.problem, facts)
        yield stream._decoupled_block, (key, jax.ShapeDtypeStruct((), jnp.uint32), at_a_time, columns, spec.d, spec.law)


def _training(problem: Problem, memory: Memory, program: Program, count: int) -> Iterator[Call]:
    state = jax.eval_shape(lambda memory: loop.begun(memory, program), memory)
    until = jax.ShapeDtypeStruct((), jnp.int32)
    if program.precision == "float16":
        rounded = jax.eval_shape(lambda problem: problem.in_float16(), problem)
        if rounded != problem:
            yield from ((decoupled.rounded_part, (part,)) for part in set(_stored_parts(problem)))
        problem = rounded
    if count == 1:
        yield loop.advance_one, (problem, state, until, program)
        return
    stacked = (jax.eval_shape(lambda one: loop.joined([one] * count), one) for one in (problem, state))
    yield loop.advance_batch, (*stacked, until, program)


def _stored_parts(problem: Problem) -> tuple[jax.ShapeDtypeStruct, ...]:
    """The arrays in which a decoupled problem stores its outputs, padded or not."""
    return getattr(getattr(problem, "longer", problem), "parts", ())


def _reaching(spec: Spec, budget: Budget | None) -> Iterator[Call]:
    """What a bisection calls for every p that is not far from the first: its problems have one shape."""
    effort, memory = spec.effort, jax.eval_shape(lambda: initial_memory(spec.d, spec.kappa, spec.seed, spec.family))
    if is_grouped(spec.problem) or effort.rivals > 1 or not isinstance(effort.solver, Iterative):
        return
    problem = jax.eval_shape(lambda: SameShape(spec.instance, budget).first(spec.p))
    yield from _making(spec, problem, memory)
    options = SearchOptions(effort.enough, Limits(effort.passes))
    precisions = drop_slower(effort.solver.precisions(), problem) if effort.digits == "auto" else (effort.digits,)
    # One start is tried for every p. If there are more, all are tried in the end, and are not given up as early.
    solvers = dict.fromkeys((effort.one_start.solver_from(memory), effort.solver_from(memory)))
    for solver, precision in product(solvers, precisions):
        if isinstance(solver, Iterative) and precision != "float64":  # which few searches come to
            yield from _training(problem, memory, loop.program_of(solver, options, precision), 1)
    yield accuracy._top_scores, (problem.in_float32(), memory)


def _measuring(problem: Problem, memory: Memory) -> Iterator[Call]:
    problem = problem.in_float32()
    yield accuracy._top_scores, (problem, memory)
    yield scores._queries, (memory, problem.inputs)
    queries = scores._queries.eval_shape(memory, problem.inputs)
    yield scores._lengths, (queries,)
    competitors = scores._block.eval_shape(problem, queries, jax.ShapeDtypeStruct((1,), jnp.int32)).shape[1]
    rows = max(1, min(queries.shape[0], result._HISTOGRAM_SCORES // competitors))
    yield scores._block, (problem, queries, jax.ShapeDtypeStruct((rows,), jnp.int32))
    yield spectrum._matrix, (memory,)
