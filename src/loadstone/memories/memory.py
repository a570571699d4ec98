"""Memories: linear maps from inputs to queries, full (W) or factored (Q R^T)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from loadstone.arguments import rank_fraction, whole
from loadstone.problems.counters import stream_key
from loadstone.problems.embeddings import vectors
from loadstone.problems.problem import Problem
from loadstone.problems.recall import Recall, crossed, dense, exact


@partial(jax.tree_util.register_dataclass, data_fields=["weights"], meta_fields=[])
@dataclass(frozen=True)
class Full:
    """W, of size d x d: the query of input e is W e."""

    weights: Float[Array, "d d"]

    def queries(self, inputs: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return exact(inputs, self.weights.T)

    def descend(self, problem: Problem, precision: str) -> tuple[Recall, Full]:
        """One pass, and the gradient of its mean loss."""
        recall, gradient = problem.descend(self.weights, precision)
        return recall, Full(gradient)

    def matrix(self) -> Float[Array, "d d"]:
        return self.weights

    @property
    def rank(self) -> int:
        return self.weights.shape[-1]


@partial(jax.tree_util.register_dataclass, data_fields=["left", "right"], meta_fields=[])
@dataclass(frozen=True)
class Factored:
    """Q R^T, with Q and R of size d x m: the query of input e is Q (R^T e)."""

    left: Float[Array, "d m"]
    right: Float[Array, "d m"]

    def queries(self, inputs: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return exact(exact(inputs, self.right), self.left.T)

    def descend(self, problem: Problem, precision: str) -> tuple[Recall, Factored]:
        """One pass, and the gradient of its mean loss. With s the slope along a query Q R^T e it is s (R^T e)^T for Q
        and e (Q^T s)^T for R, summed."""
        times, summed = partial(dense, precision=precision), partial(crossed, precision=precision)
        hidden = times(problem.inputs, self.right)
        recall = problem.recall(times(hidden, self.left.T), precision)
        slope = recall.pull - problem.pulled_targets(precision)
        gradients = summed(slope, hidden), summed(problem.inputs, times(slope, self.left))
        return recall, Factored(*(part / problem.associations for part in gradients))

    def matrix(self) -> Float[Array, "d d"]:
        return exact(self.left, self.right.T)

    @property
    def rank(self) -> int:
        return self.left.shape[-1]


Memory = Full | Factored


def initial_memory(d: int, kappa: float, seed: int) -> Memory:
    """A memory before training: every entry of W, or of both factors, drawn from N(0, 1/d^2).

    kappa = 1 gives a full W; kappa < 1 the factors of rank m = round(kappa d), at least 1.
    """
    d, kappa = whole("d", d, 1), rank_fraction("kappa", kappa)
    if kappa == 1:
        return Full(_normal_matrix(stream_key(seed, "memory", d), d, d))
    m = rank_of(kappa, d)
    return Factored(*(_normal_matrix(stream_key(seed, use, d), d, m) for use in ("memory", "second factor")))


def rank_of(kappa: float, d: int) -> int:
    """m = round(kappa d), at least 1."""
    return max(1, round(kappa * d))


def recall_place(memory: Memory, inputs: Float[Array, "n d"], outputs: Float[Array, "m d"]) -> Int[Array, "n"]:
    """For each input, the place of the output that the memory recalls: argmax over rho of u_rho^T W e."""
    return jnp.argmax(exact(memory.queries(inputs), outputs.T), axis=-1)


@partial(jax.jit, static_argnums=(1, 2))
def _normal_matrix(key, d: int, columns: int) -> Float[Array, "d columns"]:
    return vectors(key, jnp.arange(columns, dtype=jnp.uint32), d, "gaussian") / d
