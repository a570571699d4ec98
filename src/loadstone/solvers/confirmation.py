"""What a search calls stored is measured once more, in the memory that it returns.

A search speaks of what its last pass saw: the facts in other coordinates (solvers/coordinates.py), rounded there, among
others in a batch. Mapped back, W may have too few digits for facts that lie very unevenly. One pass more, beside the
many of a search, and 'stored' is a statement about the memory that the caller gets.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int

from loadstone.compiling import compiled
from loadstone.memories.measured import in_its_digits, recall_of
from loadstone.problems.problem import Problem
from loadstone.solvers.solution import Solution, Status

_log = logging.getLogger("loadstone")


def confirmed(problem: Problem, solution: Solution) -> Solution:
    """The same solution, but out of digits if it says 'stored' of a memory that does not store the problem."""
    if solution.status != Status.STORED:
        return solution
    with in_its_digits(problem, solution.memory) as measured:
        violations = int(_violations(measured, solution.memory))
    if not violations:
        return solution
    _log.warning(
        "A search found every margin positive (%d passes, loss %.3g), but the memory that it returns does not store %d "
        "of the %d associations: its status is 'out of digits'.",
        solution.passes,
        solution.loss[-1],
        violations,
        problem.associations,
    )
    return replace(solution, status=Status.OUT_OF_DIGITS)


@compiled
def _violations(problem: Problem, memory: Any) -> Int[Array, ""]:
    """Counted on the device, because associations may lie on several."""
    return jnp.sum(~recall_of(problem, memory).stored)
