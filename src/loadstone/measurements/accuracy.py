"""How much of a problem a memory stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Float32

from loadstone.compiling import compiled
from loadstone.memories.measured import in_its_digits, recall_of
from loadstone.problems.loss import check_memory
from loadstone.problems.problem import Problem, check_problem


@dataclass(frozen=True)
class Measurement:
    """How much of a problem is stored. An association is stored if its target scores strictly above every rival.

    accuracy: the fraction of associations that are stored.
    violations: how many are not stored.
    loss: the mean loss, weighted by the shares of the associations.
    margin: the smallest margin.
    weighted_accuracy: the accuracy weighted by the shares; the same as the accuracy if there are none.
    problem: what was measured, in words, and whether its numbers were rounded.
    """

    accuracy: float
    violations: int
    loss: float
    margin: float
    weighted_accuracy: float
    problem: str


@dataclass(frozen=True)
class Contenders:
    """What every association's query finds among the outputs, as NumPy arrays.

    target: score of each target.
    rival: best score among all other outputs.
    logsumexp: logarithm of each partition sum.
    shares: the weight of each association, or None.
    problem: what was measured, in words.
    """

    target: Float[np.ndarray, "n"]
    rival: Float[np.ndarray, "n"]
    logsumexp: Float[np.ndarray, "n"]
    shares: Float32[np.ndarray, "n"] | None = None
    problem: str = ""

    def measurement(self) -> Measurement:
        stored = self.target > self.rival
        violations = int(np.sum(~stored))
        accuracy = 1 - violations / len(stored)
        with np.errstate(invalid="ignore"):  # a diverged memory has infinite scores
            margin, losses = self.target - self.rival, self.logsumexp - self.target
            loss = np.average(losses.astype(np.float64), weights=self.shares)
        weighted = accuracy if self.shares is None else float(np.average(stored, weights=self.shares))
        return Measurement(accuracy, violations, float(loss), float(margin.min()), weighted, self.problem)


def measure(problem: Problem, memory: Any) -> Measurement:
    """How much of a problem a memory stores."""
    check_memory(check_problem(problem), memory)
    return contenders(problem, memory).measurement()


def contenders(problem: Problem, memory: Any) -> Contenders:
    """In float32 on the instance in float32, whatever the memory was trained in; in float64 if the memory has float64
    numbers."""
    n = int(problem.associations)
    with in_its_digits(problem, memory) as problem:
        target, rival, logsumexp = (np.asarray(part)[:n] for part in _contenders(problem, memory))
    shares = None if problem.shares is None else np.asarray(problem.shares)[:n]
    return Contenders(target, rival, logsumexp, shares, problem.description)


@compiled
def _contenders(problem: Problem, memory: Any) -> tuple[Array, Array, Array]:
    recall = recall_of(problem, memory)
    return recall.target, recall.rival, recall.logsumexp
