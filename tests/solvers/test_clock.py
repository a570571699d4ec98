"""A time limit that is looked at before long work: what would take too long is not begun."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.deadline import Deadline
from loadstone.problems.instance import Instance
from loadstone.solvers import clock as clocks
from loadstone.solvers.clock import Clock, OutOfTimeError
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.hessian import Hessian
from loadstone.streams.stream import Stream
from tests.solvers.searches import drawn


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


def test_a_verdict_does_not_begin_a_dense_step_that_would_end_too_late(monkeypatch):
    arrays = Instance(Stream(3, 16), 62).arrays()
    monkeypatch.setattr(Hessian, "conjugate_gradients", lambda self, target, *_: (0 * target, False))
    assert decide(arrays).dense_solves > 0
    monkeypatch.setattr(clocks, "_SOON", 0)
    assert decide(arrays, seconds=60).dense_solves > 0
    monkeypatch.setattr(Clock, "_speed_of_a_product", lambda self: 1e6)  # a very busy machine
    began = time.perf_counter()
    verdict = decide(arrays, seconds=2)
    assert verdict.verdict == "undecided" and "time is up" in verdict.reason
    assert verdict.dense_solves == 0 and verdict.seconds < 2 and time.perf_counter() - began < 60


@pytest.mark.parametrize("instance, family, expected", [
    (drawn(36, 36, 10, seed=2), "full", {("covariances", 36 * 36 * 10**2, 0.25),
                                         ("dense solve", 36 * 10**4 / 2 + 10**6 / 3, 0.4)}),
    (drawn(20, 20, 10, seed=2), "traceless", {("covariances", 20 * 20 * 10**2, 0.25),
                                              ("dense solve", 20 * 10**4 / 2 + 2 * 10**4 + 54**3 / 3, 0.4)}),
    (drawn(90, 80, 30), "full", {("passes", 4 * 90 * 80 * 30, 2.0)}),
])  # fmt: skip
def test_how_much_work_a_verdict_expects(instance, family, expected, monkeypatch):
    """Operations of each kind of work, and the share of the speed of a plain product that it reaches."""
    asked, timed = set(), Clock.timed
    monkeypatch.setattr(Clock, "timed", lambda self, *given: asked.add(given[:3]) or timed(self, *given))
    decide(instance, family=family)
    assert asked == expected


def test_a_verdict_does_not_begin_a_pass_that_would_end_too_late():
    """A pass of 64 thousand million operations, and 10 milliseconds."""
    verdict = decide(Instance(Stream(0, 400), 6300).arrays(), seconds=0.01)
    assert verdict.verdict == "undecided" and "time is up" in verdict.reason and verdict.passes == 0


def test_conjugate_gradients_look_at_the_clock(monkeypatch):
    """Each product may take long, and there may be hundreds."""
    arrays = Instance(Stream(3, 16), 62).arrays()
    products = []

    def slow(self, v, real=Hessian.product):
        products.append(time.sleep(0.05))
        return real(self, v)

    monkeypatch.setattr(Hessian, "product", slow)
    verdict = decide(arrays, ProofLimits(seconds=0.2))
    assert verdict.verdict == "undecided" and 1 <= len(products) <= 5
