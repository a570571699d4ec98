"""How much of a problem a memory stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float32

from loadstone.compiling import compiled
from loadstone.memories.memory import Memory
from loadstone.problems.problem import Problem


@dataclass(frozen=True)
class Measurement:
    """Of the n associations: the fraction stored, the number not stored, the mean loss and the smallest margin.

    An association is stored if its target scores strictly above every rival.
    """

    accuracy: float
    violations: int
    loss: float
    margin: float


class Contenders(NamedTuple):
    """Of each association the score of its target and of its best rival, and the logarithm of its partition sum."""

    target: Float32[np.ndarray, "n"]
    rival: Float32[np.ndarray, "n"]
    logsumexp: Float32[np.ndarray, "n"]

    def measurement(self) -> Measurement:
        violations = int(np.sum(~(self.target > self.rival)))
        with np.errstate(invalid="ignore"):  # a diverged memory has infinite scores
            margin, loss = self.target - self.rival, np.mean(self.logsumexp - self.target, dtype=np.float64)
        return Measurement(1 - violations / len(margin), violations, float(loss), float(margin.min()))


def measure(problem: Problem, memory: Memory) -> Measurement:
    """What a memory stores of a problem."""
    return contenders(problem, memory).measurement()


def contenders(problem: Problem, memory: Memory) -> Contenders:
    """In float32, on the instance in float32, whatever precision the memory was trained in."""
    problem, n = problem.in_float32(), int(problem.associations)
    return Contenders(*(np.asarray(part)[:n] for part in _contenders(problem, memory)))


@compiled
def _contenders(problem: Problem, memory: Memory):
    memory = jax.tree.map(lambda leaf: leaf.astype(jnp.promote_types(leaf.dtype, jnp.float32)), memory)
    recall = problem.recall(memory.queries(problem.inputs), "float32")
    return recall.target, recall.rival, recall.logsumexp
