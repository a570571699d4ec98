"""Weights exp(score - shift) of all outputs for each query, in one fused kernel on a Hopper GPU, in Pallas (Mosaic).

It is a product of queries and outputs that never writes a score: 128 x 256 scores at a time stay in registers until
their weights, in float16, and the largest of them and the sum of the weights of each query are made. Two warpgroups
compute, each with 64 queries, and a third fetches slices of 64 components. Two blocks of threads work as a pair: they
have different queries and the same outputs, of which each fetches one half for both. There are as many pairs as the
chip runs at a time, and each goes from tile to tile, so that fetching goes on while weights are made.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxtyping import Array, Float, Float16, Int32

from loadstone.arguments import refuse
from loadstone.kernels.devices import processors
from loadstone.kernels.hopper.arrays import LOG2E, WHOLE

#: Outputs of a tile, and components of a slice: arrays are padded to multiples of them.
TILE, SLICE = 256, 64
#: Queries of a warpgroup, slices in shared memory, blocks of threads of a pair.
_QUERIES, _SLOTS, _PAIR = 64, 3, 2
#: Queries of a pair: arrays are padded to multiples of it.
ROWS = 2 * _PAIR * _QUERIES


class Weighed(NamedTuple):
    """The results of the kernel for a block of queries.

    weights: exp(score - shift) of every output. Those beyond the range of float16 are infinite or zero.
    target, rival: the target's score, and the best of the others.
    total: the sum of the weights of a query, as they are rounded.
    exact_total: the sum before they are rounded, if it was asked for; otherwise the same.
    """

    weights: Float16[Array, "rows m"]
    target: Float[Array, "rows"]
    rival: Float[Array, "rows"]
    total: Float[Array, "rows"]
    exact_total: Float[Array, "rows"]


def block_weights(
    queries: Float16[Array, "rows width"],
    outputs: Float16[Array, "m width"],
    targets: Int32[Array, "rows"],
    shifts: Float[Array, "rows"],
    count: Int32[Array, ""],
    unit: Float[Array, ""],
    exact: bool,
) -> Weighed:
    """The first `count` outputs for each query, whose scores are products times `unit`. Rows and m are multiples of
    256, the width of 64."""
    (rows, width), (m, other) = queries.shape, outputs.shape
    whole = rows % ROWS == m % TILE == width % SLICE == 0 and min(rows, m, width) > 0
    if not whole or other != width or not targets.shape == shifts.shape == (rows,):
        raise refuse("shapes", (queries.shape, outputs.shape, targets.shape, shifts.shape), "those of padded arrays")
    tiles = m // TILE
    # Most tiles have no target of their queries, and no output that does not count.
    special = jnp.zeros((rows // _QUERIES, tiles), jnp.int32)
    special = special.at[jnp.arange(rows) // _QUERIES, targets // TILE].set(1)
    special = jnp.maximum(special, (jnp.arange(1, tiles + 1) * TILE > count).astype(jnp.int32)[None])
    row = jax.ShapeDtypeStruct((tiles, rows), jnp.float32)
    numbers = 4 if exact else 3
    call = plgpu.kernel(
        functools.partial(_pair_of_blocks, width=width, numbers=numbers),
        out_type=(jax.ShapeDtypeStruct((rows, m), jnp.float16), *(row for _ in range(numbers))),
        grid=(min(processors() // _PAIR, rows // ROWS * tiles),),
        grid_names=("worker",),
        cluster=(_PAIR,),
        cluster_names=("pair",),
        num_threads=3,
        thread_name="wg",
        compiler_params=plgpu.CompilerParams(approx_math=True),
    )
    scale = (unit * LOG2E)[None]
    results = call(count[None], scale, queries, outputs, targets, shifts * LOG2E, special)
    weights, target, rival, *totals = results
    total, exact_total = totals[0].sum(axis=0), totals[-1].sum(axis=0)
    return Weighed(weights, target.max(axis=0) * unit, rival.max(axis=0) * unit, total, exact_total)


def _pair_of_blocks(*arrays, width, numbers):
    """One worker: two blocks of threads, each with shared memory of its own, of which three warpgroups start."""
    tiled = plgpu.TilingTransform((8, SLICE)), plgpu.SwizzleTransform(2 * SLICE)
    pl.run_scoped(
        functools.partial(_warpgroup, arrays, width // SLICE),
        plgpu.SMEM((_SLOTS, 2 * _QUERIES, SLICE), jnp.float16, transforms=tiled),
        plgpu.SMEM((_SLOTS, TILE, SLICE), jnp.float16, transforms=tiled),
        plgpu.SMEM((2, _QUERIES, TILE), jnp.float16, transforms=tiled),
        plgpu.SMEM((2, numbers, _QUERIES), jnp.float32),
        plgpu.Barrier(num_arrivals=2, num_barriers=_SLOTS),
        plgpu.ClusterBarrier(collective_axes=("pair",), num_arrivals=2, num_barriers=_SLOTS),
        collective_axes="wg",
    )


def _warpgroup(arrays, slices, queries, outputs, staged, numbers, filled, consumed):
    count_ref, scale_ref, query_ref, output_ref, target_ref, shift_ref, special_ref, *results = arrays
    worker, member, group = (lax.axis_index(name) for name in ("worker", "pair", "wg"))
    workers, pairs = lax.axis_size("worker"), query_ref.shape[0] // ROWS
    tiles = output_ref.shape[0] // TILE
    rounds = lax.div(pairs * tiles - worker + (workers - 1), workers)

    def place(index):
        """The first query and the outputs of a tile of this worker. Workers side by side share outputs."""
        number = worker + index * workers
        return (lax.rem(number, pairs) * _PAIR + member) * (2 * _QUERIES), lax.div(number, pairs)

    @pl.when(group < 2)
    def _compute():
        plgpu.set_max_registers(232, action="increase")

        @pl.loop(0, rounds)
        def _(index):
            first, tile = place(index)
            mine = pl.ds(first + group * _QUERIES, _QUERIES)
            row = plgpu.Layout.WGMMA.reduce(1)
            shift = plgpu.load(shift_ref.at[mine], layout=row, optimized=False, **WHOLE)
            own = plgpu.load(target_ref.at[mine], layout=row, optimized=False, **WHOLE)
            special = special_ref[lax.div(first, _QUERIES) + group, tile]
            scores = _scores(queries, outputs, filled, consumed, group, slices, index * slices)
            operands = scores, scale_ref[0], shift, own - tile * TILE, count_ref[0] - tile * TILE
            send = functools.partial(_send, results, staged.at[group], numbers.at[group], mine, tile, *operands)
            pl.when(special > 0)(lambda: send(special=True))
            pl.when(special == 0)(lambda: send(special=False))

        plgpu.wait_smem_to_gmem(0)

    @pl.when(group == 2)
    def _fetch():
        plgpu.set_max_registers(40, action="decrease")

        @pl.loop(0, rounds * slices)
        def _(passed):
            index = lax.div(passed, slices)
            part, slot = pl.ds((passed - index * slices) * SLICE, SLICE), lax.rem(passed, _SLOTS)
            first, tile = place(index)
            pl.when(passed >= _SLOTS)(lambda: plgpu.barrier_wait(consumed.at[slot]))
            mine = query_ref.at[pl.ds(first, 2 * _QUERIES), part]
            plgpu.copy_gmem_to_smem(mine, queries.at[slot], filled.at[slot])
            theirs = output_ref.at[pl.ds(tile * TILE, TILE), part]
            plgpu.copy_gmem_to_smem(theirs, outputs.at[slot], filled.at[slot], collective_axes="pair")

        # Wait until the other block is done with its slots, too: this one must not end before.
        @pl.loop(jnp.maximum(rounds * slices - _SLOTS, 0), rounds * slices)
        def _(passed):
            plgpu.barrier_wait(consumed.at[lax.rem(passed, _SLOTS)])


def _scores(queries, outputs, filled, consumed, group, slices, before):
    """Scores of the 64 queries of a warpgroup and the 256 outputs of a tile, slice by slice of their components."""
    mine = pl.ds(group * _QUERIES, _QUERIES)

    def summed(sums):
        @pl.loop(0, slices)
        def _(step):
            slot = lax.rem(before + step, _SLOTS)
            plgpu.barrier_wait(filled.at[slot])
            plgpu.wgmma(sums, queries.at[slot, mine], outputs.at[slot].transpose((1, 0)))
            # While this product is under way, the slot of the last one is free.
            plgpu.wgmma_wait(1)
            pl.when(step > 0)(lambda: plgpu.barrier_arrive(consumed.at[lax.rem(before + step - 1, _SLOTS)]))

        scores = sums[...]
        plgpu.barrier_arrive(consumed.at[lax.rem(before + slices - 1, _SLOTS)])
        return scores

    return pl.run_scoped(summed, plgpu.ACC((_QUERIES, TILE), jnp.float32))


def _send(results, staged, numbers, mine, tile, scores, scale, shift, own, count, special):
    """Make the weights of a tile and send them to memory, with the numbers of each query."""
    weight_ref, *number_refs = results
    shape, row = scores.shape, plgpu.Layout.WGMMA.reduce(1)
    if special:
        column = plgpu.broadcasted_iota(jnp.int32, shape, 1, layout=plgpu.Layout.WGMMA)
        scores = jnp.where(column < count, scores, -jnp.inf)
        its_own = column == lax.broadcast_in_dim(own, shape, [0])
        target = jnp.where(its_own, scores, -jnp.inf).max(axis=1)
        rival = jnp.where(its_own, -jnp.inf, scores).max(axis=1)
    else:
        target = plgpu.layout_cast(jnp.full((_QUERIES,), -jnp.inf, jnp.float32), row)
        rival = scores.max(axis=1)
    exact = jnp.exp2(scores * scale - lax.broadcast_in_dim(shift, shape, [0]))
    weights = exact.astype(jnp.float16)
    of_queries = [target, rival, weights.astype(jnp.float32).sum(axis=1)]
    if len(number_refs) == 4:
        of_queries.append(exact.sum(axis=1))
    plgpu.wait_smem_to_gmem(0, wait_read_only=True)
    staged[...] = weights
    for index, values in enumerate(of_queries):
        numbers[index] = values
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(staged, weight_ref.at[mine, pl.ds(tile * TILE, TILE)])
    for index, number_ref in enumerate(number_refs):
        plgpu.copy_smem_to_gmem(numbers.at[index], number_ref.at[tile, mine])
