"""'Stored' is a statement about the memory that is returned, judged here in plain float64."""

import logging

import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import measured, solve, solve_batch
from loadstone.streams.stream import Stream

D = 6


def uneven(seed: int, n: int, shift: float, decades: float):
    """Facts that are far from the origin and extend over many decades: W must undo both."""
    random = np.random.default_rng(seed)
    axes = np.linalg.qr(random.standard_normal((D, D)))[0]
    vectors = random.standard_normal((2, n, D)) * np.logspace(0, -decades, D) @ axes
    return vectors[0] + shift, vectors[1]


def least_margin(inputs, outputs, memory) -> float:
    scores = inputs @ np.asarray(memory.matrix(), float).T @ outputs.T
    rivals = np.where(np.eye(len(scores), dtype=bool), -np.inf, scores).max(axis=1)
    return float((np.diagonal(scores) - rivals).min())


UNEVEN = [uneven(seed, 9, 10.0**decade, 8) for seed in range(2) for decade in (0, 3, 6)]


def test_a_memory_with_too_few_digits_is_not_called_stored(caplog):
    """In coordinates of unit covariance the search stores such facts; W mapped back does not, and float64 has no digits
    left for one that does."""
    told = 0
    for inputs, outputs in UNEVEN:
        problem, start = facts(inputs, outputs), initial_memory(D)
        solver = LBFGS()
        (searched,) = solver.solve([problem], [start], SearchOptions("exact", precisions=solver.precisions()))
        stores = least_margin(inputs, outputs, searched.memory) > 0
        caplog.clear()
        with caplog.at_level(logging.WARNING, "loadstone"):
            found = solve(problem, start)
        assert (found.status == Status.STORED) == (searched.status == Status.STORED and stores)
        assert found.passes == searched.passes
        if searched.status == Status.STORED and not stores:
            told += 1
            assert found.status == Status.OUT_OF_DIGITS
            assert f"{found.passes} passes" in caplog.text and "of the 9 associations" in caplog.text
        else:
            assert not caplog.text
    assert 1 <= told < len(UNEVEN)


@pytest.mark.parametrize("family", ["full", "psd"])
def test_a_memory_of_another_problem_is_noticed(family):
    """Members of a batch that were mixed up, as a race would do it."""
    problems = [original(Stream(seed, 12), 14) for seed in range(3)]
    found = solve_batch(problems, [initial_memory(12, seed=seed, family=family) for seed in range(3)])
    assert [one.status for one in found] == [Status.STORED] * 3
    assert [measured(problem, one).status for problem, one in zip(problems, found)] == [Status.STORED] * 3
    mixed = [measured(problem, one) for problem, one in zip(problems, found[1:] + found[:1])]
    assert [one.status for one in mixed] == [Status.OUT_OF_DIGITS] * 3


def test_a_solution_says_what_its_memory_stores():
    """As `measure` does, to the last bit; also where not everything is stored."""
    for p in (14, 60):
        problem = original(Stream(0, 12), p)
        solution = solve(problem)
        assert (solution.status == Status.STORED) == (p == 14)
        assert solution.measured == measure(problem, solution.memory)
        assert solution.measured.violations == 0 or p == 60
