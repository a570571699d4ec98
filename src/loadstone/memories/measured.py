"""How a memory is measured once it is there: in the digits that it has, and in float32 at least."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from loadstone.kernels.recall import Recall
from loadstone.memories.memory import in_digits_of
from loadstone.problems.loss import queries_of
from loadstone.problems.problem import Problem


@contextmanager
def in_its_digits(problem: Problem, memory: Any) -> Iterator[Problem]:
    """The problem in float32, whatever the memory was trained in; in float64, which is then switched on, if the memory
    has float64 numbers."""
    with in_digits_of(memory) as doubles:
        yield (problem.in_float64() if doubles else None) or problem.in_float32()


def recall_of(problem: Problem, memory: Any) -> Recall:
    """One pass of a memory over such a problem, to be compiled."""
    memory = jax.tree.map(_at_least_float32, memory)
    return problem.recall(queries_of(memory, problem.inputs), "float32")


def _at_least_float32(leaf: Array) -> Array:
    real = jnp.issubdtype(leaf.dtype, jnp.floating)
    return leaf.astype(jnp.promote_types(leaf.dtype, jnp.float32)) if real else leaf
