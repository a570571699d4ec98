"""A time limit that is looked at before long work: what would take too long is not begun."""

import math
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.threshold import Prefixes
from loadstone.problems.stream import Stream
from loadstone.solvers import clock as clocks
from loadstone.solvers.clock import Clock, OutOfTimeError
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.hessian import Hessian


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_work_that_would_take_too_long_is_not_begun(xp):
    done = []
    with jax.enable_x64(True):
        clock = Clock(time.perf_counter() + 60, xp)
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
    for end, operations in ((math.inf, 1e18), (0.0, 10)):
        clock = Clock(end, np)
        assert clock.timed("a product", operations, 1.0, lambda: 7) == 7 and not clock.speeds
    with pytest.raises(OutOfTimeError):
        Clock(0.0, np).look()
    Clock(math.inf, np).look()


def test_a_verdict_does_not_begin_a_dense_step_that_would_end_too_late(monkeypatch):
    arrays = Prefixes("original", Stream(3, 16)).of(62)
    monkeypatch.setattr(Hessian, "conjugate_gradients", lambda self, target, *_: (0 * target, False))
    assert decide(arrays).dense_solves > 0
    monkeypatch.setattr(clocks, "_SOON", 0)
    assert decide(arrays, seconds=60).dense_solves > 0
    monkeypatch.setattr(Clock, "_speed_of_a_product", lambda self: 1e6)  # a very busy machine
    began = time.perf_counter()
    verdict = decide(arrays, seconds=2)
    assert verdict.verdict == "undecided" and "time is up" in verdict.reason
    assert verdict.dense_solves == 0 and verdict.seconds < 2 and time.perf_counter() - began < 60


def test_a_verdict_does_not_begin_a_pass_that_would_end_too_late():
    """A pass of 64 thousand million operations, and 10 milliseconds."""
    verdict = decide(Prefixes("original", Stream(0, 400)).of(6300), seconds=0.01)
    assert verdict.verdict == "undecided" and "time is up" in verdict.reason and verdict.passes == 0


def test_conjugate_gradients_look_at_the_clock(monkeypatch):
    """Each product may take long, and there may be hundreds."""
    arrays = Prefixes("original", Stream(3, 16)).of(62)
    products = []

    def slow(self, v, real=Hessian.product):
        products.append(time.sleep(0.05))
        return real(self, v)

    monkeypatch.setattr(Hessian, "product", slow)
    verdict = decide(arrays, ProofLimits(seconds=0.2))
    assert verdict.verdict == "undecided" and 1 <= len(products) <= 5
