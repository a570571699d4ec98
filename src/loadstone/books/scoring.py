"""Scores and margins of facts, a block of facts at a time: all scores of 50 000 facts would take 20 GB."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import Protocol

import numpy as np
from jaxtyping import Float, Float64, Int

from loadstone.threads import shared_out

_BLOCK, _BLOCK_OF_SINGLES = 2**22, 2**23
#: With more products, rivals are looked for in float32, which takes half the time.
_MANY = 2**32
_UNIT = 2.0**-24
_TIMED_ROWS = 1024


class WithVectors(Protocol):
    """Facts with their vectors, such as a book."""

    @property
    def inputs(self) -> Float[np.ndarray, "n d"]: ...
    @property
    def outputs(self) -> Float[np.ndarray, "m d"]: ...
    @property
    def targets(self) -> Int[np.ndarray, "n"]: ...


def scores_of(
    weights: Float[np.ndarray, "d d"], facts: WithVectors, rows: Collection[int]
) -> Iterator[tuple[Int[np.ndarray, "b"], Float64[np.ndarray, "b m"]]]:
    """Blocks of rows, and the scores u^T W e of all answers for each of them, in float64."""
    chosen, outputs = np.fromiter(rows, int, len(rows)), facts.outputs.astype(np.float64)
    for part in np.array_split(chosen, max(1, len(chosen) * len(outputs) // _BLOCK)):
        yield part, facts.inputs[part].astype(np.float64) @ weights.T.astype(np.float64) @ outputs.T


def margins_of(
    weights: Float[np.ndarray, "d d"], facts: WithVectors, rows: Collection[int] | None = None
) -> Float64[np.ndarray, "n"]:
    """Of each fact: the score of its answer minus the best other score."""
    return rivals_of(weights, facts, rows)[1]


def rivals_of(
    weights: Float[np.ndarray, "d d"], facts: WithVectors, rows: Collection[int] | None = None
) -> tuple[Int[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    """Of each fact: the other answer that scores best, and by how much its own answer scores more."""
    chosen = np.arange(len(facts.targets)) if rows is None else np.fromiter(rows, int, len(rows))
    return _way(facts, len(chosen))(weights, facts, chosen)


def seconds_of_rivals(weights: Float[np.ndarray, "d d"], facts: WithVectors) -> float:
    """How long it takes to see the rivals of all facts, judged by a few of them."""
    n = len(facts.targets)
    way, few = _way(facts, n), np.arange(min(_TIMED_ROWS, n))
    way(weights, facts, few[:1])  # the first time takes longer: threads begin
    began = time.perf_counter()
    way(weights, facts, few)
    return (time.perf_counter() - began) * n / len(few)


def _way(facts: WithVectors, count: int) -> Callable[..., tuple[Int[np.ndarray, "n"], Float64[np.ndarray, "n"]]]:
    return _by_singles if count * facts.outputs.size > _MANY else _by_doubles


def _by_doubles(
    weights: Float[np.ndarray, "d d"], facts: WithVectors, chosen: Int[np.ndarray, "n"]
) -> tuple[Int[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    rivals, margins = [np.empty(0, int)], [np.empty(0)]
    for part, scores in scores_of(weights, facts, chosen):
        at = np.arange(len(part)), facts.targets[part]
        target = scores[at].copy()
        scores[at] = -np.inf
        rivals.append(scores.argmax(axis=1))
        margins.append(target - scores.max(axis=1))
    return np.concatenate(rivals), np.concatenate(margins)


def _by_singles(
    weights: Float[np.ndarray, "d d"], facts: WithVectors, chosen: Int[np.ndarray, "n"]
) -> tuple[Int[np.ndarray, "n"], Float64[np.ndarray, "n"]]:
    """The rival has the best score in float32, and the margin against it is computed in float64.

    A sum of d products in float32 is wrong by at most (d + 4) units of rounding times the lengths of its two vectors.
    So another answer may score better than the rival, but by no more than twice that. Facts whose margin is positive
    and not larger are looked at again in float64: whether a fact is stored is certain.
    """
    d = weights.shape[0]
    longest = float(np.linalg.norm(facts.outputs.astype(np.float64), axis=1).max()) or 1.0
    outputs = (facts.outputs / longest).astype(np.float32)
    rivals, margins = np.empty(len(chosen), int), np.empty(len(chosen))
    doubtful = np.zeros(len(chosen), bool)

    def score(part: Int[np.ndarray, "b"]) -> None:
        rows = chosen[part]
        queries = facts.inputs[rows].astype(np.float64) @ weights.T.astype(np.float64)
        lengths = np.linalg.norm(queries, axis=1)
        scores = (queries / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32) @ outputs.T
        scores[np.arange(len(part)), facts.targets[rows]] = -np.inf
        rivals[part] = scores.argmax(axis=1)
        apart = facts.outputs[facts.targets[rows]].astype(np.float64) - facts.outputs[rivals[part]]
        margins[part] = (queries * apart).sum(axis=1)
        doubtful[part] = (margins[part] > 0) & (margins[part] <= 2 * (d + 4) * _UNIT * lengths * longest)

    blocks = np.array_split(np.arange(len(chosen)), max(1, len(chosen) * len(outputs) // _BLOCK_OF_SINGLES))
    with shared_out() as each:
        list(each(score, blocks))
    rivals[doubtful], margins[doubtful] = _by_doubles(weights, facts, chosen[doubtful])
    return rivals, margins
