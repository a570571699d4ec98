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
from jaxtyping import Array, Float, Float16, Int, Int32

from loadstone.problems.passes.devices import processors
from loadstone.problems.passes.filling import ROWS, WIDTH, FilledRecall, counted, cut, filled
from loadstone.problems.products import in_float16
from loadstone.problems.recall import Recall, Slope

#: The sum over the facts is done in parts, which keep the chip busy; a part has at least so many facts.
_LEAST_PART = 512
#: Shares that are given to the wrong outputs are known to about this.
_ROUNDING = 2.0**-20


class Filled(NamedTuple):
    """The facts of a problem as the kernels take them.

    inputs: in float16, in units of `unit`.
    outputs, targets: the outputs in float16, and the index of each target.
    largest: the largest component of an output.
    counts: how many of the inputs and of the outputs count.
    """

    inputs: Float16[Array, "rows width"]
    unit: Float[Array, ""]
    outputs: Float16[Array, "columns width"]
    targets: Int32[Array, "rows"]
    largest: Float[Array, ""]
    counts: Int32[Array, "2"]


def filled_up(
    inputs: Float[Array, "n d"], outputs: Float[Array, "m d"], targets: Int[Array, "n"], count: Int[Array, ""] | None
) -> Filled:
    """What all steps need, done once; only the first `count` inputs and outputs count, if it is given."""
    n, d = inputs.shape
    half, unit = in_float16(inputs, jnp.max(jnp.abs(inputs)))
    rows = filled(half, ROWS * _parts(n, d))
    columns = filled(outputs, ROWS)
    indices = jnp.pad(targets.astype(jnp.int32), (0, len(rows) - n))
    largest = jnp.max(jnp.abs(columns)).astype(jnp.float32)
    return Filled(rows, unit, columns, indices, largest, counted(n, len(outputs), count))


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
    found = recall_of(queries, facts.outputs, facts.targets, facts.counts)
    inside = jnp.arange(len(queries)) < facts.counts[0]
    # No component of pull - target exceeds the share that the wrong outputs have, times their largest distance.
    wrong = jnp.where(inside, 1 - jnp.exp(found.target - found.logsumexp), 0.0)
    bound = 2 * facts.largest * jnp.maximum(wrong.max(), _ROUNDING)
    slope = jnp.where(inside[:, None], found.pull - facts.outputs[facts.targets].astype(jnp.float32), 0.0)
    slope, slope_unit = in_float16(slope, bound)
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
    recall = cut(recall_of(rows, facts.outputs, facts.targets, facts.counts), n, d)
    return recall, recall.pull - facts.outputs[facts.targets[:n], :d].astype(jnp.float32)


def _parts(n: int, d: int) -> int:
    """In how many parts to sum over n facts, so that the tiles of all parts keep every processor busy."""
    tiles = (-(-d // WIDTH)) ** 2
    return max(1, min(processors() // tiles, n // _LEAST_PART))
