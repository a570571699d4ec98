"""One factor at a time: each turn is a convex problem, and no turn undoes what the last one gained."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.problems.original import original
from loadstone.solvers.alternating import Alternating
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream


@cache
def above():
    """Above what rank 3 holds, which is about 15."""
    return original(Stream(0, 8), 30)


@cache
def start():
    return initial_memory(8, 3 / 8, seed=0)


def plain_loss(left, right):
    arrays = above().arrays()
    inputs, outputs = arrays.inputs.astype(float), arrays.outputs.astype(float)
    scores = inputs @ right @ left.T @ outputs.T
    return float(np.mean(logsumexp(scores, axis=1) - np.diag(scores)))


def test_the_first_turn_solves_the_convex_problem_of_the_left_factor():
    """Against SciPy's BFGS on plain formulas; the right factor has not moved."""
    right = np.asarray(start().right, float)
    # With so small a tolerance the turn of the left factor is not over in 60 passes.
    turn = solve(
        above(), start(), solver=Alternating(turn=10**6, tolerance=1e-12), limits=Limits(60), precision="float64"
    )
    best = minimize(lambda left: plain_loss(left.reshape(8, 3), right), np.zeros(24), method="BFGS").fun
    np.testing.assert_array_equal(np.asarray(turn.memory.right), right)
    assert plain_loss(np.asarray(turn.memory.left), right) == pytest.approx(best, rel=1e-6)


def test_it_never_ends_with_a_higher_loss_than_it_began_with():
    solution = solve(above(), start(), solver=Alternating(turn=5), limits=Limits(120), precision="float64")
    # A line search may try a point that is worse, but each turn begins with the best point of the last.
    best = np.minimum.accumulate(solution.loss)
    assert np.all(np.diff(best[::20]) < 0) and solution.loss[-1] < 1.05 * best[-1]
    # Both factors have moved, and together they get further than the left one alone can.
    right = np.asarray(start().right, float)
    alone = minimize(lambda left: plain_loss(left.reshape(8, 3), right), np.zeros(24), method="BFGS").fun
    assert best[-1] < 0.99 * alone and not np.array_equal(np.asarray(solution.memory.right), right)


def test_from_a_memory_that_stores_everything_it_stays_there():
    problem = original(Stream(0, 8), 12)
    solution = solve(problem, initial_memory(8, 0.5, seed=0), solver="alternating")
    assert solution.status == Status.STORED and measure(problem, solution.memory).violations == 0
    again = solve(problem, solution.memory, solver="alternating")
    assert again.status == Status.STORED and again.passes == 1


def test_at_a_minimum_of_both_factors_nothing_is_left_to_gain():
    """By convexity each factor is at its own minimum there."""
    joint = solve(above(), start(), precision="float64")
    assert joint.status == Status.MINIMUM
    after = solve(above(), joint.memory, solver=Alternating(tolerance=3e-5), precision="float64", limits=Limits(100))
    assert after.status == Status.MINIMUM and after.passes == 2  # the pass that sees it, and the one that says so
    assert after.loss[0] == after.loss[1] == joint.loss[-1]
    np.testing.assert_array_equal(np.asarray(after.memory.left), joint.memory.left)


@pytest.mark.parametrize("turn, moved", [(5, True), (10, False)])
def test_a_factor_has_its_turn_after_so_many_moves_of_the_other(turn, moved):
    after = solve(above(), start(), solver=Alternating(turn=turn, tolerance=1e-12), limits=Limits(9)).memory
    assert np.array_equal(np.asarray(after.right), np.asarray(start().right)) != moved
