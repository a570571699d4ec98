"""The pass over facts in NumPy, with the gradient for W: it needs no compilation, and no W e for each fact.

The scores of all answers are E (U W)^T. If there are fewer answers than facts, W meets the few, and a pass takes half
as long as with (E W^T) U^T or less; the same goes for the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from loadstone.problems.arrays import Arrays
from loadstone.problems.facts import Facts

#: So many scores at a time stay in a processor's cache, but products of fewer rows than this are slow.
_SCORES_AT_A_TIME, _FEWEST_ROWS = 2**17, 128


class Seen(NamedTuple):
    """What a pass saw: the mean loss, its gradient, and which facts are stored, or clearly so (kernels/recall.py)."""

    loss: float
    gradient: Float[np.ndarray, "d d"]
    stored: Bool[np.ndarray, "n"]
    clearly_stored: Bool[np.ndarray, "n"]


class PlainPass:
    """Passes in float32 or float64. `each` maps a function over blocks of facts, perhaps on several threads."""

    def __init__(self, facts: Facts | Arrays, kind: np.dtype, each: Callable[..., Iterable[Any]] = map) -> None:
        given = facts.arrays() if isinstance(facts, Facts) and kind == np.float64 else facts
        weights = facts.shares if isinstance(facts, Facts) else None
        self.inputs, self.outputs = (np.ascontiguousarray(part, kind) for part in (given.inputs, given.outputs))
        self.targets = np.asarray(facts.targets).astype(int)
        n, m = len(self.inputs), len(self.outputs)
        shares = np.ones(n) if weights is None else np.asarray(weights, np.float64)
        self.shares = (shares / shares.sum()).astype(kind)
        self.fewer_answers = m < n
        blocks = -(-n // max(_FEWEST_ROWS, _SCORES_AT_A_TIME // m))
        self.blocks = [slice(part[0], part[-1] + 1) for part in np.array_split(np.arange(n), blocks)]
        self._map = each if len(self.blocks) > 1 else map

    def at(self, weights: Float[np.ndarray, "d d"]) -> Seen:
        """Loss, gradient and what is stored."""
        mapped = self._mapped(weights)
        losses, sums, targets, rivals = zip(*self._map(lambda rows: self._block(rows, mapped), self.blocks))
        gradient = np.sum(sums, axis=0) if len(sums) > 1 else sums[0]
        if self.fewer_answers:
            gradient = self.outputs.T @ gradient
        target, rival = np.concatenate(targets), np.concatenate(rivals)
        mean = float(np.dot(self.shares.astype(np.float64), np.concatenate(losses)))
        return Seen(mean, gradient, target > rival, _clearly_stored(target, rival))

    def recalled(self, weights: Float[np.ndarray, "d d"]) -> tuple[Bool[np.ndarray, "n"], Float[np.ndarray, "n"]]:
        """Which facts are clearly stored, and the loss of each, without the gradient."""
        mapped = self._mapped(weights)
        losses, target, rival = zip(*self._map(lambda rows: self._softmax(rows, mapped)[1:], self.blocks))
        return _clearly_stored(np.concatenate(target), np.concatenate(rival)), np.concatenate(losses)

    def _mapped(self, weights: Float[np.ndarray, "d d"]) -> np.ndarray:
        return self.outputs @ weights if self.fewer_answers else weights

    def _block(self, rows: slice, mapped: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of some facts: their losses, what they add to the gradient, and the scores of targets and rivals."""
        softmax, losses, target, rival = self._softmax(rows, mapped)
        inputs, shares = self.inputs[rows], self.shares[rows]
        softmax *= shares[:, None]
        softmax[np.arange(len(softmax)), self.targets[rows]] -= shares
        sums = softmax.T @ inputs if self.fewer_answers else (softmax @ self.outputs).T @ inputs
        return losses, sums, target, rival

    def _softmax(self, rows: slice, mapped: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of some facts: the weights of all answers, the losses, and the scores of targets and rivals."""
        queries = self.inputs[rows] @ mapped.T
        scores = queries if self.fewer_answers else queries @ self.outputs.T
        at = np.arange(len(scores)), self.targets[rows]
        target = scores[at]
        scores[at] = -np.inf
        rival = scores.max(axis=1)
        scores[at] = target
        top = np.maximum(target, rival)
        scores -= top[:, None]
        weights = np.exp(scores, out=scores)
        total = weights.sum(axis=1)
        weights /= total[:, None]
        return weights, np.log(total) + (top - target), target, rival


def _clearly_stored(target: Float[np.ndarray, "n"], rival: Float[np.ndarray, "n"]) -> Bool[np.ndarray, "n"]:
    size = np.abs(target)
    return target - rival > np.finfo(size.dtype).eps * (8 * size + 2 * size.mean())
