"""At which place a memory finds each target: first, or somewhere in a short list."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from loadstone.arguments import whole
from loadstone.memories.families import initial_memory
from loadstone.memories.measured import in_its_digits
from loadstone.problems.loss import check_memory, queries_of
from loadstone.problems.problem import Problem, check_problem
from loadstone.solvers.solve import solve

#: Scores that are held at a time.
_SCORES = 10_000_000


def target_places(problem: Problem, memory: Any) -> Int[np.ndarray, "n"]:
    """The place of each target among the scores of its outputs: 1 if no rival scores as much. In float64 if the memory
    has float64 numbers."""
    check_memory(check_problem(problem), memory)
    n, rows = int(problem.associations), max(1, _SCORES // problem.competitors)
    targets, found = np.asarray(problem.targets), []
    with in_its_digits(problem, memory) as problem:
        queries = queries_of(jax.tree.map(jnp.asarray, memory), problem.inputs)
        for start in range(0, n, rows):
            chosen = jnp.arange(start, min(start + rows, n))
            scores = np.asarray(problem.scores(queries[chosen], chosen))
            own = np.take_along_axis(scores, targets[start : start + rows][: len(scores), None], axis=1)
            found.append((scores >= own).sum(axis=1))
    return np.concatenate(found)


def places(problem: Problem, memory: Any, most: int) -> dict[str, float]:
    """The shares of targets in the first place and among the first `most`, by a memory that was trained for the list,
    and by one that was trained against all rivals on the same associations."""
    whole("most", most, 1, problem.competitors)
    against_all = solve(problem, initial_memory(problem.inputs.shape[1]), stop="exact").memory
    found: dict[str, float] = {}
    for trained, ending in ((memory, ""), (against_all, "_by_all_rivals")):
        place = target_places(problem, trained)
        found |= {f"first{ending}": float((place == 1).mean()), f"listed{ending}": float((place <= most).mean())}
    return found
