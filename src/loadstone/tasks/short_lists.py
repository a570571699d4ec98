"""How many targets a memory that was trained for short lists recalls first, and how many in the list."""

from __future__ import annotations

from typing import Any

from loadstone.arguments import whole
from loadstone.measurements.ranks import target_ranks
from loadstone.memories.families import initial_memory
from loadstone.problems.problem import Problem
from loadstone.solvers.solve import solve


def recalled_in_list(problem: Problem, memory: Any, length: int) -> dict[str, float]:
    """The shares of targets that are recalled first and among the first `length`, by a memory that was trained for
    lists, and by one that was trained against all rivals on the same associations."""
    whole("length", length, 1, problem.competitors)
    against_all = solve(problem, initial_memory(problem.inputs.shape[1]), stop="exact").memory
    shares: dict[str, float] = {}
    for trained, ending in ((memory, ""), (against_all, "_by_all_rivals")):
        ranks = target_ranks(problem, trained)
        shares |= {f"first{ending}": float((ranks == 1).mean()), f"listed{ending}": float((ranks <= length).mean())}
    return shares
