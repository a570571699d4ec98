"""The loop around a search: how many passes it plans, what it tells, and which ends more digits might change."""

import math
from types import SimpleNamespace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.solvers.gradient import Paper
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.loop import program_of
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
    drop_slower,
    in_precision,
    may_improve,
    out_of_passes_if_unconfirmed,
)
from loadstone.solvers.segments import passes_of_segment
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve_batch
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
    found = program_of(solver, SearchOptions("exact", Limits(allowed)), "float32")
    assert found == Program(solver, "exact", "float32", passes, planned)


@pytest.mark.parametrize("pace", [1e-5, 1e-3, 0.1, 3.0])
@pytest.mark.parametrize("left", [math.inf, 0.2, 1e-4])
@pytest.mark.parametrize("passes, before", [(513, 99), (10_000, 1), (10, 4)])
def test_the_loop_returns_to_python_often_but_not_too_often_or_too_late(pace, left, passes, before):
    """Within a second and in time, and after a few times the passes of the last time at most."""
    length = passes_of_segment(pace, left, passes, before)
    assert length == 1 or length * pace <= min(1.0, left) and length <= 10 * before
    # To go on takes a while itself: quick searches return a dozen times at most, or after a tenth of a second.
    assert length >= min(passes / 20, 0.5 * min(1.0, left) / pace, 2 * before) or length * pace > 0.1


def test_progress_of_a_batch_is_the_furthest_search_and_the_mean_of_all():
    problems, heard = [original(Stream(0, 8), p) for p in (9, 9)], []
    memories = [initial_memory(8), Full(jnp.zeros((8, 8)))]
    options = {"solver": "sgd:0.5", "stop": "none", "limits": Limits(3), "precision": "float32"}
    together = solve_batch(problems, memories, progress=lambda *said: heard.append(said), **options)
    loss, accuracy = (np.mean([getattr(one, name)[-1] for one in together]) for name in ("loss", "accuracy"))
    assert heard[-1] == (3, f"loss {loss:.4f} accuracy {accuracy:.4f}")


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


LADDER = ("float16", "split", "float32", "float64")


def test_a_precision_that_is_not_faster_is_left_out():
    problems = [SimpleNamespace(gains_from_split=lambda gains=gains: gains) for gains in (True, False)]
    assert [drop_slower(LADDER, problem) for problem in problems] == [LADDER, ("float16", "float32", "float64")]
    # Separate outputs are read in float32 in any case, and few scores are quick in every precision.
    for problem in (original(Stream(0, 5), 20), decoupled(Stream(0, 5), 30, hold="regenerated")):
        assert "split" not in drop_slower(LADDER, problem)


def test_problems_have_the_digits_of_the_passes():
    few = SimpleNamespace(in_float16=lambda: "rounded", in_float64=lambda: None)
    many = SimpleNamespace(in_float16=lambda: "rounded", in_float64=lambda: "double")
    assert in_precision([few, many], "float16") == ["rounded", "rounded"]
    assert in_precision([few, many], "float32") == in_precision([few, many], "split") == [few, many]
    assert in_precision([few, many], "float64") is None and in_precision([many], "float64") == ["double"]


class Exhausted(LBFGS):
    """Has run out of digits at once, in every precision."""

    seen: ClassVar[list[str]] = []

    def out_of_digits(self, state):
        return state.trials >= 0

    def resume(self, parameters, state):
        Exhausted.seen.append(str(parameters[0].dtype))
        return super().resume(parameters, state)


def test_a_search_that_runs_out_of_digits_goes_on_in_every_further_precision():
    problem, Exhausted.seen = original(Stream(0, 4), 12), []
    (found,) = Exhausted().solve([problem], [initial_memory(4)], SearchOptions("exact", precisions=LADDER))
    assert len(Exhausted.seen) == 3 and found.status == Status.OUT_OF_DIGITS
    assert found.memory.weights.dtype == np.float64 and found.passes == 4


def test_numbers_of_too_few_digits_are_refused():
    for memory, kind in ((Full(jnp.zeros((4, 4), jnp.float16)), "float16"), (Full(jnp.zeros((4, 4), int)), "whole")):
        options = SearchOptions("exact")
        with pytest.raises(ValueError, match=f"memory is 'one with {kind} numbers', but must be one with arrays of"):
            LBFGS(whiten=False).solve([original(Stream(0, 4), 6)], [memory], options)
