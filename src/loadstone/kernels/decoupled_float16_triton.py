"""The pass over decoupled outputs stored in float16 as one fused kernel on a GPU, in Pallas (Triton), with products in
tensor cores. Each output is read once.

Products in float32 would take longer than reading. Tensor cores multiply float16 numbers exactly and have room for 16
rows where a pass has one query. So a query is the sum of three float16 numbers, in three rows, and a weight the sum of
two.

- Three float16 numbers have 33 bits, and a float32 has 24: a component of a query is exact unless float16 finds a part
  of it too small, and then it is off by at most 2^-28 of the largest component.
- A weight is off by at most 2^-23 of itself, or by 2^-37 of the largest weight.

Sums are in float32. A tensor core adds 16 products at a time and cuts off what does not fit, so that a sum of m terms
is off by at most about 2^-23 m / 16 of the sum of their sizes; a loop in float32 would be off by at most 2^-24 m.
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Float16, Float32, Int32

from loadstone.arguments import refuse
from loadstone.kernels.decoupled_regenerated_triton import parts
from loadstone.kernels.decoupled_triton import WARPS, for_each_row, with_slopes
from loadstone.kernels.outputs import StoredOutputs, check_stored
from loadstone.kernels.recall import Recall, Slope

#: Outputs in a tile; chosen by measurements on an H200.
_TILE = 128
#: Rows of the small operand of a tensor core, and the smallest part of the components: 8 of them for each warp.
_ROWS, _LEAST = 16, 8 * WARPS
#: Weights are at most 1; times this, few of them are too small for float16.
_WEIGHT_SCALE = 2.0**12
#: Below every score; finite, so that differences are.
_LOWEST = -3e38


def stored_pass(queries: Float32[Array, "rows d"], outputs: StoredOutputs, precision: str) -> tuple[Recall, Slope]:
    """Each query against its outputs, in float16. Errors are those of float32, whatever the precision."""
    return with_slopes(stored_recall, queries, outputs)


def stored_recall(
    count: Int32[Array, ""],
    first: Int32[Array, ""],
    queries: Float32[Array, "rows d"],
    outputs: Float16[Array, "rows d m"],
    interpret: bool = False,
) -> Recall:
    """Recall of each query against the first `count` outputs of its association; `first + row` is the index of the
    association and of its target. Outputs from `count` on must be finite."""
    check_stored(queries, outputs)
    if outputs.dtype != jnp.float16:
        raise refuse("outputs.dtype", str(outputs.dtype), "float16 for the pass in tensor cores")
    rows, d, m = outputs.shape
    widths = parts(d, _LEAST)
    width = sum(widths)
    scale, operand = in_float16(jnp.pad(queries, ((0, 0), (0, width - d))))
    scalar, number = pl.BlockSpec((), lambda row: ()), pl.BlockSpec((None,), lambda row: (row,))
    own, query = (pl.BlockSpec((None, *shape), lambda row: (row, 0, 0)) for shape in ((d, m), (_ROWS, width)))
    kernel = functools.partial(_kernel, widths=widths)
    call = for_each_row(kernel, rows, width, interpret, [scalar, scalar, number, own, query])
    target, rival, logsumexp, pull = call(jnp.clip(count, 0, m), first, scale, outputs, operand)
    return Recall(target, rival, logsumexp, pull[:, :d])


def in_float16(
    queries: Float32[Array, "rows d"],
) -> tuple[Float32[Array, "rows"], Float16[Array, "rows 16 d"]]:
    """For each query a power of two, in whose units its largest component is between 2^14 and 2^15, and three float16
    numbers for each component in these units, whose sum it is; they are the first of 16 rows."""
    bits = lax.bitcast_convert_type(jnp.max(jnp.abs(queries), axis=1), jnp.int32)
    # From the bits, because exp2 and quotients are not exact on a GPU. A query below 2^-90 has larger units than that.
    exponent = jnp.maximum((bits >> 23) - 127, -90)
    scale, inverse = (
        lax.bitcast_convert_type((127 + power) << 23, jnp.float32) for power in (exponent - 14, 14 - exponent)
    )
    numbers, rest = [], queries * inverse[:, None]
    for _ in range(3):
        # Not by a cast to float16 and back, which XLA may leave out.
        numbers.append(lax.reduce_precision(rest, exponent_bits=5, mantissa_bits=10))
        rest = rest - numbers[-1]
    empty = [jnp.zeros_like(queries)] * (_ROWS - len(numbers))
    return scale, jnp.stack(numbers + empty, axis=1).astype(jnp.float16)


def _kernel(count_ref, first_ref, scale_ref, output_ref, query_ref, *results, widths):
    count, row, (d, m) = count_ref[()], pl.program_id(0), output_ref.shape
    own, scale = first_ref[()] + row, scale_ref[()]
    starts = [sum(widths[:part]) for part in range(len(widths))]
    queries = [query_ref[:, pl.ds(start, width)] for start, width in zip(starts, widths)]

    def read(step, column):
        parts_of_tile = []
        for start, width in zip(starts, widths):
            # Outputs from `count` on are read too, and get no weight: with a limit known only at run time, each number
            # would be read separately.
            mask = jnp.broadcast_to((column < m)[None, :], (width, _TILE))
            if start + width > d:
                mask &= ((start + jnp.arange(width)) < d)[:, None]
            # A start that is known only at run time lets the slice reach beyond d, where it is masked.
            where = output_ref.at[pl.ds(start + row * 0, width), pl.ds(step * _TILE, _TILE)]
            parts_of_tile.append(plgpu.load(where, mask=mask, other=0.0))
        return parts_of_tile

    def consume(step, carry):
        target, rival, before, totals, pulls = carry
        column = step * _TILE + jnp.arange(_TILE)
        outputs, is_target = read(step, column), column == own
        products = sum(_product(query, part, 0) for query, part in zip(queries, outputs))
        scores = jnp.where(column < count, products.sum(axis=0) * scale, -jnp.inf)
        target = jnp.where(is_target, scores, target)
        rival = jnp.where(is_target, rival, jnp.maximum(rival, scores))
        top = jnp.maximum(before, jnp.max(scores))
        shrink, weights = jnp.exp(before - top), jnp.exp(scores - top)
        both = _weight_rows(weights)
        pulls = tuple(pull * shrink + _product(both, part, 1) for pull, part in zip(pulls, outputs))
        return target, rival, top, totals * shrink + weights, pulls

    tiles = lax.div(count + (_TILE - 1), _TILE)
    # An association from `count` on is padding: it has no target and goes through no tile.
    tiles = jnp.where(own < count, tiles, 0)
    slots, lowest = jnp.full((_TILE,), _LOWEST, jnp.float32), jnp.float32(_LOWEST)
    nothing = tuple(jnp.zeros((_ROWS, width), jnp.float32) for width in widths)
    start = slots, slots, lowest, jnp.zeros((_TILE,), jnp.float32), nothing
    target, rival, top, totals, pulls = lax.fori_loop(0, tiles, consume, start)
    total = jnp.sum(totals)
    for result, number in zip(results, (jnp.max(target), jnp.max(rival))):
        result[()] = jnp.where(number <= _LOWEST, -jnp.inf, number)
    results[2][()] = top + jnp.log(total)
    # Padding has the weight 0, and must not give 0 / 0.
    safe = jnp.maximum(total, jnp.float32(1e-30))
    for begin, width, pull in zip(starts, widths, pulls):
        results[3][pl.ds(begin, width)] = pull.sum(axis=0) / _WEIGHT_SCALE / safe


def _weight_rows(weights: Float32[Array, "tile"]) -> Float16[Array, "16 tile"]:
    """Two float16 numbers, in the first two rows, whose sum is a scaled weight."""
    row = lax.broadcasted_iota(jnp.int32, (_ROWS, weights.shape[0]), 0)
    scaled = weights * _WEIGHT_SCALE
    high = scaled.astype(jnp.float16)
    low = (scaled - high.astype(jnp.float32)).astype(jnp.float16)
    return jnp.where(row == 0, high[None, :], jnp.where(row == 1, low[None, :], jnp.float16(0)))


def _product(small, large, axis):
    return lax.dot_general(small, large, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)
