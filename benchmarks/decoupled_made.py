"""Candidates for the pass over regenerated outputs, to be measured by decoupled_bound.py: the same numbers to the last
bit, made with fewer instructions.

A program is one warp. Each thread keeps its own largest score, its own sums and its own pull, so the threads talk to
each other only where a score is summed over the components, and once at the end. A word becomes a normal by one
conversion to float that rounds towards zero: exponent and first 8 bits of the float are the cell of the table, the
other 15 bits are the offset. Centre and slope are stored for an offset that has 2^23 added, which is what those 15 bits
are beside the exponent of 2^23; all of this is exact.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Float32, Int32, UInt32

from loadstone.problems.counters import Key, fold, threefry
from loadstone.problems.normals import normal_table
from loadstone.problems.recall import Recall

_CELLS, _OFFSET_BITS, _SHIFTED = 256, 15, 2.0**23
_ROTATIONS, _PARITY = ((13, 15, 26, 6), (17, 29, 16, 24)), np.uint32(0x1BD11BDA)
#: Below every score; finite, so that differences are.
_LOWEST = -3e38


@dataclass(frozen=True)
class Made:
    """How a candidate works.

    tile: outputs at a time; a warp has 32 / tile threads for each.
    warps: of a program.
    splits: programs for one association.
    pair: whether centre and slope are read at once, as 8 bytes.
    multiplied: how many of the four rotations of a group are products, which another unit of the chip computes.
    added: whether all sums of words are computed there, too, as products with 1.
    words: 'threefry', or 'trivial' ones (an ablation).
    transform: 'table', or 'trivial' (an ablation: no table).
    scored: whether there are scores and pulls at all (an ablation: only the sum of all normals).
    """

    tile: int = 8
    warps: int = 1
    splits: int = 1
    pair: bool = True
    multiplied: int = 0
    added: bool = False
    words: str = "threefry"
    transform: str = "table"
    scored: bool = True


@functools.cache
def shifted_table() -> Float32[np.ndarray, "cells 2"]:
    """Centre and slope of every cell for offsets that have 2^23 added; octaves are in the order of the exponents."""
    centre, slope = (column.astype(np.float64).reshape(-1, _CELLS)[::-1].ravel() for column in normal_table())
    return np.stack([centre - slope * (_SHIFTED + 2 ** (_OFFSET_BITS - 1)), slope], axis=1).astype(np.float32)


def made_recall(
    count: Int32[Array, ""], key: Key, queries: Float32[Array, "rows d"], way: Made, interpret: bool = False
) -> Recall:
    """As decoupled_triton.made_recall."""
    rows, d = queries.shape
    keys = jax.vmap(lambda owner: fold(key, owner, 0))(jnp.arange(rows, dtype=jnp.uint32))
    half = (d + 1) // 2
    widths = parts(half, 32 * way.warps // way.tile)
    width = sum(widths)
    table = jnp.asarray(shifted_table())
    halves = [jnp.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (queries[:, :half], queries[:, half:])]
    one, scalar = pl.BlockSpec((None, None), lambda row, split: (row, split)), pl.BlockSpec((), lambda row, split: ())
    number = jax.ShapeDtypeStruct((rows, way.splits), jnp.float32)
    tables = [table] if way.pair else [table[:, 0], table[:, 1]]
    whole = [pl.BlockSpec(one.shape, lambda row, split, axes=one.ndim: (0,) * axes) for one in tables]
    found = pl.pallas_call(
        functools.partial(_kernel, widths=widths, way=way, interpret=interpret),
        grid=(rows, way.splits),
        in_specs=[
            scalar,
            pl.BlockSpec((None, 2), lambda row, split: (row, 0)),
            pl.BlockSpec((None, 2 * width), lambda row, split: (row, 0)),
            scalar,
            *whole,
        ],
        out_specs=(one, one, one, pl.BlockSpec((None, None, 2 * width), lambda row, split: (row, split, 0))),
        out_shape=(number, number, number, jax.ShapeDtypeStruct((rows, way.splits, 2 * width), jnp.float32)),
        compiler_params=plgpu.CompilerParams(num_warps=way.warps, num_stages=1),
        interpret=interpret,
    )(count, keys, jnp.concatenate(halves, axis=1), jnp.ones((), jnp.int32), *tables)
    target, rival, logsumexp, pull = joined(*found)
    both = jnp.concatenate([pull[:, :half], pull[:, width : width + d - half]], axis=1)
    return Recall(target, rival, logsumexp, both)


def parts(components: int, least: int) -> tuple[int, ...]:
    """Powers of two, none below `least`, with the smallest sum that holds so many components."""
    rest, found = -(-components // least) * least, []
    while rest:
        found.append(1 << (rest.bit_length() - 1))
        rest -= found[-1]
    return tuple(found)


def joined(
    target: Float32[Array, "rows splits"],
    rival: Float32[Array, "rows splits"],
    logsumexp: Float32[Array, "rows splits"],
    pull: Float32[Array, "rows splits d"],
) -> tuple[Float32[Array, "rows"], Float32[Array, "rows"], Float32[Array, "rows"], Float32[Array, "rows d"]]:
    """What the programs of each association found, put together."""
    if target.shape[1] == 1:
        return target[:, 0], rival[:, 0], logsumexp[:, 0], pull[:, 0]
    share = jax.nn.softmax(logsumexp, axis=1)
    total = jax.nn.logsumexp(logsumexp, axis=1)
    return target.max(axis=1), rival.max(axis=1), total, (pull * share[:, :, None]).sum(axis=1)


def _kernel(count_ref, key_ref, query_ref, one_ref, *refs, widths, way, interpret):
    table_refs, results = refs[:-4], refs[-4:]
    count, key, tile = count_ref[()], (key_ref[0], key_ref[1]), way.tile
    starts = [sum(widths[:part]) for part in range(len(widths))]
    ends = [(base + start, width) for base in (0, sum(widths)) for start, width in zip(starts, widths)]
    queries = [query_ref[pl.ds(start, width)][:, None] for start, width in ends]
    own, split, one = pl.program_id(0), pl.program_id(1), one_ref[()].astype(jnp.uint32)

    def normals_of(column):
        pairs = []
        for first, width in zip(starts, widths):
            component = (first + jnp.arange(width)).astype(jnp.uint32)
            words = column.astype(jnp.uint32)[None, :], component[:, None]
            counter = tuple(jnp.broadcast_to(word, (width, tile)) for word in words)
            pairs.append(_words(key, counter, one, way, interpret))
        return [_normal(words, table_refs, way, interpret) for half in zip(*pairs) for words in half]

    def consume(step, carry):
        target, rival, total, pulls = carry
        column = step * tile + jnp.arange(tile)
        made = normals_of(column)
        if not way.scored:
            return target, rival, total, tuple(pull + part for pull, part in zip(pulls, made))
        scores = sum((part * query).sum(axis=0) for query, part in zip(queries, made))
        scores = jnp.where(column < count, scores, -jnp.inf)
        is_target, before = column == own, jnp.maximum(target, rival)
        target = jnp.where(is_target, scores, target)
        rival = jnp.where(is_target, rival, jnp.maximum(rival, scores))
        top = jnp.maximum(target, rival)
        shrink, weights = jnp.exp(before - top), jnp.exp(scores - top)
        pulls = tuple(pull * shrink[None, :] + part * weights[None, :] for pull, part in zip(pulls, made))
        return target, rival, total * shrink + weights, pulls

    tiles = lax.div(count + (tile - 1), tile)
    each = lax.div(tiles + (way.splits - 1), way.splits)
    begin = jnp.minimum(split * each, tiles)
    # An association from `count` on is padding: it has no target and goes through no tile.
    end = jnp.where(own < count, jnp.minimum(begin + each, tiles), begin)
    lowest = jnp.full((tile,), _LOWEST, jnp.float32)
    nothing = tuple(jnp.zeros((width, tile), jnp.float32) for width in widths * 2)
    found = lax.fori_loop(begin, end, consume, (lowest, lowest, jnp.zeros((tile,), jnp.float32), nothing))
    write(results, ends, *found)


def write(results, ends, target, rival, total, pulls):
    """Put together what the threads found, each of them for its own outputs."""
    tops = jnp.maximum(target, rival)
    top = jnp.max(tops)
    factor = jnp.exp(tops - top)
    whole = jnp.sum(total * factor)
    for result, number in zip(results, (jnp.max(target), jnp.max(rival))):
        result[()] = jnp.where(number <= _LOWEST, -jnp.inf, number)
    results[2][()] = top + jnp.log(whole)
    # A program without outputs has the weight 0, and must not say 0 / 0.
    safe = jnp.maximum(whole, jnp.float32(1e-30))
    for (start, width), pull in zip(ends, pulls):
        results[3][pl.ds(start, width)] = jnp.sum(pull * factor[None, :], axis=1) / safe


def _words(key, counter, one, way, interpret):
    if way.words == "trivial":
        return counter[0] * np.uint32(2654435761) + counter[1], counter[1] * np.uint32(2246822519) ^ counter[0]
    if interpret or not (way.multiplied or way.added):
        return threefry(key, counter)
    # The compiler does not know that `one` is 1: it would make shifts and sums of the products again.
    shape = counter[0].shape
    unit = jnp.broadcast_to(one, shape)

    def plus(word, other):
        other = jnp.broadcast_to(other, shape)
        return _assembled("mad.lo.u32 $0, $1, $2, $3;", word, unit, other) if way.added else word + other

    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x, y = counter[0] + schedule[0], counter[1] + schedule[1]
    for group in range(5):
        for place, rotation in enumerate(_ROTATIONS[group % 2]):
            x = plus(x, y)
            if place < way.multiplied:
                y = _assembled(_ROTATE, y, jnp.broadcast_to(one << np.uint32(rotation), shape), x)
            else:
                y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x = plus(x, schedule[(group + 1) % 3])
        y = plus(y, schedule[(group + 2) % 3] + np.uint32(group + 1))
    return x, y


#: y rotated, xor x: a rotation puts together the two halves of the 64-bit product of y and a power of two.
_ROTATE = (
    "{ .reg .b64 t; .reg .b32 lo, hi; mul.wide.u32 t, $1, $2; mov.b64 {lo, hi}, t; lop3.b32 $0, lo, hi, $3, 0x56; }"
)


def _assembled(code, *words):
    """One word for each of these."""
    [found] = plgpu.elementwise_inline_asm(
        code,
        args=words,
        constraints=",".join(["=r"] + ["r"] * len(words)),
        pack=1,
        result_shape_dtypes=[jax.ShapeDtypeStruct(words[0].shape, jnp.int32)],
    )
    return found.astype(jnp.uint32)


def _normal(words, table_refs, way, interpret):
    if way.transform == "trivial":
        return lax.bitcast_convert_type((words >> np.uint32(9)) | np.uint32(0x3F800000), jnp.float32)
    bits = lax.bitcast_convert_type(truncated(words | np.uint32(1), interpret), jnp.uint32)
    cell = (bits >> np.uint32(_OFFSET_BITS)).astype(jnp.int32) - 127 * _CELLS
    offset = (bits & np.uint32(2**_OFFSET_BITS - 1)) | np.uint32(0x4B000000)
    if way.pair:
        which = lax.broadcasted_iota(jnp.int32, (*cell.shape, 2), 2)
        both = plgpu.load(table_refs[0].at[jnp.broadcast_to(cell[:, :, None], which.shape), which])
        centre, slope = (part.reshape(cell.shape) for part in lax.split(both, (1, 1), axis=2))
    else:
        centre, slope = (plgpu.load(ref.at[cell]) for ref in table_refs)
    magnitude = centre + slope * lax.bitcast_convert_type(offset, jnp.float32)
    signed = lax.bitcast_convert_type(magnitude, jnp.uint32) ^ (words << np.uint32(31))
    return lax.bitcast_convert_type(signed, jnp.float32)


def truncated(words: UInt32[Array, "..."], interpret: bool) -> Float32[Array, "..."]:
    """Words as floats, rounded towards zero."""
    if not interpret:
        [found] = plgpu.elementwise_inline_asm(
            "cvt.rz.f32.u32 $0, $1;",
            args=[words],
            constraints="=f,r",
            pack=1,
            result_shape_dtypes=[jax.ShapeDtypeStruct(words.shape, jnp.float32)],
        )
        return found
    # Without the bits that a float has no place for, there is nothing to round.
    spare = jnp.maximum(8 - lax.clz(words).astype(jnp.int32), 0).astype(jnp.uint32)
    return ((words >> spare) << spare).astype(jnp.float32)
