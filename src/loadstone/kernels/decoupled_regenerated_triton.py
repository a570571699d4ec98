"""The pass over regenerated decoupled outputs as one fused kernel on a GPU, in Pallas (Triton). Outputs come from the
same counters and the same table of normal numbers as everywhere else, to the last bit; they never leave the registers.

A few programs share the outputs of one association, a tile at a time. Each thread keeps the largest score, the sums and
the pull of outputs of its own, so threads exchange numbers only where a score is summed over its components, and once
at the end.

A word becomes a normal with few instructions. It is converted to a float that is rounded towards zero: exponent and
first 8 bits of the float are the cell of the table, the other 15 bits are the offset. Beside the exponent of 2^23 these
bits are a float again, the offset with 2^23 added, for which the table has centres of its own. The product of slope and
offset then has up to 33 bits, so product and sum must be one instruction, with one rounding (fused multiply-add): XLA
may round both.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Float32, Int32, UInt32

from loadstone.arguments import refuse
from loadstone.kernels.outputs import RegeneratedOutputs
from loadstone.kernels.recall import Recall, Slope
from loadstone.streams.counters import Key, fold, threefry
from loadstone.streams.normals import normal_table

#: Outputs in a tile at most, programs for one association, and components that a thread keeps at most; chosen by
#: measurements on an H200.
_MOST_IN_TILE, _SPLITS, _KEPT = 8, 8, 40
_CELLS, _OFFSET_BITS = 256, 15
#: By how much the kernel's offsets exceed those of the table.
_ADDED = np.float32(2**23 + 2 ** (_OFFSET_BITS - 1))
#: Below every score; finite, so that differences are.
_LOWEST = -3e38


def regenerated_pass(
    queries: Float32[Array, "n d"], outputs: RegeneratedOutputs, precision: str
) -> tuple[Recall, Slope]:
    """Each query against its outputs, which must be Gaussian. Everything is computed in float32, whatever the
    precision: making the outputs takes longer."""
    if outputs.law != "gaussian":
        raise refuse("law", outputs.law, "gaussian for the fused kernel that regenerates outputs")
    limit = outputs.competitors if outputs.count is None else outputs.count
    recall = regenerated_recall(jnp.asarray(limit, jnp.int32), outputs.key, queries, first=outputs.first)
    return recall, recall.pull - outputs.target_outputs


def regenerated_recall(
    count: Int32[Array, ""],
    key: Key,
    queries: Float32[Array, "rows d"],
    interpret: bool = False,
    first: Int32[Array, ""] | int = 0,
) -> Recall:
    """Recall of each query against the first `count` outputs of its association's stream, which are Gaussian;
    `first + row` is the index of the association and of its target."""
    if queries.ndim != 2 or 0 in queries.shape or queries.dtype != jnp.float32 or key.shape != (2,):
        raise refuse("queries", f"{queries.dtype}{queries.shape}", "float32 of two sizes of at least 1")
    rows, d = queries.shape
    first = jnp.asarray(first, jnp.int32)
    owners = (first + jnp.arange(rows, dtype=jnp.int32)).astype(jnp.uint32)
    keys = jax.vmap(lambda owner: fold(key, owner, 0))(owners)
    # Components j and j + ceil(d/2) share a block of random bits: each part has the first, then the second half of it.
    half = (d + 1) // 2
    tile, warps = tile_and_warps(half)
    widths = parts(half, 32 * warps // tile)
    width, table = sum(widths), jnp.asarray(_table())
    halves = [jnp.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (queries[:, :half], queries[:, half:])]
    scalar = pl.BlockSpec((), lambda row, split: ())
    number_of_split = pl.BlockSpec((None, None), lambda row, split: (row, split))
    number = jax.ShapeDtypeStruct((rows, _SPLITS), jnp.float32)
    of_splits = pl.pallas_call(
        functools.partial(_kernel, widths=widths, tile=tile, interpret=interpret),
        grid=(rows, _SPLITS),
        in_specs=[
            scalar,
            scalar,
            pl.BlockSpec((None, 2), lambda row, split: (row, 0)),
            pl.BlockSpec(table.shape, lambda row, split: (0, 0)),
            pl.BlockSpec((None, 2 * width), lambda row, split: (row, 0)),
        ],
        out_specs=(*[number_of_split] * 3, pl.BlockSpec((None, None, 2 * width), lambda row, split: (row, split, 0))),
        out_shape=(number, number, number, jax.ShapeDtypeStruct((rows, _SPLITS, 2 * width), jnp.float32)),
        compiler_params=plgpu.CompilerParams(num_warps=warps, num_stages=1),
        interpret=interpret,
    )(count, first, keys, table, jnp.concatenate(halves, axis=1))
    target, rival, logsumexp, pull = _joined(*of_splits)
    both = jnp.concatenate([pull[:, :half], pull[:, width : width + d - half]], axis=1)
    return Recall(target, rival, logsumexp, both)


def tile_and_warps(half: int) -> tuple[int, int]:
    """Outputs in a tile, and warps of a program, for `half` components of each half of an output: a tile as large as
    the registers allow, and more warps where a tile of one output is too large."""
    tile, warps = _MOST_IN_TILE, 1
    while 2 * half * tile > _KEPT * 32 * warps:
        tile, warps = (tile // 2, 1) if tile > 1 else (1, 2 * warps)
    return tile, warps


def parts(components: int, least: int) -> tuple[int, ...]:
    """Powers of two, none below `least`, whose sum is the smallest that is at least `components`."""
    rest, widths = -(-components // least) * least, []
    while rest:
        widths.append(1 << (rest.bit_length() - 1))
        rest -= widths[-1]
    return tuple(widths)


@functools.cache
def _table() -> Float32[np.ndarray, "cells 2"]:
    """Centre and slope of every cell for the kernel's offsets, exactly; octaves in the order of a float's exponents."""
    centre, slope = (column.astype(np.float64).reshape(-1, _CELLS)[::-1].ravel() for column in normal_table())
    return np.stack([centre - slope * _ADDED, slope], axis=1).astype(np.float32)


def _joined(
    target: Float32[Array, "rows splits"],
    rival: Float32[Array, "rows splits"],
    logsumexp: Float32[Array, "rows splits"],
    pull: Float32[Array, "rows splits d"],
) -> tuple[Float32[Array, "rows"], Float32[Array, "rows"], Float32[Array, "rows"], Float32[Array, "rows d"]]:
    """The results of all programs of each association, combined."""
    # Padding, where all are minus infinity, has a pull of 0 and not of 0 / 0.
    share = jax.nn.softmax(jnp.maximum(logsumexp, _LOWEST), axis=1)
    total = jax.nn.logsumexp(logsumexp, axis=1)
    return target.max(axis=1), rival.max(axis=1), total, (pull * share[:, :, None]).sum(axis=1)


def _kernel(count_ref, first_ref, key_ref, table_ref, query_ref, *results, widths, tile, interpret):
    count, key, split = count_ref[()], (key_ref[0], key_ref[1]), pl.program_id(1)
    own = first_ref[()] + pl.program_id(0)
    starts = [sum(widths[:part]) for part in range(len(widths))]
    ends = [(base + start, width) for base in (0, sum(widths)) for start, width in zip(starts, widths)]
    queries = [query_ref[pl.ds(start, width)][:, None] for start, width in ends]

    def consume(step, carry):
        column, pairs = step * tile + jnp.arange(tile), []
        for start, width in zip(starts, widths):
            component = (start + jnp.arange(width)).astype(jnp.uint32)
            counter = column.astype(jnp.uint32)[None, :], component[:, None]
            shape = (width, tile)
            pairs.append(threefry(key, (jnp.broadcast_to(counter[0], shape), jnp.broadcast_to(counter[1], shape))))
        outputs = [_normal(words, table_ref, interpret) for half in zip(*pairs) for words in half]
        return _weighed(carry, outputs, queries, column < count, column == own)

    tiles = lax.div(count + (tile - 1), tile)
    each = lax.div(tiles + (_SPLITS - 1), _SPLITS)
    begin = jnp.minimum(split * each, tiles)
    # An association from `count` on is padding: it has no target and goes through no tile.
    end = jnp.where(own < count, jnp.minimum(begin + each, tiles), begin)
    lowest = jnp.full((tile,), _LOWEST, jnp.float32)
    nothing = tuple(jnp.zeros((width, tile), jnp.float32) for _, width in ends)
    start = lowest, lowest, jnp.zeros((tile,), jnp.float32), nothing
    _write(results, ends, *lax.fori_loop(begin, end, consume, start))


def _weighed(carry, outputs, queries, inside, is_target):
    """One more tile: largest scores, sum of weights and pull, of each place in the tile separately."""
    target, rival, total, pulls = carry
    scores = sum((part * query).sum(axis=0) for query, part in zip(queries, outputs))
    scores, before = jnp.where(inside, scores, -jnp.inf), jnp.maximum(target, rival)
    target = jnp.where(is_target, scores, target)
    rival = jnp.where(is_target, rival, jnp.maximum(rival, scores))
    top = jnp.maximum(target, rival)
    shrink, weights = jnp.exp(before - top), jnp.exp(scores - top)
    pulls = tuple(pull * shrink[None, :] + part * weights[None, :] for pull, part in zip(pulls, outputs))
    return target, rival, total * shrink + weights, pulls


def _write(results, ends, target, rival, total, pulls):
    """Combine the results of all places in the tile, and write them."""
    tops = jnp.maximum(target, rival)
    top = jnp.max(tops)
    factor = jnp.exp(tops - top)
    whole = jnp.sum(total * factor)
    for result, number in zip(results, (jnp.max(target), jnp.max(rival))):
        result[()] = jnp.where(number <= _LOWEST, -jnp.inf, number)
    results[2][()] = top + jnp.log(whole)
    # A program without outputs has the weight 0, and must not give 0 / 0.
    safe = jnp.maximum(whole, jnp.float32(1e-30))
    for (start, width), pull in zip(ends, pulls):
        results[3][pl.ds(start, width)] = jnp.sum(pull * factor[None, :], axis=1) / safe


def _normal(words, table_ref, interpret):
    """One standard normal from each word, as in normals.py."""
    bits = lax.bitcast_convert_type(_truncated(words | np.uint32(1), interpret), jnp.uint32)
    cell = (bits >> np.uint32(_OFFSET_BITS)).astype(jnp.int32) - 127 * _CELLS
    offset = (bits & np.uint32(2**_OFFSET_BITS - 1)) | np.uint32(0x4B000000)
    # Centre and slope are read at once, as 8 bytes.
    which = lax.broadcasted_iota(jnp.int32, (*cell.shape, 2), 2)
    both = plgpu.load(table_ref.at[jnp.broadcast_to(cell[:, :, None], which.shape), which])
    centre, slope = (part.reshape(cell.shape) for part in lax.split(both, (1, 1), axis=2))
    magnitude = _fused(slope, lax.bitcast_convert_type(offset, jnp.float32), centre, interpret)
    signed = lax.bitcast_convert_type(magnitude, jnp.uint32) ^ (words << np.uint32(31))
    return lax.bitcast_convert_type(signed, jnp.float32)


def _fused(
    slope: Float32[Array, "..."], offset: Float32[Array, "..."], centre: Float32[Array, "..."], interpret: bool
) -> Float32[Array, "..."]:
    """centre + slope * offset, rounded once."""
    if not interpret:
        return _assembled("fma.rn.f32 $0, $1, $2, $3;", "=f,f,f,f", slope, offset, centre)
    # The table's own centre and offset: here everything but the last sum is exact.
    return (centre + slope * _ADDED) + slope * (offset - _ADDED)


def _truncated(words: UInt32[Array, "..."], interpret: bool) -> Float32[Array, "..."]:
    """Words as floats, rounded towards zero."""
    if not interpret:
        return _assembled("cvt.rz.f32.u32 $0, $1;", "=f,r", words)
    # Without the bits that a float has no place for, there is nothing to round.
    spare = jnp.maximum(8 - lax.clz(words).astype(jnp.int32), 0).astype(jnp.uint32)
    return ((words >> spare) << spare).astype(jnp.float32)


def _assembled(code: str, constraints: str, *operands: Array) -> Float32[Array, "..."]:
    """One instruction of the GPU for each element."""
    result = jax.ShapeDtypeStruct(operands[0].shape, jnp.float32)
    [outcome] = plgpu.elementwise_inline_asm(
        code, args=operands, constraints=constraints, pack=1, result_shape_dtypes=[result]
    )
    return outcome
