"""A time limit that is looked at before long work: what would take too long is not begun."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of
from loadstone.problems.instance import Instance
from loadstone.proofs.conditioned import Conditioned
from loadstone.solvers.clock import Clock, OutOfTimeError
from loadstone.solvers.decide import decide
from loadstone.solvers.newton import NewtonSearch, Undecided
from loadstone.streams.stream import Stream


def drawn_for(d, p):
    return Instance(Stream(3, d), p).arrays()


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_work_that_would_take_too_long_is_not_begun(xp):
    done = []
    with jax.enable_x64(True):
        clock = Clock(Deadline(60), xp)
        with pytest.raises(OutOfTimeError):  # no processor does this in a minute
            clock.timed("a solve", 1e18, 1.0, lambda: done.append(1))
        assert not done
        # A hundred times fewer operations than a second has: they are done, and their speed counts from then on.
        clock.timed("a product", clock.speeds["a solve"] / 100 + 10**9, 1.0, lambda: time.sleep(0.05))
    assert clock.speeds["a product"] < (clock.speeds["a solve"] / 100 + 10**9) / 0.05
    with pytest.raises(OutOfTimeError):
        clock.timed("a product", 61 * clock.speeds["a product"], 1.0, lambda: done.append(1))
    assert not done


def test_short_work_and_work_without_a_limit_is_not_measured():
    for seconds, operations in ((None, 1e18), (0.0, 10)):
        clock = Clock(Deadline(seconds), np)
        assert clock.timed("a product", operations, 1.0, lambda: 7) == 7 and not clock.speeds
    # Work of a thousand million operations is not short any more.
    assert Clock(Deadline(0.0), np).timed("a product", 10**9 - 1, 1.0, lambda: 7) == 7
    with pytest.raises(OutOfTimeError):
        Clock(Deadline(0.0), np).timed("a product", 10**9, 1.0, lambda: 7)
    with pytest.raises(OutOfTimeError):
        Clock(Deadline(0.0), np).look()
    Clock(Deadline(), np).look()


@pytest.mark.parametrize("family, dense", [("full", True), ("symmetric", True), ("full", False)])
def test_a_dense_step_is_begun_only_if_it_ends_in_time(family, dense):
    """On a machine that does a thousand operations a second, or on one that is fast enough."""
    arrays = drawn_for(40, 90 if family == "symmetric" else 265)
    search = NewtonSearch(Conditioned(arrays, subspace_of(family, 40)), np, np.zeros((40, 40)), deadline=Deadline(600))
    search.stalled, search.clock.speeds["dense solve"] = True, 1e15 if dense else 1e3
    if dense:
        assert search.run().outcome != "undecided" and search.dense_solves > 0
    else:
        with pytest.raises(Undecided, match="time is up"):
            search.run()
        assert search.dense_solves == 0


def test_a_verdict_does_not_begin_a_pass_that_would_end_too_late():
    """A pass of 64 thousand million operations, and 10 milliseconds."""
    verdict = decide(Instance(Stream(0, 400), 6300).arrays(), seconds=0.01)
    assert verdict.verdict == "undecided" and "time is up" in verdict.reason and verdict.passes == 0


def test_when_time_is_up_no_product_is_begun():
    search = NewtonSearch(Conditioned(drawn_for(16, 62)), np, np.zeros((16, 16)), deadline=Deadline(1e-9))
    with pytest.raises(Undecided, match="time is up"):
        search.run()
    assert search.products == search.steps == 0
