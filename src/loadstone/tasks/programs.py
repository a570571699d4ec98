"""The compiled functions that a run calls, each with the shapes of its arrays: what is compiled before it starts."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp

from loadstone.measurements import accuracy, scores, spectrum
from loadstone.memories import normal
from loadstone.memories.memory import Memory
from loadstone.problems import decoupled
from loadstone.problems.kinds import is_grouped, sets_of_outputs
from loadstone.problems.problem import Problem
from loadstone.solvers import loop
from loadstone.solvers.search import Program
from loadstone.streams import stream
from loadstone.tasks.task import Asked, Call


def making(asked: Asked, problem: Problem, memory: Memory) -> Iterator[Call]:
    """The functions that make a problem and its initial memory from their streams."""
    key, d, law = jax.ShapeDtypeStruct((2,), jnp.uint32), asked.d, asked.law
    rows = stream._rounded_up(problem.inputs.shape[0], stream._COLUMNS)
    yield normal._normal_matrix, (key, d, memory.rank)
    yield stream._shared_rows, (key, rows, d, law)
    if asked.answers is not None or is_grouped(asked.problem):
        yield from _making_answers(asked, problem.inputs.shape[0])
    elif asked.problem == "decoupled":
        yield stream._decoupled_targets, (key, rows, d, law)
        for count in {part.shape[0] for part in _stored_parts(problem)}:
            at_a_time = stream._ROWS if jax.default_backend() == "cpu" else count
            yield stream._decoupled_block, (key, jax.ShapeDtypeStruct((), jnp.uint32), at_a_time, rows, d, law)


def _making_answers(asked: Asked, facts: int) -> Iterator[Call]:
    """The functions that make the outputs of a problem of so many facts with a number of answers."""
    key, first = jax.ShapeDtypeStruct((2,), jnp.uint32), jax.ShapeDtypeStruct((), jnp.uint32)
    columns = stream._rounded_up(asked.answers or facts, stream._COLUMNS)
    if asked.problem == "original":
        yield stream._shared_rows, (key, columns, asked.d, asked.law)
    else:
        at_a_time = stream._ROWS if jax.default_backend() == "cpu" else sets_of_outputs(asked.problem, facts)
        yield stream._decoupled_block, (key, first, at_a_time, columns, asked.d, asked.law)


def training(problem: Problem, memory: Memory, program: Program, count: int) -> Iterator[Call]:
    """The functions of so many searches that are trained together."""
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


def measuring(problem: Problem, memory: Memory, most_scores: int) -> Iterator[Call]:
    """The functions that measure a memory, with histograms of at most so many non-target scores."""
    problem = problem.in_float32()
    yield accuracy._top_scores, (problem, memory)
    yield scores._queries, (memory, problem.inputs)
    queries = scores._queries.eval_shape(memory, problem.inputs)
    yield scores._lengths, (queries,)
    competitors = scores._block.eval_shape(problem, queries, jax.ShapeDtypeStruct((1,), jnp.int32)).shape[1]
    rows = max(1, min(queries.shape[0], most_scores // competitors))
    yield scores._block, (problem, queries, jax.ShapeDtypeStruct((rows,), jnp.int32))
    yield spectrum._matrix, (memory,)
