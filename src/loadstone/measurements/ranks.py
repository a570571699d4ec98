"""At which rank of its scores each association has its target: first, or somewhere in a short list."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from loadstone.measurements.accuracy import in_digits_for
from loadstone.memories.foreign import as_memory
from loadstone.problems.loss import check_memory, queries_of
from loadstone.problems.problem import Problem, check_problem

#: How many scores are in memory at a time.
_SCORES = 10_000_000


def target_ranks(problem: Problem, memory: Any) -> Int[np.ndarray, "n"]:
    """The rank of each target among the scores of its outputs: 1 if no rival scores as much. In float64 if the memory
    has float64 numbers."""
    check_memory(check_problem(problem), memory := as_memory(memory))
    n, rows = int(problem.associations), max(1, _SCORES // problem.competitors)
    targets, ranks = np.asarray(problem.targets), []
    with in_digits_for(problem, memory) as problem:
        queries = queries_of(jax.tree.map(jnp.asarray, memory), problem.inputs)
        for start in range(0, n, rows):
            block = jnp.arange(start, min(start + rows, n))
            scores = np.asarray(problem.scores(queries[block], block))
            own = np.take_along_axis(scores, targets[start : start + rows][: len(scores), None], axis=1)
            ranks.append((scores >= own).sum(axis=1))
    return np.concatenate(ranks)
