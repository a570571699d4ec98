"""The pass over stored decoupled outputs as one fused kernel on a GPU, in Pallas (Triton). Each output is read once.

One program does one association. It goes through its outputs a tile at a time, keeps the largest score so far, and
rescales its sums whenever that changes.

In Triton the sides of arrays are powers of two, so the components of a vector are split into parts of such sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Float, Float32, Int32

from loadstone.kernels.outputs import StoredOutputs, check_stored
from loadstone.kernels.recall import Recall, Slope

#: Warps of a program; chosen by measurements on an H200.
WARPS = 4
#: How many bytes a thread reads at once, and how many the memory delivers at once.
_READ, _LINE = 16, 128
#: This many components of a tile fit into the registers.
_MOST_IN_TILE = 160 * 32 * WARPS
#: The smallest part.
_LEAST = 16


def stored_pass(queries: Float32[Array, "rows d"], outputs: StoredOutputs, precision: str) -> tuple[Recall, Slope]:
    """Each query against its outputs. Everything is computed in float32, whatever the precision: reading the outputs
    takes longer."""
    return with_slopes(stored_recall, queries, outputs)


def with_slopes(
    recall_of: Callable[..., Recall], queries: Float32[Array, "rows d"], outputs: StoredOutputs
) -> tuple[Recall, Slope]:
    """The pass of a kernel that makes recalls; targets are rounded as the outputs are."""
    array = outputs.array
    limit = jnp.asarray(array.shape[2] if outputs.count is None else outputs.count, jnp.int32)
    recall = recall_of(limit, jnp.int32(outputs.first), queries, array)
    return recall, recall.pull - outputs.target_outputs.astype(array.dtype).astype(jnp.float32)


def stored_recall(
    count: Int32[Array, ""],
    first: Int32[Array, ""],
    queries: Float32[Array, "rows d"],
    outputs: Float[Array, "rows d m"],
    interpret: bool = False,
) -> Recall:
    """Recall of each query against the first `count` outputs of its association; `first + row` is the index of the
    association and of its target.

    Everything is computed in float32, whatever type the outputs are stored in. Outputs from `count` on must be finite.
    """
    check_stored(queries, outputs)
    rows, d, m = outputs.shape
    # The kernel reads outputs up to `count`, and never beyond the end of the array.
    count = jnp.clip(count, 0, m)
    widths, size = widths_of(d), outputs.dtype.itemsize
    tile = _stored_tile(sum(widths), m * size)
    kernel = functools.partial(_stored_kernel, widths=widths, tile=tile, group=_READ // size)
    scalar, own = pl.BlockSpec((), lambda row: ()), pl.BlockSpec((None, d, m), lambda row: (row, 0, 0))
    vector = pl.BlockSpec((None, sum(widths)), lambda row: (row, 0))
    call = for_each_row(kernel, rows, sum(widths), interpret, [scalar, scalar, own, vector])
    target, rival, logsumexp, pull = call(count, first, outputs, _padded(queries, sum(widths)))
    return Recall(target, rival, logsumexp, pull[:, :d])


def widths_of(components: int) -> tuple[int, ...]:
    """Powers of two whose sum is at least `components`: one, or two if that wastes less."""
    largest = 1 << (components.bit_length() - 1)
    rest = components - largest
    one, two = pl.next_power_of_2(components), largest + pl.next_power_of_2(max(rest, _LEAST))
    return (one,) if rest == 0 or one <= two else (largest, two - largest)


def _stored_tile(components: int, row_bytes: int) -> int:
    """Outputs in a tile. Rows that do not begin at a line of memory are read in longer pieces, to waste fewer ends."""
    return 64 if row_bytes % _LINE == 0 or 128 * components > _MOST_IN_TILE else 128


def _padded(vectors: Float32[Array, "rows d"], width: int) -> Float32[Array, "rows width"]:
    return jnp.pad(vectors, ((0, 0), (0, width - vectors.shape[1])))


def for_each_row(kernel: Callable, rows: int, width: int, interpret: bool, in_specs: list) -> Callable:
    """A kernel with one program for each association, which makes its recall, with a pull of `width` components."""
    row, number = jax.ShapeDtypeStruct((rows,), jnp.float32), pl.BlockSpec((None,), lambda row: (row,))
    vector = pl.BlockSpec((None, width), lambda row: (row, 0))
    return pl.pallas_call(
        kernel,
        grid=(rows,),
        in_specs=in_specs,
        out_specs=(number, number, number, vector),
        out_shape=(row, row, row, jax.ShapeDtypeStruct((rows, width), jnp.float32)),
        compiler_params=plgpu.CompilerParams(num_warps=WARPS, num_stages=3),
        interpret=interpret,
    )


def _stored_kernel(count_ref, first_ref, output_ref, query_ref, *results, widths, tile, group):
    count, row, (d, m) = count_ref[()], pl.program_id(0), output_ref.shape
    starts = [sum(widths[:part]) for part in range(len(widths))]

    def tile_of(start, column):
        parts = []
        for first, width in zip(starts, widths):
            # Outputs from `count` on are read too, and get no weight: with a limit known only at run time, each number
            # would be read separately.
            mask = ((first + jnp.arange(width)) < d)[:, None] & (column < m)[None, :]
            # A start that is known only at run time lets the slice reach beyond d, where it is masked.
            where = output_ref.at[pl.ds(first + row * 0, width), pl.ds(start, tile)]
            parts.append(plgpu.load(where, mask=mask, other=0.0))
        return parts

    queries = [query_ref[pl.ds(first, width)] for first, width in zip(starts, widths)]
    _write(results, widths, *_stream(tile_of, queries, count, first_ref[()] + row, tile, group))


def _stream(tile_of, queries, count, own_index, tile, group):
    """Go through all tiles for one query, given in parts: target, rival, logsumexp, and the pull in the same parts.

    Weighted outputs are summed `group` at a time, those of one thread; the sum over threads is left to the end.
    """

    def consume(step, carry):
        target, rival, total, pulls = carry
        column = step * tile + jnp.arange(tile)
        parts = [part.astype(jnp.float32) for part in tile_of(step * tile, column)]
        scores = sum((part * query[:, None]).sum(axis=0) for query, part in zip(queries, parts))
        scores = jnp.where(column < count, scores, -jnp.inf)
        is_target, before = column == own_index, jnp.maximum(target, rival)
        target = jnp.maximum(target, jnp.max(jnp.where(is_target, scores, -jnp.inf)))
        rival = jnp.maximum(rival, jnp.max(jnp.where(is_target, -jnp.inf, scores)))
        top = jnp.maximum(target, rival)
        shrink, weights = jnp.exp(before - top), jnp.exp(scores - top)
        weighted = ((part * weights[None, :]).reshape(-1, tile // group, group) for part in parts)
        pulls = tuple(pull * shrink + part.sum(axis=2) for pull, part in zip(pulls, weighted))
        return target, rival, total * shrink + weights.sum(), pulls

    lowest, tiles = jnp.float32(-jnp.inf), lax.div(count + (tile - 1), tile)
    # An association from `count` on is padding: it has no target and goes through no tile.
    tiles = jnp.where(own_index < count, tiles, 0)
    nothing = tuple(jnp.zeros((query.shape[0], tile // group), jnp.float32) for query in queries)
    start = lowest, lowest, jnp.float32(0), nothing
    target, rival, total, pulls = lax.fori_loop(0, tiles, consume, start)
    return target, rival, jnp.maximum(target, rival) + jnp.log(total), [pull.sum(axis=1) / total for pull in pulls]


def _write(results, widths, target, rival, logsumexp, pulls):
    numbers = target, rival, logsumexp
    for result, number in zip(results, numbers):
        result[()] = number
    for part, (width, pull) in enumerate(zip(widths, pulls)):
        results[3][pl.ds(sum(widths[:part]), width)] = pull
