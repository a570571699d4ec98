"""The loss of a memory on a problem, differentiable with respect to the memory.

The derivative of an association's loss with respect to its query is its slope, pull - u_target, which the pass computes
anyway. So nobody derives a gradient by hand: a memory defines its queries, and JAX does the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import choice, refuse
from loadstone.kernels.products import PRECISIONS
from loadstone.kernels.recall import Recall
from loadstone.problems.problem import Problem, require_problem


def mean_loss(problem: Problem, memory: Any, *, precision: str = "float32") -> tuple[Float[Array, ""], Recall]:
    """Mean cross-entropy of the associations, weighted by their shares, and the recall that it comes from.

    The loss is differentiable with respect to the memory. The recall is for counting: its derivatives are zero.

    Example:
        >>> from jax.numpy import zeros
        >>> from loadstone.memories.full import Full
        >>> from loadstone.problems.loss import mean_loss
        >>> loss, recall = mean_loss(loadstone.original(loadstone.Stream(0, 4), 6), Full(zeros((4, 4))))
        >>> round(float(loss), 4)  # log 6
        1.7918
    """
    require_problem(problem)
    choice("precision", precision, PRECISIONS)
    if not hasattr(memory, "queries"):
        raise refuse("memory", memory, "a memory, which has queries(inputs)")
    is_dense = getattr(memory, "is_dense", lambda precision: False)(precision)
    if is_dense and problem.shares is None and problem.linear_step(precision) is not None:
        weights = memory.matrix()
        if weights.dtype == problem.inputs.dtype:
            total, recall = _total(_linear_step, precision, problem, weights)
            return total / problem.associations, jax.lax.stop_gradient(recall)
    if problem.memory_step(precision) is not None:
        total, recall = _total(_memory_step, precision, problem, memory)
        weight = problem.associations if problem.shares is None else problem.shares.sum()
        return total / weight, jax.lax.stop_gradient(recall)
    losses, recall = differentiable_losses(problem, queries_of(memory, problem.inputs, precision), precision)
    if problem.shares is None:
        return losses.sum() / problem.associations, recall
    return (problem.shares * losses).sum() / problem.shares.sum(), recall


def differentiable_losses(
    problem: Problem, queries: Float[Array, "n d"], precision: str = "float32"
) -> tuple[Float[Array, "n"], Recall]:
    """The loss of each association, differentiable with respect to its query, and the recall that it comes from."""
    if queries.shape != problem.inputs.shape:
        raise refuse("queries.shape", queries.shape, f"{problem.inputs.shape}, one query for each input")
    losses, recall = _losses(precision, problem, queries)
    return losses, jax.lax.stop_gradient(recall)


def queries_of(memory: Any, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
    """The queries of a memory. If its `queries` takes no precision, its products have JAX's default precision."""
    return memory.queries(inputs, *([precision] if takes_precision(type(memory).queries) else []))


def takes_precision(queries: Callable[..., Any]) -> bool:
    """Whether a function that makes queries takes the precision of its products."""
    return "precision" in inspect.signature(queries).parameters


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _losses(precision: str, problem: Problem, queries: Float[Array, "n d"]) -> tuple[Float[Array, "n"], Recall]:
    recall = problem.recall(queries, precision)
    return recall.loss, recall


def _losses_forward(precision, problem, queries):
    recall, slope = problem.slopes(queries, precision)
    return (recall.loss, recall), slope


def _losses_backward(precision, slope, cotangents):
    weight, _ = cotangents
    return None, weight[:, None] * slope


_losses.defvjp(_losses_forward, _losses_backward)


def _linear_step(precision, problem, weights):
    recall, gradient = problem.linear_step(precision)(weights)
    return recall.loss.sum(), recall, [gradient]


def _memory_step(precision, problem, memory):
    return problem.memory_step(precision)(memory)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _total(step: Callable, precision: str, problem: Problem, memory: Any) -> tuple[Float[Array, ""], Recall]:
    """The summed loss of a problem that makes the gradient itself, by one of these steps."""
    return _total_forward(step, precision, problem, memory)[0]


def _total_forward(step, precision, problem, memory):
    total, recall, gradient = step(precision, problem, memory)
    return (total, recall), (gradient, memory)


def _total_backward(step, precision, kept, cotangents):
    gradient, memory = kept
    scaled = (cotangents[0] * part for part in gradient)
    leaves, structure = jax.tree.flatten(memory)
    nothing = [np.zeros(leaf.shape, jax.dtypes.float0) for leaf in leaves]
    parts = [next(scaled) if is_real(leaf) else zero for leaf, zero in zip(leaves, nothing)]
    return None, jax.tree.unflatten(structure, parts)


_total.defvjp(_total_forward, _total_backward)


def is_real(leaf: Any) -> bool:
    """Whether an array of a memory has real numbers, which have a gradient."""
    return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.inexact))


def check_memory(problem: Problem, memory: Any) -> None:
    """Refuse a memory that cannot make queries for this problem, before anything is compiled."""
    if not hasattr(memory, "queries"):
        raise refuse("memory", type(memory).__name__, "a memory, which has queries(inputs)")
    wanted = problem.inputs.shape
    try:
        queries = jax.eval_shape(queries_of, memory, problem.inputs)
    except (TypeError, IndexError, AttributeError) as error:  # products of arrays that do not fit, or of no arrays
        sizes = ", ".join(str(np.shape(leaf)) for leaf in jax.tree.leaves(memory))
        allowed = f"one that makes queries of inputs of shape {wanted} ({' '.join(str(error).split())[:120]})"
        raise refuse("memory", f"one with arrays of shape {sizes}", allowed) from error
    if getattr(queries, "shape", None) != wanted:
        raise refuse("memory", f"one whose queries have shape {queries}", f"one whose queries have shape {wanted}")
    if not jnp.issubdtype(queries.dtype, jnp.floating):
        raise refuse("memory", f"one whose queries are {queries.dtype}", "one whose queries are real numbers")
