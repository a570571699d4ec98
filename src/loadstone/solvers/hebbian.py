"""The Hebbian rule: each association adds the product of its output and its input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from loadstone.compiling import Call, compiled
from loadstone.deadline import Deadline
from loadstone.kernels.products import exact
from loadstone.memories.full import Full
from loadstone.problems.problem import Problem, require_problem
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.solution import Solution, Status
from loadstone.solvers.solver import Solver


def hebbian(problem: Problem) -> Full:
    """W = (1/d) sum_mu u_mu e_mu^T, u_mu being the target of input e_mu; shares, scaled to mean 1, weight the terms.

    Example:
        >>> from loadstone.solvers.hebbian import hebbian
        >>> print(hebbian(loadstone.facts([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])).weights)
        [[0.  0.5]
         [0.5 0. ]]
    """
    return Full(_sum(require_problem(problem)))


def programs(problem: Problem) -> Iterator[Call]:
    """The compiled functions that `hebbian` calls, given the shapes of a problem."""
    yield _sum, (problem,)


@compiled
def _sum(problem: Problem) -> Float[Array, "d d"]:
    targets = problem.target_outputs
    if problem.shares is not None:
        targets = targets * (problem.shares * problem.associations / problem.shares.sum())[:, None]
    return exact(targets.T, problem.inputs) / problem.inputs.shape[-1]


@dataclass(frozen=True)
class Hebbian(Solver):
    """The rule as a solver: it returns a full W in closed form and ignores the memory that it is given."""

    closed_form = True

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        clock, sums = Deadline(), [hebbian(problem) for problem in problems]
        return [_solution(*pair, Status.CLOSED_FORM, clock.taken / len(problems)) for pair in zip(problems, sums)]


@dataclass(frozen=True)
class Initial(Solver):
    """Does nothing: returns the memory from which a search would start."""

    closed_form = True

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        return [_solution(*pair, Status.INITIAL, 0.0) for pair in zip(problems, memories)]


def _solution(problem: Problem, memory: Any, status: Status, seconds: float) -> Solution:
    return Solution(memory, status, 0, np.empty(0), np.empty(0), seconds, problem.description)
