"""The loop around a search: how many passes it plans, what it tells, and which ends more digits might change."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.memories.families import initial_memory
from loadstone.problems.decoupled import decoupled
from loadstone.solvers import loop
from loadstone.solvers.gradient import Paper
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.minibatch import Minibatch
from loadstone.solvers.search import (
    DIVERGED,
    MINIMUM,
    OUT_OF_DIGITS,
    OUT_OF_PASSES,
    RUNNING,
    SCHEDULE_ENDED,
    STOPPED,
    Program,
    Search,
    SearchOptions,
    may_improve,
    out_of_passes_if_unconfirmed,
)
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

STATUSES = RUNNING, STOPPED, SCHEDULE_ENDED, MINIMUM, OUT_OF_DIGITS, OUT_OF_PASSES, DIVERGED


@pytest.mark.parametrize("solver, allowed, passes, planned", [
    (LBFGS(), None, 2000, False), (LBFGS(), 7, 7, False), (LBFGS(), 1, 1, False),
    (Paper(), None, 513, True), (Paper(), 1000, 513, True), (Paper(), 513, 513, True), (Paper(), 512, 512, False),
    # A round of minibatches and its measurement are two passes.
    (Minibatch(), None, 1000, False), (Minibatch(), 8, 4, False), (Minibatch(), 9, 5, False),
    (Minibatch(), 2, 1, False),
])  # fmt: skip
def test_a_search_has_its_schedule_or_the_passes_that_are_allowed(solver, allowed, passes, planned):
    found = loop.program_of(solver, SearchOptions("exact", Limits(allowed)), "float32")
    assert found == Program(solver, "exact", "float32", passes, planned)


@pytest.mark.parametrize("pace, left, passes, before, expected", [
    (0.01, math.inf, 513, 99, 33), (0.01, math.inf, 160, 99, 25), (0.001, math.inf, 513, 99, 250),
    (0.001, math.inf, 10_000, 99, 625), (0.1, math.inf, 513, 99, 10), (3.0, math.inf, 513, 99, 1),
    (0.01, 0.2, 513, 99, 20), (0.01, 0.001, 513, 99, 1), (0.001, math.inf, 10_000, 1, 8), (0.001, math.inf, 513, 8, 64),
])  # fmt: skip
def test_the_loop_returns_to_python_sixteen_times_but_not_too_often_or_too_late(pace, left, passes, before, expected):
    """After a sixteenth of the passes or a quarter of a second, the longer of both, but within a second and in time;
    and after eight times as many passes as the last time at most."""
    assert loop.passes_of_segment(pace, left, passes, before) == expected


def test_what_is_told_of_a_batch_is_the_furthest_search_and_the_mean_of_all():
    nothing = jnp.nan
    loss = jnp.asarray([[5.0, 4.0, 3.0, nothing], [9.0, 7.0, nothing, nothing]])
    passes, status = jnp.asarray([3, 2]), jnp.asarray([RUNNING, STOPPED])
    assert loop._report(Search(None, None, passes, status, loss, loss / 10)) == (3, "loss 5.0000 accuracy 0.5000")
    alone = Search(None, None, jnp.asarray(2), jnp.asarray(RUNNING), loss[0], loss[0] / 10)
    assert loop._report(alone) == (2, "loss 4.0000 accuracy 0.4000")


@pytest.mark.parametrize("precision, changeable", [
    ("float16", {OUT_OF_DIGITS, STOPPED, MINIMUM}), ("split", {OUT_OF_DIGITS, STOPPED, MINIMUM}),
    ("float32", {OUT_OF_DIGITS}), ("float64", {OUT_OF_DIGITS}),
])  # fmt: skip
def test_which_ends_more_digits_might_change(precision, changeable):
    program = Program(LBFGS(), "exact", precision, 10, False)
    for passes in (9, 10):
        state = Search(None, None, jnp.full(len(STATUSES), passes), jnp.asarray(STATUSES), None, None)
        expected = [status in changeable and passes < 10 for status in STATUSES]
        assert may_improve(state, program).tolist() == expected
        # An end that cannot be confirmed any more, because no pass is left for it, is not claimed.
        seen = out_of_passes_if_unconfirmed(state, program).status.tolist()
        lost = {STOPPED, MINIMUM} & changeable if passes == 10 else set()
        assert seen == [OUT_OF_PASSES if status in lost else status for status in STATUSES]


def test_trees_are_stacked_and_taken_apart_again():
    states = [
        Search(np.full(2, k), None, np.int32(k), np.int32(RUNNING), np.arange(3.0), np.arange(3.0)) for k in (4, 5)
    ]
    assert loop.joined(states[:1]) is states[0]
    together = loop.joined(states)
    assert together.memory.shape == (2, 2)
    apart = loop._members(together, 2)
    assert [int(one.passes) for one in apart] == [4, 5] and apart[1].memory.tolist() == [5, 5]
    assert loop._members(states[1], 1)[0].memory.tolist() == [5, 5]


def test_passes_in_float16_read_outputs_that_are_rounded_once(monkeypatch):
    """Where reading them is faster, and in this precision alone."""
    monkeypatch.setattr("loadstone.problems.decoupled.is_faster_in_float16", lambda case: True)
    read, advance = [], loop.advance_one
    listen = lambda problem, *a: read.append(problem.parts[0].dtype) or advance(problem, *a)  # noqa: E731
    monkeypatch.setattr(loop, "advance_one", listen)
    solver, problem = Paper(steps=1, warmup=0), decoupled(Stream(1, 12), 16)
    for precision in ("float16", "float32"):
        found = solve(problem, initial_memory(12), solver=solver, stop="none", precision=precision)
        assert set(read) == {jnp.dtype(precision)} and found.problem == "decoupled, outputs stored in float32"
        read.clear()
    assert problem.parts[0].dtype == jnp.float32
