"""The pass over facts in NumPy, with the gradient for W: it needs no compilation, and no W e for each fact.

The scores of all answers are E (U W)^T. If there are fewer answers than facts, W meets the few, and a pass takes half
as long as with (E W^T) U^T or less; the same goes for the gradient.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Bool, Float

from loadstone.problems.facts import Facts

#: So many scores at a time stay in a processor's cache.
_SCORES_AT_A_TIME = 2**17


class Seen(NamedTuple):
    """What a pass saw: the mean loss, its gradient, and which facts are stored, or clearly so (problems/recall.py)."""

    loss: float
    gradient: Float[np.ndarray, "d d"]
    stored: Bool[np.ndarray, "n"]
    clearly_stored: Bool[np.ndarray, "n"]


class PlainPass:
    """Facts on the way through passes. Threads share the facts between them, so products should run on one each."""

    def __init__(self, facts: Facts, kind: np.dtype) -> None:
        given = facts.arrays() if kind == np.float64 else facts
        self.inputs, self.outputs = (np.ascontiguousarray(part, kind) for part in (given.inputs, given.outputs))
        self.targets = np.asarray(facts.targets).astype(int)
        n, m = len(self.inputs), len(self.outputs)
        shares = np.ones(n) if facts.shares is None else np.asarray(facts.shares, np.float64)
        self.shares = (shares / shares.sum()).astype(kind)
        self.fewer_answers = m < n
        blocks = -(-n * m // _SCORES_AT_A_TIME)
        self.blocks = [slice(part[0], part[-1] + 1) for part in np.array_split(np.arange(n), min(n, blocks))]
        self._threads = ExitStack()
        workers = min(len(self.blocks), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
        self._map = self._threads.enter_context(ThreadPoolExecutor(workers)).map if workers > 1 else map

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._threads.close()

    def at(self, weights: Float[np.ndarray, "d d"]) -> Seen:
        mapped = self.outputs @ weights if self.fewer_answers else weights
        losses, sums, target, rival = zip(*self._map(lambda rows: self._block(rows, mapped), self.blocks))
        gradient = np.sum(sums, axis=0) if len(sums) > 1 else sums[0]
        if self.fewer_answers:
            gradient = self.outputs.T @ gradient
        own = np.concatenate(target)
        margin, size = own - np.concatenate(rival), np.abs(own)
        rounding = np.finfo(own.dtype).eps * (8 * size + 2 * size.mean())
        return Seen(float(np.sum(losses)), gradient, margin > 0, margin > rounding)

    def _block(self, rows: slice, mapped: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Of some facts: the loss, what they add to the gradient, and the scores of targets and rivals."""
        inputs, shares = self.inputs[rows], self.shares[rows]
        scores = inputs @ mapped.T if self.fewer_answers else (inputs @ mapped.T) @ self.outputs.T
        at = np.arange(len(scores)), self.targets[rows]
        target = scores[at]
        scores[at] = -np.inf
        rival = scores.max(axis=1)
        scores[at] = target
        top = np.maximum(target, rival)
        scores -= top[:, None]
        weights = np.exp(scores, out=scores)
        total = weights.sum(axis=1)
        losses = np.log(total) + (top - target)
        weights *= (shares / total)[:, None]
        weights[at] -= shares
        sums = weights.T @ inputs if self.fewer_answers else (weights @ self.outputs).T @ inputs
        return float(np.dot(shares.astype(np.float64), losses)), sums, target, rival
