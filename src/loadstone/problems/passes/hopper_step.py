"""From a full W to the recall of its queries and the gradient, in float16 on a Hopper GPU: the pass together with the
products before and after it.

A search does this many times with the same facts. What all steps need is rounded and filled up once, the products take
these arrays as they are, and nothing that can be known in advance is measured: where a problem is small, each kernel
that is saved counts.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Float16, Int

from loadstone.problems.passes.devices import processors
from loadstone.problems.passes.filling import ROWS, WIDTH, Answers, FilledRecall, answers, cut, filled
from loadstone.problems.products import in_float16
from loadstone.problems.recall import Recall, Slope

#: The sum over the facts is done in parts, which keep the chip busy; a part has at least so many facts.
_LEAST_PART = 512
#: Shares that are given to the wrong outputs are known to about this.
_ROUNDING = 2.0**-20


class Filled(NamedTuple):
    """The facts of a problem as the kernels take them.

    inputs: in float16, in units of `unit`.
    answers: the outputs in float16, and which of them are targets.
    largest: the largest component of an output.
    """

    inputs: Float16[Array, "rows width"]
    unit: Float[Array, ""]
    answers: Answers
    largest: Float[Array, ""]


def filled_up(
    inputs: Float[Array, "n d"], outputs: Float[Array, "m d"], targets: Int[Array, "n"], count: Int[Array, ""] | None
) -> Filled:
    """What all steps need, done once; only the first `count` inputs and outputs count, if it is given."""
    n, d = inputs.shape
    half, unit = in_float16(inputs, jnp.max(jnp.abs(inputs)))
    rows = filled(half, ROWS * _parts(n, d))
    those = answers(outputs, targets, len(rows), count)
    return Filled(rows, unit, those, jnp.max(jnp.abs(those.outputs)).astype(jnp.float32))


def step(
    weights: Float[Array, "d d"], facts: Filled, n: int, recall_of: FilledRecall
) -> tuple[Recall, Float[Array, "d d"]]:
    """The recall of the queries W e, and the gradient of the summed loss with respect to W; rows of the recall that
    nobody asks for are arbitrary."""
    d, width = len(weights), facts.inputs.shape[1]
    half, unit = in_float16(weights, jnp.max(jnp.abs(weights)))
    square = filled(half, width)
    queries = lax.dot_general(facts.inputs, square, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
    queries = (queries * (facts.unit * unit)).astype(jnp.float16)
    found, slope = recall_of(queries, facts.answers)
    inside = jnp.arange(len(queries)) < facts.answers.counts[0]
    # No component of pull - target exceeds the share that the wrong outputs have, times their largest distance.
    wrong = jnp.where(inside, 1 - jnp.exp(found.target - found.logsumexp), 0.0)
    bound = 2 * facts.largest * jnp.maximum(wrong.max(), _ROUNDING)
    slope, slope_unit = in_float16(jnp.where(inside[:, None], slope, 0.0), bound)
    parts = _parts(n, d)
    left, right = (part.reshape(parts, -1, width) for part in (slope, facts.inputs))
    gradient = lax.dot_general(left, right, (((1,), (1,)), ((0,), (0,))), preferred_element_type=jnp.float32)
    return cut(found, n, d), gradient.sum(axis=0)[:d, :d] * (slope_unit * facts.unit)


def slopes(
    queries: Float[Array, "n d"], facts: Filled, recall_of: FilledRecall
) -> tuple[Recall, Slope]:
    """The recall of queries of any memory, and the derivative of each loss with respect to its query."""
    n, d = queries.shape
    rows = jnp.pad(filled(queries, 1), ((0, len(facts.inputs) - n), (0, 0)))
    recall, slope = recall_of(rows, facts.answers)
    return cut(recall, n, d), slope[:n, :d]


def _parts(n: int, d: int) -> int:
    """In how many parts to sum over n facts, so that the tiles of all parts keep every processor busy."""
    tiles = (-(-d // WIDTH)) ** 2
    return max(1, min(processors() // tiles, n // _LEAST_PART))
