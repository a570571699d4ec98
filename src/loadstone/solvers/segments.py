"""A search of an iterative solver, seen from Python: from one precision to the next, and in segments of passes.

After each segment the compiled loop (solvers/loop.py) returns to Python, which shows progress, checks the time limit,
writes the checkpoint and can be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from loadstone.arguments import refuse
from loadstone.deadline import Deadline
from loadstone.hosts import agreed
from loadstone.problems.problem import Problem
from loadstone.progress import Progress, silent
from loadstone.solvers.checkpoint import Saved, rebuilt
from loadstone.solvers.loop import advance_batch, advance_one, begun, joined, program_of
from loadstone.solvers.search import (
    OUT_OF_DIGITS,
    OUT_OF_PASSES,
    RUNNING,
    STATUS,
    Program,
    Search,
    SearchOptions,
    in_digits,
    in_precision,
    in_words,
    may_improve,
    out_of_passes_if_unconfirmed,
    resumed,
    trained_part,
)
from loadstone.solvers.solution import Solution, Status

if TYPE_CHECKING:
    from loadstone.solvers.solver import Iterative

#: The loop returns to Python after about this many seconds, so that Ctrl-C works; and at least this many times, to show
#: progress, but not sooner than after this many seconds: each return costs a GPU a millisecond.
_LONGEST, _SEGMENTS, _SHORTEST = 1.0, 16, 0.25
#: A segment has at most this many times the passes of the last, however fast these were: others may be slower.
_GROWTH = 8

#: Whether the search in this context is abandoned; checked whenever the loop returns to Python. Ctrl-C reaches only the
#: main thread, so a search in another thread is stopped by this.
is_abandoned: ContextVar[Callable[[], bool]] = ContextVar("is_abandoned", default=lambda: False)


class Abandoned(BaseException):
    """Nobody waits for the search any more. Like an interrupt, this is no error of the search."""


def search(
    solver: Iterative, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions
) -> list[Solution]:
    """Store problems of equal shape as one program, starting from memories of equal shape; each stops on its own.

    In every precision but the last, a search that seems to have ended goes on in the next, which has more digits.
    """
    deadline, before = Deadline(options.limits.seconds), 0.0
    for memory in memories:
        _check_trainable(memory)
    state: Search | None = None
    going_on, precisions = np.asarray(True), list(options.precisions)
    saved = options.checkpoint.read() if options.checkpoint else None
    if saved is not None and options.checkpoint:
        precisions, before = list(saved.precisions), saved.seconds
        if not precisions or precisions != list(options.precisions)[-len(precisions) :]:
            stated = f"it goes on in {', '.join(precisions) or 'no precision'}"
            raise refuse("checkpoint", str(options.checkpoint.path), f"an undamaged checkpoint ({stated})")

    def keep(state: Search, now: bool = False) -> None:
        """Write a state to the checkpoint, if there is one, and if it is time or must be done now."""
        if options.checkpoint is not None and (now or options.checkpoint.is_due()):
            done = jax.device_get(state)
            done = done._replace(loss=done.loss[: done.passes], accuracy=done.accuracy[: done.passes])
            options.checkpoint.write(done, ahead, before + deadline.taken)

    while precisions:
        program = program_of(solver, options, precision := precisions.pop(0))
        with jax.enable_x64(True) if precision == "float64" else nullcontext():
            if (lifted := in_precision(problems, precision)) is None:
                break
            ahead = (precision, *precisions)
            if saved is not None:
                state, saved = _continued(saved, memories[0], program, options), None
            elif state is None:
                state = joined([begun(memory, program) for memory in memories])
            else:
                state = resumed(state, going_on, program)
            state = _advanced(joined(lifted), in_digits(state, precision), program, deadline, options.progress, keep)
        if precisions:
            state = out_of_passes_if_unconfirmed(state, program)
        if not (going_on := may_improve(state, program)).any():
            break
        if not (np.asarray(state.status) == OUT_OF_DIGITS).any() and "float32" in precisions:
            del precisions[: precisions.index("float32")]  # only the end is to be confirmed
    if state is None:
        raise refuse("precision", "float64", f"another: {type(problems[0]).__name__} has no numbers in float64")
    keep(state, now=True)
    seconds = (before + deadline.taken) / len(problems)
    states = _members(state, len(problems))
    return [_solution(state, options.stop, seconds, problem.description) for state, problem in zip(states, problems)]


def _advanced(
    problem: Problem, state: Search, program: Program, deadline: Deadline, progress: Progress, keep: Callable[..., None]
) -> Search:
    """Go on until every search has ended, or time is up."""
    advance = advance_one if state.status.ndim == 0 else advance_batch
    length, compiling = 1, True
    try:
        while (np.asarray(state.status) == RUNNING).any():
            clock = Deadline()
            further = advance(problem, state, jnp.int32(int(np.max(state.passes)) + length), program)
            state = jax.block_until_ready(further)
            if is_abandoned.get()():
                raise Abandoned
            if progress is not silent:
                progress(*_report(state))
            pace, left = clock.taken / length, deadline.left
            # A pass that would end too late is not begun. The first segment may also compile: its pace does not count.
            is_late = left <= 0 or (pace > left and not compiling)
            length = passes_of_segment(pace, left, program.passes, length)
            if not (length := agreed(0 if is_late else length)):
                break
            compiling = False
            keep(state)
    except KeyboardInterrupt:
        keep(state, now=True)
        raise
    return state


def passes_of_segment(pace: float, left: float, passes: int, before: int) -> int:
    """How many passes to do before the loop returns to Python, if one takes `pace` seconds, `left` seconds are left,
    the whole search may have `passes` passes, and the last segment had `before`."""
    often = max(-(-passes // _SEGMENTS), int(_SHORTEST / pace))
    return max(1, min(int(min(_LONGEST, left) / pace), often, _GROWTH * before))


def _continued(saved: Saved, memory: Any, program: Program, options: SearchOptions) -> Search:
    """The state of a search from its checkpoint."""
    assert options.checkpoint is not None
    path, passes = options.checkpoint.path, len(saved.arrays.get(".loss", ()))
    if passes > program.passes:
        raise refuse("passes", options.limits.passes, f"more than the {passes} that are done in {path}")
    short = program._replace(passes=passes)
    like = jax.eval_shape(lambda memory: in_digits(begun(memory, short), program.precision), memory)
    state: Search = jax.tree.map(jnp.asarray, rebuilt(saved, like, path))
    if not 0 <= int(state.status) < len(STATUS) or int(state.passes) != passes:
        stated = f"it states the status {int(state.status)} after {int(state.passes)} passes, and has {passes}"
        raise refuse("checkpoint", str(path), f"an undamaged checkpoint ({stated})")
    rest = jnp.full(program.passes - passes, jnp.nan, state.loss.dtype)
    state = state._replace(loss=jnp.append(state.loss, rest), accuracy=jnp.append(state.accuracy, rest))
    if int(state.status) == OUT_OF_PASSES and passes < program.passes:
        # More are allowed now. The last pass left the memory where it was: repeated, it lets the solver move.
        state = state._replace(status=jnp.int32(RUNNING), passes=jnp.int32(passes - 1))
    return state


def _check_trainable(memory: Any) -> None:
    """Refuse a memory with nothing to train, or with numbers of too low precision for small steps."""
    kinds = {str(array.dtype) for array in trained_part(memory)[0]}
    if not kinds or not kinds <= {"float32", "float64"}:
        kind = " and ".join(sorted(kinds)) or "whole"
        raise refuse("memory", f"one with {kind} numbers", "one with arrays of float32 or float64 numbers to train")


def _members(tree: Search, count: int) -> list[Search]:
    """The members of a joined state, one by one, on the host."""
    leaves, structure = jax.tree.flatten(jax.device_get(tree))
    if count == 1:
        return [jax.tree.unflatten(structure, leaves)]
    return [jax.tree.unflatten(structure, [leaf[index] for leaf in leaves]) for index in range(count)]


def _report(state: Search) -> tuple[int, str]:
    """The passes of the search that is furthest, and the mean loss and accuracy of the last passes of all, in words."""
    # Indexed as NumPy arrays: JAX would compile a program for every new length or index.
    passes, *traces = (np.atleast_1d(np.asarray(part)) for part in (state.passes, state.loss, state.accuracy))
    loss, accuracy = (trace.reshape(len(passes), -1)[np.arange(len(passes)), passes - 1].mean() for trace in traces)
    return int(passes.max()), in_words(float(loss), float(accuracy))


def _solution(state: Search, stop: str, seconds: float, problem: str) -> Solution:
    passes = int(state.passes)
    loss, accuracy = (np.asarray(trace)[:passes] for trace in (state.loss, state.accuracy))
    # JAX keeps float64 numbers only while it has them switched on, NumPy always.
    memory = jax.tree.map(lambda leaf: leaf if leaf.dtype == np.float64 else jax.device_put(leaf), state.memory)
    status = STATUS[int(state.status)]
    if status == Status.STOPPED and stop == "exact":
        status = Status.STORED
    return Solution(memory, status, passes, loss, accuracy, seconds, problem)
