"""The Hebbian rule: each association adds the product of its output and its input."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Float

from loadstone.compiling import Call, compiled
from loadstone.deadline import Deadline
from loadstone.kernels.products import exact
from loadstone.memories.full import Full
from loadstone.problems.problem import Problem
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
    return Full(_sum(problem))


def programs(problem: Problem) -> Iterator[Call]:
    """What `hebbian` calls, given the shapes of a problem."""
    yield _sum, (problem,)


@compiled
def _sum(problem: Problem) -> Float[Array, "d d"]:
    targets = problem.target_outputs
    if problem.shares is not None:
        targets = targets * (problem.shares * problem.associations / problem.shares.sum())[:, None]
    return exact(targets.T, problem.inputs) / problem.inputs.shape[-1]


class _Unsearched(Solver):
    """A solver that makes each memory at once."""

    closed_form = True
    status: ClassVar[Status]

    @abc.abstractmethod
    def memory(self, problem: Problem, start: Any) -> Any:
        """The memory, given that from which a search would start."""

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        solutions, nothing = [], np.empty(0)
        for problem, start in zip(problems, memories):
            clock, memory = Deadline(), self.memory(problem, start)
            solutions.append(Solution(memory, self.status, 0, nothing, nothing, clock.taken, problem.description))
        return solutions


@dataclass(frozen=True)
class Hebbian(_Unsearched):
    """The rule as a solver: it returns a full W in closed form and ignores the memory that it is given."""

    status = Status.CLOSED_FORM

    def memory(self, problem: Problem, start: Any) -> Any:
        return hebbian(problem)


@dataclass(frozen=True)
class Initial(_Unsearched):
    """Does nothing: returns the memory from which a search would start."""

    status = Status.INITIAL

    def memory(self, problem: Problem, start: Any) -> Any:
        return start
