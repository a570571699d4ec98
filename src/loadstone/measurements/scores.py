"""Scores of targets, rivals and all other competitors, in units of the deviation of non-target scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from loadstone.arguments import positive, refuse, whole
from loadstone.compiling import Call, compiled
from loadstone.measurements.accuracy import TopScores, top_scores
from loadstone.memories.foreign import as_memory
from loadstone.problems.arrays import Arrays
from loadstone.problems.loss import check_memory, queries_of
from loadstone.problems.problem import Problem, check_problem
from loadstone.readable import readable

#: Edges of the histogram of non-target scores; scores beyond them fall into the outermost bins.
EDGES = np.linspace(-8, 8, 321)

_SCORES_AT_A_TIME = 4_000_000


@dataclass(frozen=True)
class Scores:
    """All scores of a problem: targets and rivals one by one, non-targets as a histogram.

    target: scores of the targets.
    rival: best other score of each association.
    counts: histogram of the non-target scores.
    unit: deviation of the non-target scores before they were divided by it.
    edges: edges of the bins of the histogram.
    first: all scores of the first association.
    by_length: scores of the targets again, each divided by the length of its query, which for random outputs is the
        deviation of its rivals. Theory is about these; in a common unit the spread of the lengths would add to them.
    """

    target: Float[np.ndarray, "n"]
    rival: Float[np.ndarray, "n"]
    counts: Int[np.ndarray, "bins"]
    unit: float
    edges: Float[np.ndarray, "edges"]
    first: "SingleScores"
    by_length: Float[np.ndarray, "n"]

    __repr__ = readable

    def histograms(self) -> dict[str, object]:
        """Counts of scores on one set of bins, as records keep them."""
        low, high = float(self.edges[0]), float(self.edges[-1])
        inside = lambda values: np.histogram(np.clip(values, low, high), self.edges)[0].tolist()  # noqa: E731
        return {
            "low": low,
            "high": high,
            "unit": float(self.unit),
            "target": inside(self.target),
            "rival": inside(self.rival),
            "own": inside(self.by_length),
            "others": self.counts.tolist(),
            "target_mean": float(self.target.mean()),
            "target_deviation": float(self.target.std()),
            "own_target": moments(self.by_length),
            "first": {"target": self.first.target, "rival": self.first.rival, "others": inside(self.first.others)},
        }


def moments(values: Float[np.ndarray, "n"]) -> dict[str, float]:
    return {"mean": float(values.mean()), "deviation": float(values.std())}


@dataclass(frozen=True)
class SingleScores:
    """The scores of one association.

    target: score of its target.
    others: scores of its other outputs.
    """

    target: float
    others: Float[np.ndarray, "rivals"]

    __repr__ = readable

    @property
    def rival(self) -> float:
        return float(self.others.max())


def scores(problem: Problem, memory: Any, *, most: int | None = None) -> Scores:
    """Scores divided by the deviation (about their mean) of the non-target scores; memory O(n d + block m).

    With `most`, unit and histogram come from only about this many non-target scores, those of evenly spaced
    associations; targets and rivals are complete in any case.

    Example:
        >>> from loadstone.measurements.scores import scores
        >>> problem = loadstone.original(loadstone.Stream(0, 4), 4)
        >>> scores(problem, loadstone.initial_memory(4)).target.shape
        (4,)
    """
    check_memory(check_problem(problem), memory := as_memory(memory))
    most = None if most is None else whole("most", most, 1)
    return raw_scores(problem, memory, top_scores(problem, memory), most).scores()


@dataclass(frozen=True)
class RawScores:
    """Scores before they are scaled. If they are a sample (`most`), they need neither device nor problem any more.

    top: target, rival and logsumexp of each association.
    lengths: length of each query.
    blocks: the non-target scores, block by block.
    """

    top: TopScores
    lengths: Float[np.ndarray, "n"]
    blocks: "_Blocks"

    def scores(self) -> Scores:
        unit = _deviation(self.blocks)
        counts = np.zeros(len(EDGES) - 1, np.int64)
        for non_targets in self.blocks:
            counts += np.histogram(np.clip(non_targets / unit, EDGES[0], EDGES[-1]), EDGES)[0]
        target, rival = (np.asarray(score, np.float64) for score in (self.top.target, self.top.rival))
        first = SingleScores(float(target[0] / unit), next(iter(self.blocks))[: self.blocks.competitors - 1] / unit)
        return Scores(target / unit, rival / unit, counts, unit, EDGES, first, target / self.lengths)


def raw_scores(problem: Problem, memory: Any, top: TopScores, most: int | None = None) -> RawScores:
    """The part of `scores` that needs the device, given the top scores."""
    problem = problem.in_float32()
    queries, lengths = _queries(as_memory(memory), problem.inputs)
    return RawScores(top, np.asarray(lengths, np.float64)[: len(top.target)], _Blocks(problem, queries, most))


def targets_by_length(arrays: Arrays, weights: Float[np.ndarray | Array, "d d"]) -> Float[np.ndarray, "n"]:
    """`Scores.by_length` of a plain matrix on plain arrays, in float64."""
    queries = arrays.inputs.astype(np.float64) @ np.asarray(weights, np.float64).T
    return np.einsum("nd,nd->n", queries, arrays.target_outputs) / np.linalg.norm(queries, axis=1)


def single_scores(problem: Problem, memory: Any, *, row: int, unit: float | None = None) -> SingleScores:
    """The scores of association `row`, divided by `unit` (default: the deviation over all associations).

    Example:
        >>> from loadstone.measurements.scores import single_scores
        >>> problem = loadstone.original(loadstone.Stream(0, 4), 4)
        >>> single_scores(problem, loadstone.initial_memory(4), row=2).others.shape
        (3,)
    """
    check_memory(check_problem(problem), memory := as_memory(memory))
    unit = None if unit is None else positive("unit", unit)
    problem = problem.in_float32()
    row = whole("row", row, 0, int(problem.associations) - 1)
    queries, _ = _queries(memory, problem.inputs)
    unit = _deviation(_Blocks(problem, queries)) if unit is None else unit
    row_scores = np.asarray(_block(problem, queries, jnp.asarray([row])), np.float64)[0, : problem.competitors] / unit
    target = int(problem.targets[row])
    return SingleScores(float(row_scores[target]), np.delete(row_scores, target))


def _deviation(blocks: "_Blocks") -> float:
    count, total, squares = 0, 0.0, 0.0
    for non_targets in blocks:
        count += non_targets.size
        total += non_targets.sum()
        squares += (non_targets**2).sum()
    deviation = float(np.sqrt(max(0.0, squares / count - (total / count) ** 2)))
    if not np.isfinite(deviation) or deviation == 0:
        raise refuse("memory", f"with non-target scores of deviation {deviation}", "one whose scores vary")
    return deviation


class _Blocks:
    """The non-target scores of all or of evenly spaced associations, a block of them at a time, in float64.

    They are read twice: a single block is kept in memory, several are computed again.
    """

    def __init__(self, problem: Problem, queries: Float[Array, "n d"], most: int | None = None) -> None:
        self.targets = np.asarray(problem.targets)
        columns = _block.eval_shape(problem, queries, jnp.zeros(1, jnp.int32)).shape[1]
        n, self.competitors = int(problem.associations), problem.competitors
        wanted = queries.shape[0] if most is None else max(1, min(queries.shape[0], most // columns))
        rows, blocks = min(n, wanted), -(-wanted * columns // _SCORES_AT_A_TIME)
        at_a_time = -(-wanted // blocks)
        spaced = np.arange(rows) * n // rows
        self.rows = [spaced[first : first + at_a_time] for first in range(0, rows, at_a_time)]
        # Every block has the same number of rows, some of them repeated, so that one compiled program makes them all.
        make = lambda rows: _block(problem, queries, jnp.asarray(np.resize(rows, at_a_time)))  # noqa: E731
        self._make = lambda rows: np.asarray(make(rows))[: len(rows)]
        if len(self.rows) == 1:
            kept = self._make(spaced)
            self._make = lambda rows: kept

    def __iter__(self) -> Iterator[Float[np.ndarray, "scores"]]:
        return map(self._non_targets, self.rows)

    def _non_targets(self, rows: Int[np.ndarray, "b"]) -> Float[np.ndarray, "scores"]:
        block = self._make(rows)[:, : self.competitors].astype(np.float64)
        non_targets = np.ones(block.shape, bool)
        non_targets[np.arange(len(rows)), self.targets[rows]] = False
        return block[non_targets]


def programs(problem: Problem, memory: Any, most: int) -> Iterator[Call]:
    """The compiled functions that `raw_scores` calls, given `most` and the shapes of a problem and a memory."""
    problem = problem.in_float32()
    yield _queries, (memory, problem.inputs)
    queries, _ = _queries.eval_shape(memory, problem.inputs)
    columns = _block.eval_shape(problem, queries, jax.ShapeDtypeStruct((1,), jnp.int32)).shape[1]
    rows = max(1, min(queries.shape[0], most // columns))
    yield _block, (problem, queries, jax.ShapeDtypeStruct((rows,), jnp.int32))


@compiled
def _queries(memory: Any, inputs: Float[Array, "n d"]) -> tuple[Float[Array, "n d"], Float[Array, "n"]]:
    """The queries and their lengths."""
    queries = queries_of(memory, inputs)
    return queries, jnp.linalg.norm(queries, axis=1)


@compiled
def _block(problem: Problem, queries: Float[Array, "n d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
    return problem.scores(queries[rows], rows)
