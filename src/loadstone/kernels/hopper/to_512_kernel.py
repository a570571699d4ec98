"""The outputs summed with weights exp(score - shift), for queries of 257 to 512 components, in one fused kernel on a
Hopper GPU, in Pallas (Mosaic).

The sum for 64 queries of this many components fills the registers of two warpgroups: each keeps one half of the
components. In a step each makes the scores of its own tile of 64 outputs and turns them into weights, which it puts
into shared memory for the other. Then each adds both tiles to its half of the sum. So each score is made once. Shifts
are known before, so neither has to wait for the largest score of the other.

Two blocks of threads work as a pair, with different queries and the same tiles, of which each fetches one half for
both. Workers share the blocks of queries (hopper/workers.py).
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxtyping import Array, Float, Float16, Int32

from loadstone.kernels.devices import processors
from loadstone.kernels.hopper.arrays import LOG2E, WHOLE, check_padded
from loadstone.kernels.hopper.workers import SIZE, STEP, Weighed, divided, of_both, share, undivided

#: Blocks of threads of a pair; of each, the queries; outputs of a tile; components sent to memory at a time.
_PAIR, _QUERIES, _TILE, _CHUNK = 2, SIZE // 2, STEP // 2, 32
#: Of each query: the target's score, the best of the others, the sum of the weights.
_NUMBERS = 3


def batch_weighed(
    counts: Int32[Array, "batch 2"],
    queries: Float16[Array, "batch n width"],
    outputs: Float16[Array, "batch m width"],
    targets: Int32[Array, "batch n"],
    shifts: Float[Array, "batch n"],
) -> Weighed:
    """The kernel itself; `summed` puts the parts of a sum together. n and m are multiples of 128, width of 64.

    counts: of each problem how many queries and outputs count.
    """
    check_padded(counts, queries, outputs, targets, shifts)
    numbers, rows, *parts = _call(counts, queries, outputs, targets, shifts * LOG2E)
    if len(counts) > 1:
        return undivided(*of_both(*numbers.swapaxes(0, 1)), rows, _workers())
    return divided(counts[0], numbers, rows, *parts)


def _call(counts, queries, outputs, targets, shifts):
    batch, n, width = queries.shape
    # In a batch each problem has too few blocks to be shared among workers.
    workers = _workers() if batch == 1 else n // SIZE
    call = plgpu.kernel(
        functools.partial(_pair_of_blocks, columns=width // 2, whole=batch > 1),
        out_type=(*_results(width, batch, n), *_results(width, workers, SIZE)),
        grid=(workers, batch),
        grid_names=("worker", "problem"),
        cluster=(_PAIR,),
        cluster_names=("pair",),
        num_threads=3,
        thread_name="wg",
        compiler_params=plgpu.CompilerParams(approx_math=True, reduction_scratch_bytes=0),
    )
    return call(counts, queries, outputs, targets, shifts)


def _workers() -> int:
    """How many workers share the blocks of one problem."""
    return processors() // _PAIR


def _results(width: int, *shape: int) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    numbers = jax.ShapeDtypeStruct((2, _NUMBERS, *shape), jnp.float32)
    return numbers, jax.ShapeDtypeStruct((*shape, width), jnp.float32)


def _pair_of_blocks(*arrays, columns, whole):
    """One worker: two blocks of threads, each with shared memory of its own, of which three warpgroups start."""
    # Half of the components must be whole swizzled columns.
    swizzle = 128 if columns % 64 == 0 else 64
    tiled = plgpu.TilingTransform((8, swizzle // 2)), plgpu.SwizzleTransform(swizzle)
    pl.run_scoped(
        functools.partial(_warpgroup, *arrays, columns, whole),
        plgpu.SMEM((2, _QUERIES, columns), jnp.float16, transforms=tiled),  # queries: half of the components
        plgpu.SMEM((2, 2, _TILE, columns), jnp.float16, transforms=tiled),  # tiles: whose, half of the components
        plgpu.SMEM((2, _QUERIES, _TILE), jnp.float16, transforms=tiled),  # weights: whose
        plgpu.SMEM((2, _QUERIES, _CHUNK), jnp.float32),
        plgpu.SMEM((2, _NUMBERS, _QUERIES), jnp.float32),
        plgpu.Barrier(num_arrivals=2),
        plgpu.Barrier(num_arrivals=2),
        plgpu.Barrier(num_barriers=4),
        plgpu.ClusterBarrier(collective_axes=("pair",), num_barriers=4),
        plgpu.Barrier(num_barriers=2),
        plgpu.Barrier(num_barriers=2),
        collective_axes="wg",
    )


def _warpgroup(count_ref, query_ref, output_ref, target_ref, shift_ref, *rest):
    number_ref, pull_ref, part_number_ref, part_pull_ref, columns, whole, *shared = rest
    queries, tiles, weights, chunk, rows, queries_there, queries_done, filled, consumed, *_ = shared
    problem, worker, member, group = (lax.axis_index(name) for name in ("problem", "worker", "pair", "wg"))
    used_rows, count = count_ref[problem, 0], count_ref[problem, 1]
    begin, end, steps, busy = share(worker, used_rows, count, lax.axis_size("worker"), whole)
    place = member * _QUERIES

    def compute(me):
        plgpu.set_max_registers(232, action="increase")
        zero = jnp.minimum(used_rows, 0)  # which the compiler cannot know

        @pl.loop(lax.div(begin, steps), lax.div(end - 1, steps) + 1)
        def _(block):
            low, high = jnp.maximum(begin - block * steps, 0), jnp.minimum(end - block * steps, steps)
            mine = pl.ds(block * SIZE + place, _QUERIES)
            row = plgpu.Layout.WGMMA.reduce(1)
            shift = plgpu.load(shift_ref.at[problem, mine], layout=row, optimized=False, **WHOLE)
            own = plgpu.load(target_ref.at[problem, mine], layout=row, optimized=False, **WHOLE)
            plgpu.barrier_wait(queries_there)
            steps_of_block = low, high, block * steps - begin
            *numbers, pull = _stream(me, shared, steps_of_block, count, zero, own, shift, columns)
            plgpu.barrier_arrive(queries_done)
            for index, values in enumerate(numbers):
                rows[me, index] = values
            plgpu.commit_smem()

            def send(source, row, part):
                """Write what begins a block to its rows, and what goes on with one to the array of parts."""
                pl.when(low == 0)(lambda: plgpu.copy_smem_to_gmem(source, row))
                pl.when(low > 0)(lambda: plgpu.copy_smem_to_gmem(source, part))

            within = pl.ds(place, _QUERIES)
            for index in range(_NUMBERS):
                of_block = number_ref.at[me, index, problem, mine]
                send(rows.at[me, index], of_block, part_number_ref.at[me, index, worker, within])
            for first in range(0, columns, _CHUNK):
                plgpu.wait_smem_to_gmem(0)
                chunk[me] = pull[:, first : first + _CHUNK]
                plgpu.commit_smem()
                component = pl.ds(me * columns + first, _CHUNK)
                of_block = pull_ref.at[problem, mine, component]
                send(chunk.at[me], of_block, part_pull_ref.at[worker, within, component])
            plgpu.wait_smem_to_gmem(0)

    for me in range(2):
        pl.when((worker < busy) & (group == me))(functools.partial(compute, me))

    @pl.when((worker < busy) & (group == 2))
    def _fetch():
        plgpu.set_max_registers(40, action="decrease")

        @pl.loop(begin, end)
        def _(index):
            block = lax.div(index, steps)
            step = index - block * steps

            @pl.when((index == begin) | (step == 0))
            def _():
                pl.when(index > begin)(lambda: plgpu.barrier_wait(queries_done))
                mine = pl.ds(block * SIZE + place, _QUERIES)
                for half in range(2):
                    part = query_ref.at[problem, mine, pl.ds(half * columns, columns)]
                    plgpu.copy_gmem_to_smem(part, queries.at[half], queries_there)

            # In the order in which they are needed and become free.
            for whose, half in ((0, 0), (0, 1), (1, 1), (1, 0)):
                free, there = (barriers.at[2 * whose + half] for barriers in (consumed, filled))
                pl.when(index > begin)(functools.partial(plgpu.barrier_wait, free))
                tile = pl.ds((2 * step + whose) * _TILE, _TILE)
                part = output_ref.at[problem, tile, pl.ds(half * columns, columns)]
                plgpu.copy_gmem_to_smem(part, tiles.at[whose, half], there, collective_axes="pair")

        # Wait until the other block is done with its tiles, too: this one must not end before.
        for part in range(4):
            plgpu.barrier_wait(consumed.at[part])


def _stream(me, shared, steps_of_block, count, zero, own, shift, columns):
    """Go through the steps of a block as one of two warpgroups: target, rival and sum of weights in its own tiles, and
    its half of the outputs summed with the weights of all tiles."""
    queries, tiles, weights, *_, filled, consumed, made, used = shared
    (low, high, before), other = steps_of_block, 1 - me
    shape, row = (_QUERIES, _TILE), plgpu.Layout.WGMMA.reduce(1)

    def summed(pull):
        def consume(step, carry):
            target, rival, total = carry
            # Always zero, but only known in this step. Without it the compiler computes the addresses of all operands
            # before the loop, has too few registers for them, and the kernel is slower by a factor of 1.7.
            nothing = jnp.minimum(zero, step)

            def make_scores(scores):
                for half in (me, other):
                    plgpu.barrier_wait(filled.at[2 * me + half])
                    tile = tiles.at[me + nothing, half].transpose((1, 0))
                    plgpu.wgmma(scores, queries.at[half + nothing], tile)
                return scores[...]

            scores = pl.run_scoped(make_scores, plgpu.ACC(shape, jnp.float32))
            column = plgpu.broadcasted_iota(jnp.int32, shape, 1, layout=plgpu.Layout.WGMMA) + (2 * step + me) * _TILE
            scores = jnp.where(column < count, scores, -jnp.inf)
            its_own = column == lax.broadcast_in_dim(own, shape, [0])
            target = jnp.maximum(target, jnp.where(its_own, scores, -jnp.inf).max(axis=1))
            rival = jnp.maximum(rival, jnp.where(its_own, -jnp.inf, scores).max(axis=1))
            mine = jnp.exp2(scores * LOG2E - lax.broadcast_in_dim(shift, shape, [0])).astype(jnp.float16)
            total = total + mine.astype(jnp.float32).sum(axis=1)
            pl.when(before + step > 0)(lambda: plgpu.barrier_wait(used.at[me]))
            weights[me] = mine
            plgpu.commit_smem()
            plgpu.barrier_arrive(made.at[me])
            plgpu.wgmma(pull, weights.at[me + nothing], tiles.at[me + nothing, me])
            plgpu.barrier_wait(made.at[other])
            plgpu.barrier_wait(filled.at[2 * other + me])
            plgpu.wgmma(pull, weights.at[other + nothing], tiles.at[other + nothing, me])
            # Nobody else needs this half of a tile after its owner has made its scores, which are in by now.
            plgpu.wgmma_wait(1)
            plgpu.barrier_arrive(consumed.at[2 * me + me])
            plgpu.wgmma_wait(0)
            plgpu.barrier_arrive(used.at[other])
            plgpu.barrier_arrive(consumed.at[2 * other + me])
            return target, rival, total

        lowest = plgpu.layout_cast(jnp.full((_QUERIES,), -jnp.inf, jnp.float32), row)
        none = plgpu.layout_cast(jnp.zeros((_QUERIES,), jnp.float32), row)
        return *lax.fori_loop(low, high, consume, (lowest, lowest, none)), pull[...]

    return pl.run_scoped(summed, plgpu.ACC((_QUERIES, columns), jnp.float32))
