"""The pass over shared outputs of up to 256 components as one fused kernel on a Hopper GPU, in Pallas (Mosaic).

A block holds 128 queries in shared memory and streams all outputs past them in tiles. Each tile is used twice: for the
scores, and for the pull. Scores stay in registers. Two warpgroups compute, each with 64 queries, so that one uses the
tensor cores while the other does its exponentials; a third one fetches tiles. The pull of 64 queries fits into the
registers of one warpgroup for up to 256 components; hopper/to_512.py is for more.

Many queries make more blocks than the chip runs at a time, and the last round of them would leave most of it idle. So
there is one worker for each processor of the chip instead, and each takes an equal share of all tiles of all blocks,
one after another. Where a share ends within a block, two workers each do a part of that block, and the parts are
combined afterwards.

Operands are float16, sums float32. The number of true rows is read when the kernel runs: arrays may be longer, and
problems that differ only in this number share one compiled program.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxtyping import Array, Float, Float16, Int32

from loadstone.kernels.devices import MOST_WHOLE, processors
from loadstone.kernels.hopper.arrays import LOG2E, WHOLE, OutputArrays, check_padded, pass_of_arrays
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.recall import Recall, Slope

_QUERIES, _TILE, _SLOTS, _CHUNK = 64, 64, 2, 32
#: Queries of a block.
_SIZE = 2 * _QUERIES


def shared_pass(queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Every query against the same outputs, in float16."""
    return pass_of_arrays(queries, outputs, MOST_WHOLE, recall_of_arrays)


def recall_of_arrays(queries: Float16[Array, "rows width"], arrays: OutputArrays) -> tuple[Recall, Slope]:
    """The recall and the slopes of the queries that count; other rows are arbitrary."""
    recall = Recall(*_alone(arrays.counts, queries, arrays.outputs, arrays.targets))
    return recall, recall.pull - arrays.own.astype(jnp.float32)


@jax.custom_batching.custom_vmap
def _alone(counts, queries, outputs, targets):
    return tuple(part[0] for part in batch_recall(counts[None], queries[None], outputs[None], targets[None]))


@_alone.def_vmap
def _of_a_batch(size, batched, *operands):
    """A batch is done in one launch: one small problem alone would leave most of the chip idle."""
    whole = [part if has else jnp.broadcast_to(part[None], (size, *part.shape)) for part, has in zip(operands, batched)]
    return tuple(batch_recall(*whole)), (True,) * 4


def batch_recall(
    counts: Int32[Array, "batch 2"],
    queries: Float16[Array, "batch n width"],
    outputs: Float16[Array, "batch m width"],
    targets: Int32[Array, "batch n"],
) -> Recall:
    """The kernel itself: n and m are multiples of 128, width of 64."""
    batch, n, width = queries.shape
    check_padded(counts, queries, outputs, targets)
    # In a batch each problem has too few blocks to be shared among workers.
    shares = batch == 1 and n // _SIZE > processors()
    workers = processors() if shares else n // _SIZE
    call = plgpu.kernel(
        functools.partial(_block, width=width, shares=shares),
        out_type=(*_results(width, batch, n), *(_results(width, workers, 2, _SIZE) if shares else ())),
        grid=(workers, batch),
        grid_names=("worker", "problem"),
        num_threads=3,
        thread_name="wg",
        compiler_params=plgpu.CompilerParams(approx_math=True),
    )
    zero = jnp.zeros(1, jnp.int32)
    results = call(counts, zero, queries, outputs, targets)
    return joined(counts[0], Recall(*results[:4]), Recall(*results[4:])) if shares else Recall(*results)


def _results(width: int, *shape: int) -> tuple[jax.ShapeDtypeStruct, ...]:
    row = jax.ShapeDtypeStruct(shape, jnp.float32)
    return row, row, row, jax.ShapeDtypeStruct((*shape, width), jnp.float32)


def share(worker, queries, count, size, workers):
    """Where the share of a worker begins and ends (counting the tiles of all blocks), how many tiles a block has, and
    how many workers have a share. No share is smaller than a block, so no block has more than two workers."""
    tiles, blocks = lax.div(count + (_TILE - 1), _TILE), lax.div(queries + (size - 1), size)
    busy = jnp.minimum(blocks, workers)
    least, more = lax.div(tiles * blocks, busy), lax.rem(tiles * blocks, busy)
    return *(index * least + jnp.minimum(index, more) for index in (worker, worker + 1)), tiles, busy


def joined(counts: Int32[Array, "2"], whole: Recall, parts: Recall) -> Recall:
    """`whole` with the blocks added that two workers share: the first worker has the beginning of the block as its
    second part, the next worker has its end as its first part."""
    workers, _, size = parts.target.shape
    worker = jnp.arange(workers - 1, dtype=jnp.int32)
    _, end, tiles, busy = share(worker, counts[0], counts[1], size, workers)
    beginning, rest = Recall(*(part[:-1, 1] for part in parts)), Recall(*(part[1:, 0] for part in parts))
    merged = beginning.merged(rest)
    shared = (worker + 1 < busy) & (lax.rem(end, tiles) > 0)
    # Blocks after the last one are dropped.
    block_index = jnp.where(shared, lax.div(end, tiles), whole.target.shape[1] // size)
    return Recall(*(
        all_of_them.reshape(-1, *block.shape[1:]).at[block_index].set(block, mode="drop").reshape(all_of_them.shape)
        for all_of_them, block in zip(whole, merged)
    ))  # fmt: skip


def _block(count_ref, zero_ref, query_ref, output_ref, target_ref, *results, width, shares):
    """One worker: it allocates its shared memory, then its three warpgroups start."""
    tiled = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
    pl.run_scoped(
        functools.partial(_warpgroup, count_ref, zero_ref, query_ref, output_ref, target_ref, results, width, shares),
        plgpu.SMEM((2, _QUERIES, width), jnp.float16, transforms=tiled),
        plgpu.SMEM((_SLOTS, _TILE, width), jnp.float16, transforms=tiled),
        plgpu.SMEM((2, _QUERIES, _CHUNK), jnp.float32),
        plgpu.SMEM((2, 3, _QUERIES), jnp.float32),
        plgpu.Barrier(num_barriers=2),
        plgpu.Barrier(num_arrivals=2),
        plgpu.Barrier(num_barriers=_SLOTS),
        plgpu.Barrier(num_arrivals=2, num_barriers=_SLOTS),
        collective_axes="wg",
    )


def _warpgroup(count_ref, zero_ref, query_ref, output_ref, target_ref, results, width, shares, *shared):
    queries, tiles, chunk, rows, queries_there, queries_done, filled, consumed = shared
    problem, group, worker = (lax.axis_index(name) for name in ("problem", "wg", "worker"))
    count, zero = count_ref[problem, 1], zero_ref[0]
    begin, end, steps, busy = share(worker, count_ref[problem, 0], count, _SIZE, lax.axis_size("worker"))

    @pl.when((worker < busy) & (group < 2))
    def _compute():
        plgpu.set_max_registers(232, action="increase")
        offset = group * _QUERIES

        @pl.loop(lax.div(begin, steps), lax.div(end - 1, steps) + 1)
        def _(block):
            low = jnp.maximum(begin - block * steps, 0)
            high = jnp.minimum(end - block * steps, steps)
            mine = block * _SIZE + offset
            plgpu.barrier_wait(queries_there.at[group])
            theirs = target_ref.at[problem, pl.ds(mine, _QUERIES)]
            own_column = plgpu.load(theirs, layout=plgpu.Layout.WGMMA.reduce(1), optimized=False, **WHOLE)
            steps_of_block = low, high, block * steps - begin
            target, rival, total, pull = _stream(
                queries, group, tiles, filled, consumed, steps_of_block, (count, zero), own_column, width
            )
            plgpu.barrier_arrive(queries_done)
            top = jnp.maximum(target, rival)
            level = top + jnp.log(total)
            for index, values in enumerate((target, rival, level)):
                rows[group, index] = values
            pull = pull / lax.broadcast_in_dim(total, pull.shape, [0])
            plgpu.commit_smem()

            def send(source, kind, *component):
                """Write a whole block to its rows, or a part of a block to the array of parts."""
                whole = results[kind].at[problem, pl.ds(mine, _QUERIES), *component]
                if not shares:
                    plgpu.copy_smem_to_gmem(source, whole)
                    return
                piece = jnp.where(low > 0, 0, 1)
                part = results[4 + kind].at[worker, piece, pl.ds(offset, _QUERIES), *component]
                pl.when(high - low == steps)(lambda: plgpu.copy_smem_to_gmem(source, whole))
                pl.when(high - low < steps)(lambda: plgpu.copy_smem_to_gmem(source, part))

            for index in range(3):
                send(rows.at[group, index], index)
            for first in range(0, width, _CHUNK):
                plgpu.wait_smem_to_gmem(0)
                chunk[group] = pull[:, first : first + _CHUNK]
                plgpu.commit_smem()
                send(chunk.at[group], 3, pl.ds(first, _CHUNK))
            plgpu.wait_smem_to_gmem(0)

    @pl.when((worker < busy) & (group == 2))
    def _fetch():
        plgpu.set_max_registers(40, action="decrease")

        @pl.loop(begin, end)
        def _(tile_index):
            block, passed = lax.div(tile_index, steps), tile_index - begin
            step, slot = tile_index - block * steps, lax.rem(passed, jnp.int32(_SLOTS))

            @pl.when((passed == 0) | (step == 0))
            def _():
                pl.when(passed > 0)(lambda: plgpu.barrier_wait(queries_done))
                for which in range(2):
                    mine = query_ref.at[problem, pl.ds(block * _SIZE + which * _QUERIES, _QUERIES)]
                    plgpu.copy_gmem_to_smem(mine, queries.at[which], queries_there.at[which])

            pl.when(passed >= _SLOTS)(lambda: plgpu.barrier_wait(consumed.at[slot]))
            tile = output_ref.at[problem, pl.ds(step * _TILE, _TILE)]
            plgpu.copy_gmem_to_smem(tile, tiles.at[slot], filled.at[slot])


def _stream(queries, group, tiles, filled, consumed, steps, counts, own_column, width):
    """Go through the tiles for the queries of one warpgroup: target, rival, sum of weights, and weighted outputs."""
    (low, high, before), (count, zero) = steps, counts

    def consume(step, carry):
        target, rival, total, pull = carry
        slot = lax.rem(before + step, jnp.int32(_SLOTS))
        # Always zero, but only known in this step: otherwise the compiler computes the addresses of all operands before
        # the loop, and has too few registers for them (hopper/to_512_kernel.py).
        nothing = jnp.minimum(zero, step)
        plgpu.barrier_wait(filled.at[slot])

        def make_scores(scores):
            plgpu.wgmma(scores, queries.at[group + nothing], tiles.at[slot].transpose((1, 0)))
            return scores[...]

        scores = pl.run_scoped(make_scores, plgpu.ACC((_QUERIES, _TILE), jnp.float32))
        shape = (_QUERIES, _TILE)
        column = plgpu.broadcasted_iota(jnp.int32, shape, 1, layout=plgpu.Layout.WGMMA) + step * _TILE
        scores = jnp.where(column < count, scores, -jnp.inf)
        own = column == lax.broadcast_in_dim(own_column, shape, [0])
        last = jnp.maximum(target, rival)
        target = jnp.maximum(target, jnp.where(own, scores, -jnp.inf).max(axis=1))
        rival = jnp.maximum(rival, jnp.where(own, -jnp.inf, scores).max(axis=1))
        top = jnp.maximum(target, rival)
        shrink = jnp.exp2((last - top) * LOG2E)
        # The difference first: the largest weight is then exactly 1, and a perfect memory has slopes of exactly zero.
        weights = jnp.exp2((scores - lax.broadcast_in_dim(top, shape, [0])) * LOG2E)
        total = total * shrink + weights.sum(axis=1)
        pull = pull * lax.broadcast_in_dim(shrink, pull.shape, [0])
        rounded = weights.astype(jnp.float16)

        def add(pull_ref):
            plgpu.wgmma(pull_ref, rounded, tiles.at[slot])

        pull = pl.run_state(add)(plgpu.ACC.init(pull))
        plgpu.barrier_arrive(consumed.at[slot])
        return target, rival, total, pull

    row, matrix = plgpu.Layout.WGMMA.reduce(1), plgpu.Layout.WGMMA
    lowest = plgpu.layout_cast(jnp.full((_QUERIES,), -jnp.inf, jnp.float32), row)
    nothing = plgpu.layout_cast(jnp.zeros((_QUERIES,), jnp.float32), row)
    pull = plgpu.layout_cast(jnp.zeros((_QUERIES, width), jnp.float32), matrix)
    return lax.fori_loop(low, high, consume, (lowest, lowest, nothing, pull))
