"""Scores of targets, rivals and all other competitors, in units of the deviation of non-target scores."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from loadstone.arguments import refuse, whole
from loadstone.memories.memory import Memory
from loadstone.problems.problem import Problem

#: Edges of the histogram of non-target scores; scores beyond them fall into the outermost bins.
EDGES = np.linspace(-8, 8, 321)

_SCORES_AT_A_TIME = 4_000_000


@dataclass(frozen=True)
class Scores:
    """All scores of a problem: targets and rivals one by one, non-targets as a histogram.

    `unit` is the deviation of the non-target scores before they were divided by it.
    """

    target: Float[np.ndarray, "n"]
    rival: Float[np.ndarray, "n"]
    counts: Int[np.ndarray, "bins"]
    unit: float
    edges: Float[np.ndarray, "bins+1"]


@dataclass(frozen=True)
class SingleScores:
    """The scores of one association: its target, and its competitors one by one."""

    target: float
    others: Float[np.ndarray, "m-1"]

    @property
    def rival(self) -> float:
        return float(self.others.max())


def scores(problem: Problem, memory: Memory) -> Scores:
    """All scores, divided by the deviation (about their mean) of the non-target scores; memory O(n d + block m)."""
    problem = problem.in_float32()
    queries = memory.queries(problem.inputs)
    recall = jax.jit(lambda problem, queries: problem.recall(queries))(problem, queries)
    unit = _deviation(problem, queries)
    counts = np.zeros(len(EDGES) - 1, np.int64)
    for others in _non_target(problem, queries):
        counts += np.histogram(np.clip(others / unit, EDGES[0], EDGES[-1]), EDGES)[0]
    target, rival = (np.asarray(score, np.float64) / unit for score in (recall.target, recall.rival))
    return Scores(target, rival, counts, unit, EDGES)


def single_scores(problem: Problem, memory: Memory, row: int, unit: float | None = None) -> SingleScores:
    """The scores of association `row`, divided by `unit` (default: the deviation over all associations)."""
    problem = problem.in_float32()
    row = whole("row", row, 0, problem.inputs.shape[0] - 1)
    queries = memory.queries(problem.inputs)
    unit = _deviation(problem, queries) if unit is None else unit
    all_scores = np.asarray(_block(problem, queries, jnp.asarray([row])), np.float64)[0] / unit
    place = int(problem.targets[row])
    return SingleScores(float(all_scores[place]), np.delete(all_scores, place))


def _deviation(problem: Problem, queries) -> float:
    count, total, squares = 0, 0.0, 0.0
    for others in _non_target(problem, queries):
        count += others.size
        total += others.sum()
        squares += (others**2).sum()
    deviation = float(np.sqrt(max(0.0, squares / count - (total / count) ** 2)))
    if not np.isfinite(deviation) or deviation == 0:
        raise refuse("memory", f"with non-target scores of deviation {deviation}", "one whose scores vary")
    return deviation


def _non_target(problem: Problem, queries):
    """The non-target scores, a block of associations at a time, in float64."""
    n = problem.inputs.shape[0]
    m = jax.eval_shape(problem.scores, queries[:1], jnp.zeros(1, jnp.int32)).shape[1]
    targets = np.asarray(problem.targets)
    rows = max(1, min(n, _SCORES_AT_A_TIME // m))
    for first in range(0, n, rows):
        places = np.arange(first, min(first + rows, n))
        block = np.asarray(_block(problem, queries, jnp.asarray(places)), np.float64)
        others = np.ones(block.shape, bool)
        others[np.arange(len(places)), targets[places]] = False
        yield block[others]


@jax.jit
def _block(problem: Problem, queries, rows):
    return problem.scores(queries[rows], rows)
