"""Scores and margins of facts in float64, a block of facts at a time: all scores of 50 000 facts would take 20 GB."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

import numpy as np
from jaxtyping import Float, Float64, Int

_BLOCK = 2**22


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
    """Blocks of rows, and the scores u^T W e of all answers for each of them."""
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
    rivals, margins = [np.empty(0, int)], [np.empty(0)]
    for part, scores in scores_of(weights, facts, range(len(facts.targets)) if rows is None else rows):
        at = np.arange(len(part)), facts.targets[part]
        target = scores[at].copy()
        scores[at] = -np.inf
        rivals.append(scores.argmax(axis=1))
        margins.append(target - scores.max(axis=1))
    return np.concatenate(rivals), np.concatenate(margins)
