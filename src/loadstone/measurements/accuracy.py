"""How much of a problem a memory stores, measured in the precision of the memory, but at least in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32

from loadstone.compiling import Call, compiled
from loadstone.memories.foreign import as_memory
from loadstone.memories.memory import in_digits_of
from loadstone.problems.loss import check_memory, queries_of
from loadstone.problems.problem import Problem, check_problem
from loadstone.readable import readable


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

    __repr__ = readable


@dataclass(frozen=True)
class TopScores:
    """The two scores of each association that decide whether it is stored, and its partition sum, as NumPy arrays.

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

    __repr__ = readable

    def measurement(self) -> Measurement:
        stored = self.target > self.rival
        violations = int(np.sum(~stored))
        accuracy = 1 - violations / len(stored)
        with np.errstate(invalid="ignore", over="ignore"):  # a diverged memory has infinite scores
            margin, losses = self.target - self.rival, self.logsumexp - self.target
            loss = np.average(losses.astype(np.float64), weights=self.shares)
        weighted = accuracy if self.shares is None else float(np.average(stored, weights=self.shares))
        return Measurement(accuracy, violations, float(loss), float(margin.min()), weighted, self.problem)


def measure(problem: Problem, memory: Any) -> Measurement:
    """How much of a problem a memory stores.

    Example:
        >>> problem = loadstone.original(loadstone.Stream(0, 4), 4)
        >>> loadstone.measure(problem, loadstone.initial_memory(4)).violations
        4
    """
    check_memory(check_problem(problem), memory := as_memory(memory))
    return top_scores(problem, memory).measurement()


def top_scores(problem: Problem, memory: Any) -> TopScores:
    """The scores of each target and its rival, from one pass over the problem, whatever the memory was trained in."""
    n, memory = int(problem.associations), as_memory(memory)
    with in_digits_for(problem, memory) as problem:
        target, rival, logsumexp = (np.asarray(part)[:n] for part in _top_scores(problem, memory))
    shares = None if problem.shares is None else np.asarray(problem.shares)[:n]
    return TopScores(target, rival, logsumexp, shares, problem.description)


@contextmanager
def in_digits_for(problem: Problem, memory: Any) -> Iterator[Problem]:
    """The problem in float64, which is then switched on, if the memory has float64 numbers; in float32 otherwise."""
    with in_digits_of(memory) as doubles:
        yield (problem.in_float64() if doubles else None) or problem.in_float32()


def programs(problem: Problem, memory: Any) -> Iterator[Call]:
    """The compiled functions that a measurement calls, given the shapes of a problem and a memory."""
    yield _top_scores, (problem.in_float32(), memory)


@compiled
def _top_scores(problem: Problem, memory: Any) -> tuple[Array, Array, Array]:
    memory = jax.tree.map(_at_least_float32, memory)
    recall = problem.recall(queries_of(memory, problem.inputs), "float32")
    return recall.target, recall.rival, recall.logsumexp


def _at_least_float32(leaf: Array) -> Array:
    real = jnp.issubdtype(leaf.dtype, jnp.floating)
    return leaf.astype(jnp.promote_types(leaf.dtype, jnp.float32)) if real else leaf
