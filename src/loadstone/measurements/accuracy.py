"""How much of a problem a memory stores."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

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


def measure(problem: Problem, memory: Memory) -> Measurement:
    """Measure in float32, on the instance in float32, whatever precision the memory was trained in."""
    violations, loss, margin = _measure(problem.in_float32(), memory)
    n = problem.inputs.shape[0]
    return Measurement(1 - int(violations) / n, int(violations), float(loss), float(margin))


@jax.jit
def _measure(problem: Problem, memory: Memory):
    memory = jax.tree.map(lambda leaf: leaf.astype(jnp.promote_types(leaf.dtype, jnp.float32)), memory)
    recall = problem.recall(memory.queries(problem.inputs), "float32")
    return jnp.sum(~recall.stored), recall.loss.mean(), recall.margin.min()
