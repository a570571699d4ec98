"""From a full W to the recall of its queries and the gradient, in float16 on a Hopper GPU: the pass together with the
products before and after it.

A search does this many times with the same facts. What all steps need is rounded and padded once, the products take
these arrays as they are, and nothing that can be known in advance is measured: where a problem is small, each kernel
that is saved counts.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Float16

from loadstone.kernels.devices import processors
from loadstone.kernels.hopper.arrays import ROWS, WIDTH, OutputArrays, RecallOfArrays, cut, output_arrays, padded
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.products import exponent_of, in_float16, in_units
from loadstone.kernels.recall import Recall, Slope

#: The sum over the facts is done in parts, which keep the chip busy; a part has at least this many facts.
_LEAST_PART = 512
#: The largest entry of a matrix is the maximum of this many parts.
_MAXIMA = 16


class StepArrays(NamedTuple):
    """The facts of a problem as the kernels take them.

    inputs: in float16, in units of `unit`.
    outputs: in float16, and which of them are targets.
    slope_exponent: the unit of slopes in float16 is two to this power. None of their components exceeds twice the
        largest of an output. Float16 has all its digits down to a ten-millionth of that, and what is smaller is
        rounding: shares of outputs are known to a millionth.
    """

    inputs: Float16[Array, "rows width"]
    unit: Float[Array, ""]
    outputs: OutputArrays
    slope_exponent: Float[Array, ""]


def step_arrays(inputs: Float[Array, "n d"], outputs: SharedOutputs) -> StepArrays:
    """The arrays that all steps need, made once."""
    n, d = inputs.shape
    half, unit = in_float16(inputs, jnp.max(jnp.abs(inputs)))
    rows = padded(half, ROWS * _parts(n, d))
    arrays = output_arrays(outputs, len(rows))
    return StepArrays(rows, unit, arrays, exponent_of(2 * jnp.max(jnp.abs(arrays.outputs)).astype(jnp.float32)))


def step(
    weights: Float[Array, "d d"], facts: StepArrays, n: int, recall_of: RecallOfArrays
) -> tuple[Recall, Float[Array, "d d"]]:
    """The recall of the queries W e, and the gradient of the summed loss with respect to W; rows of the recall
    that do not count are arbitrary."""
    d, width = len(weights), facts.inputs.shape[1]
    half, unit = in_float16(weights, _largest(weights))
    square = padded(half, width)
    queries = lax.dot_general(facts.inputs, square, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
    queries = (queries * (facts.unit * unit)).astype(jnp.float16)
    recall, slope = recall_of(queries, facts.outputs)
    inside = jnp.arange(len(queries)) < facts.outputs.counts[0]
    slope, slope_unit = in_units(jnp.where(inside[:, None], slope, 0.0), facts.slope_exponent)
    parts = _parts(n, d)
    left, right = (part.reshape(parts, -1, width) for part in (slope, facts.inputs))
    gradient = lax.dot_general(left, right, (((1,), (1,)), ((0,), (0,))), preferred_element_type=jnp.float32)
    return cut(recall, n, d), gradient.sum(axis=0)[:d, :d] * (slope_unit * facts.unit)


def slopes(queries: Float[Array, "n d"], facts: StepArrays, recall_of: RecallOfArrays) -> tuple[Recall, Slope]:
    """The recall of queries of any memory, and the derivative of each loss with respect to its query."""
    n, d = queries.shape
    rows = jnp.pad(padded(queries, 1), ((0, len(facts.inputs) - n), (0, 0)))
    recall, slope = recall_of(rows, facts.outputs)
    return cut(recall, n, d), slope[:n, :d]


def _largest(matrix: Float[Array, "n m"]) -> Float[Array, ""]:
    """The largest size of an entry: in a few parts, whose maxima are compared where the result is used. As one maximum
    it would be two kernels, and the next one would wait for both."""
    numbers = jnp.abs(matrix).ravel()
    parts = jnp.pad(numbers, (0, -len(numbers) % _MAXIMA)).reshape(_MAXIMA, -1).max(axis=1)
    return functools.reduce(jnp.maximum, (parts[index] for index in range(_MAXIMA)))


def _parts(n: int, d: int) -> int:
    """In how many parts to sum over n facts, so that the tiles of all parts keep every processor busy."""
    tiles = (-(-d // WIDTH)) ** 2
    return max(1, min(processors() // tiles, n // _LEAST_PART))
