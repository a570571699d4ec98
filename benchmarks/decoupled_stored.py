"""Candidates for the pass over stored outputs, to be measured by decoupled_bound.py.

Those of kind 'lanes' multiply in float32; outputs are read in pieces of few rows, and the next tile may be asked for
before the present one is used. Those of kind 'tensor' multiply in tensor cores: a query, and a weight, is the sum of
float16 numbers, which are rows of one operand that would be empty otherwise; products are exact, sums are in float32.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from decoupled_made import joined, parts
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Float, Float16, Float32, Int32

from loadstone.problems.recall import Recall

#: How many bytes a thread reads at once.
_READ = 16
#: Rows of the small operand of a tensor core, of which the float16 parts of a number fill a few.
_ROWS = 16
#: Weights are at most 1: scaled by this, float16 parts of them lose nothing that matters.
_WEIGHT_SCALE = 2.0**12
_LOWEST = -3e38


@dataclass(frozen=True)
class Stored:
    """How a candidate works.

    kind: 'lanes', 'tensor', or 'sum' (an ablation: only the sum of all outputs).
    tile: outputs at a time.
    warps, stages: of a program.
    splits: programs for one association.
    ahead: whether the next tile is read before the present one is used.
    evict: eviction policy of the reads.
    """

    kind: str = "lanes"
    tile: int = 64
    warps: int = 4
    stages: int = 1
    splits: int = 1
    ahead: bool = True
    evict: str | None = None


def stored_recall(
    count: Int32[Array, ""],
    queries: Float32[Array, "rows d"],
    outputs: Float[Array, "rows d m"],
    way: Stored,
    interpret: bool = False,
) -> Recall:
    """As decoupled_triton.stored_recall with first = 0."""
    rows, d, m = outputs.shape
    group = _READ // outputs.dtype.itemsize
    if way.kind == "tensor":
        widths = parts(d, _ROWS)
    else:
        least = 32 * way.warps * group // way.tile
        widths = (least,) * -(-d // least)
    width = sum(widths)
    filled = jnp.pad(queries, ((0, 0), (0, width - d)))
    scale = _unit(jnp.max(jnp.abs(filled), axis=1))
    operand = in_float16(filled / scale[:, None]) if way.kind == "tensor" else filled
    own = pl.BlockSpec((None, *operand.shape[1:]), lambda row, split: (row,) + (0,) * (operand.ndim - 1))
    one, scalar = pl.BlockSpec((None, None), lambda row, split: (row, split)), pl.BlockSpec((), lambda row, split: ())
    number = jax.ShapeDtypeStruct((rows, way.splits), jnp.float32)
    found = pl.pallas_call(
        functools.partial(_kernel, widths=widths, way=way, group=group),
        grid=(rows, way.splits),
        in_specs=[
            scalar,
            pl.BlockSpec((None,), lambda row, split: (row,)),
            pl.BlockSpec((None, d, m), lambda row, split: (row, 0, 0)),
            own,
        ],
        out_specs=(one, one, one, pl.BlockSpec((None, None, width), lambda row, split: (row, split, 0))),
        out_shape=(number, number, number, jax.ShapeDtypeStruct((rows, way.splits, width), jnp.float32)),
        compiler_params=plgpu.CompilerParams(num_warps=way.warps, num_stages=way.stages),
        interpret=interpret,
    )(jnp.clip(count, 0, m), scale, outputs, operand)
    target, rival, logsumexp, pull = joined(*found)
    return Recall(target, rival, logsumexp, pull[:, :d])


def _unit(sizes: Float32[Array, "rows"]) -> Float32[Array, "rows"]:
    """Powers of two in whose units these sizes are at most 2^15, which float16 can hold."""
    return jnp.exp2(jnp.ceil(jnp.log2(jnp.where(sizes > 0, sizes, 1.0))) - 15)


def in_float16(numbers: Float32[Array, "*shape d"]) -> Float16[Array, "*shape 16 d"]:
    """Three float16 numbers whose sum is each of these, as the first of 16 rows."""
    found, rest = [], numbers
    for _ in range(3):
        # Not by a cast to float16 and back, which XLA may leave out.
        found.append(lax.reduce_precision(rest, exponent_bits=5, mantissa_bits=10))
        rest = rest - found[-1]
    empty = jnp.zeros_like(numbers)
    return jnp.stack(found + [empty] * (_ROWS - 3), axis=-2).astype(jnp.float16)


def _kernel(count_ref, scale_ref, output_ref, query_ref, *results, widths, way, group):
    count, own, split, (d, m), tile = count_ref[()], pl.program_id(0), pl.program_id(1), output_ref.shape, way.tile
    starts = [sum(widths[:part]) for part in range(len(widths))]

    def read(step):
        column, found = step * tile + jnp.arange(tile), []
        for start, width in zip(starts, widths):
            mask = jnp.broadcast_to((column < m)[None, :], (width, tile))
            if start + width > d:
                mask &= ((start + jnp.arange(width)) < d)[:, None]
            # A start that is known only at run time lets the slice reach beyond d, where it is masked.
            where = output_ref.at[pl.ds(start + own * 0, width), pl.ds(step * tile, tile)]
            found.append(plgpu.load(where, mask=mask, other=0.0, eviction_policy=way.evict))
        return tuple(found)

    tiles = lax.div(count + (tile - 1), tile)
    each = lax.div(tiles + (way.splits - 1), way.splits)
    begin = jnp.minimum(split * each, tiles)
    # An association from `count` on is padding: it has no target and goes through no tile.
    end = jnp.where(own < count, jnp.minimum(begin + each, tiles), begin)
    kind = {"lanes": _Lanes, "tensor": _Tensor, "sum": _Sum}[way.kind]
    work = kind(query_ref, scale_ref, starts, widths, tile, group)

    def consume(step, carry):
        state, held = carry if way.ahead else (carry, read(step))
        # One tile too many is asked for at the end, at a place where all of it is masked.
        following = read(step + 1) if way.ahead else None
        column = step * tile + jnp.arange(tile)
        state = _weighed(work, state, held, column, column < count, column == own)
        return (state, following) if way.ahead else state

    slots, lowest = jnp.full((tile,), _LOWEST, jnp.float32), jnp.float32(_LOWEST)
    state = slots, slots, lowest, jnp.zeros((tile,), jnp.float32), work.nothing()
    carry = lax.fori_loop(begin, end, consume, (state, read(begin)) if way.ahead else state)
    target, rival, top, totals, sums = carry[0] if way.ahead else carry
    total = jnp.sum(totals)
    for result, number in zip(results, (jnp.max(target), jnp.max(rival))):
        result[()] = jnp.where(number <= _LOWEST, -jnp.inf, number)
    results[2][()] = top + jnp.log(total)
    # A program without outputs has the weight 0, and must not say 0 / 0.
    safe = jnp.maximum(total, jnp.float32(1e-30))
    for start, width, pull in zip(starts, widths, work.pulls(sums)):
        results[3][pl.ds(start, width)] = pull / safe


def _weighed(work, state, held, column, inside, is_target):
    target, rival, before, totals, sums = state
    scores = work.scores(held)
    if scores is None:
        return target, rival, before, totals, work.added(sums, held, None, None)
    scores = jnp.where(inside, scores, -jnp.inf)
    target = jnp.where(is_target, scores, target)
    rival = jnp.where(is_target, rival, jnp.maximum(rival, scores))
    top = jnp.maximum(before, jnp.max(scores))
    shrink, weights = jnp.exp(before - top), jnp.exp(scores - top)
    return target, rival, top, totals * shrink + weights, work.added(sums, held, shrink, weights)


class _Lanes:
    """Products in float32; those of the outputs that one thread has are summed at once, the rest at the end."""

    def __init__(self, query_ref, scale_ref, starts, widths, tile, group):
        self.shape = tile // group, group
        self.widths = widths
        self.queries = [query_ref[pl.ds(start, width)][:, None] for start, width in zip(starts, widths)]

    def nothing(self):
        return tuple(jnp.zeros((width, self.shape[0]), jnp.float32) for width in self.widths)

    def scores(self, held):
        return sum(part.astype(jnp.float32) * query for query, part in zip(self.queries, held)).sum(axis=0)

    def added(self, sums, held, shrink, weights):
        weighted = (part.astype(jnp.float32) * weights[None, :] for part in held)
        added = (part.reshape(-1, *self.shape).sum(axis=2) for part in weighted)
        return tuple(pull * shrink + part for pull, part in zip(sums, added))

    def pulls(self, sums):
        return [part.sum(axis=1) for part in sums]


class _Sum(_Lanes):
    """Only the sum of all outputs."""

    def scores(self, held):
        return None

    def added(self, sums, held, shrink, weights):
        numbers = (part.astype(jnp.float32).reshape(-1, *self.shape) for part in held)
        return tuple(pull + part.sum(axis=2) for pull, part in zip(sums, numbers))


class _Tensor:
    """Products in tensor cores."""

    def __init__(self, query_ref, scale_ref, starts, widths, tile, group):
        self.widths, self.scale, self.tile = widths, scale_ref[()], tile
        self.queries = [query_ref[:, pl.ds(start, width)] for start, width in zip(starts, widths)]

    def nothing(self):
        return tuple(jnp.zeros((_ROWS, width), jnp.float32) for width in self.widths)

    def scores(self, held):
        products = sum(_product(query, part, 0) for query, part in zip(self.queries, held))
        return products.sum(axis=0) * self.scale

    def added(self, sums, held, shrink, weights):
        row = lax.broadcasted_iota(jnp.int32, (_ROWS, self.tile), 0)
        scaled = weights * _WEIGHT_SCALE
        high = scaled.astype(jnp.float16)
        low = (scaled - high.astype(jnp.float32)).astype(jnp.float16)
        both = jnp.where(row == 0, high[None, :], jnp.where(row == 1, low[None, :], jnp.float16(0)))
        return tuple(pull * shrink + _product(both, part, 1) for pull, part in zip(sums, held))

    def pulls(self, sums):
        return [part.sum(axis=0) / _WEIGHT_SCALE for part in sums]


def _product(small, large, axis):
    return lax.dot_general(small, large, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)
