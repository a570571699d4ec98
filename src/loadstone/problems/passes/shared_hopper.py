"""The pass over shared outputs as one fused kernel on a Hopper GPU, in Pallas (Mosaic).

A block holds 64 queries in shared memory and streams all outputs past them in tiles. A tile serves twice: for the
scores, and for the pull. Scores live in registers only. Two warpgroups compute, so that one uses the tensor cores while
the other is at its exponentials; a third one fetches tiles. The pull of 64 queries fits into the registers of one
warpgroup for up to 256 components; beyond that both warpgroups work on the same queries and each keeps half of the
components. They then make the same scores twice, which costs less than to exchange them.

Operands are float16, sums float32. How many rows count is read when the kernel runs: arrays may be longer, and sizes
that differ only in that share one compiled program.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxtyping import Array, Float, Float16, Int, Int32

from loadstone.problems.passes.gpu import MOST_SHARED
from loadstone.problems.recall import Recall

_QUERIES, _TILE, _SLOTS, _CHUNK = 64, 64, 2, 32
#: Arrays are filled up to multiples of these.
_ROWS, _WIDTH = 2 * _QUERIES, 64
#: JAX 0.10 wants an index beside a reference, later versions warn of one.
_WHOLE = {"idx": ()} if jax.__version_info__ < (0, 11) else {}
_LOG2E = math.log2(math.e)


def fused_recall(
    queries: Float[Array, "n d"],
    outputs: Float[Array, "m d"],
    targets: Int[Array, "n"],
    count: tuple[Int[Array, ""] | int, Int[Array, ""] | int],
) -> Recall:
    """Recall of the first count[0] queries against the first count[1] outputs; other rows come out as anything."""
    n, d = queries.shape
    width = -(-d // _WIDTH) * _WIDTH
    half = [_filled(part.astype(jnp.float16), -(-part.shape[0] // _ROWS) * _ROWS, width) for part in (queries, outputs)]
    places = jnp.pad(targets.astype(jnp.int32), (0, half[0].shape[0] - n))
    found = _one(jnp.stack([jnp.asarray(one, jnp.int32) for one in count]), *half, places)
    return Recall(*(part[:n] for part in found[:3]), found[3][:n, :d])


def _filled(matrix: Float16[Array, "n d"], rows: int, width: int) -> Float16[Array, "rows width"]:
    return jnp.pad(matrix, ((0, rows - matrix.shape[0]), (0, width - matrix.shape[1])))


@jax.custom_batching.custom_vmap
def _one(counts, queries, outputs, targets):
    return tuple(part[0] for part in batch_recall(counts[None], queries[None], outputs[None], targets[None]))


@_one.def_vmap
def _several(size, batched, *operands):
    """A batch is one launch: small problems alone would leave most of the chip idle."""
    whole = [
        part if has else jnp.broadcast_to(part[None], (size, *part.shape)) for part, has in zip(operands, batched)
    ]
    return tuple(batch_recall(*whole)), (True,) * 4


def batch_recall(
    counts: Int32[Array, "batch 2"],
    queries: Float16[Array, "batch n width"],
    outputs: Float16[Array, "batch m width"],
    targets: Int32[Array, "batch n"],
) -> Recall:
    """The kernel itself: n and m are multiples of 128, width of 64."""
    batch, n, width = queries.shape
    split = width > MOST_SHARED // 2
    row = jax.ShapeDtypeStruct((batch, n), jnp.float32)
    call = plgpu.kernel(
        functools.partial(_block, width=width, split=split),
        out_type=(row, row, row, jax.ShapeDtypeStruct((batch, n, width), jnp.float32)),
        grid=(n // (_QUERIES if split else 2 * _QUERIES), batch),
        grid_names=("tile", "problem"),
        num_threads=3,
        thread_name="wg",
        compiler_params=plgpu.CompilerParams(approx_math=True),
    )
    return Recall(*call(counts, queries, outputs, targets))


def _block(count_ref, query_ref, output_ref, target_ref, *results, width: int, split: bool) -> None:
    """One block: it takes its shared memory, then its three warpgroups take their parts."""
    # Half of the components must be whole swizzled columns.
    columns = width // 2 if split else width
    swizzle = 128 if columns % 64 == 0 else 64
    tiled = (plgpu.TilingTransform((8, swizzle // 2)), plgpu.SwizzleTransform(swizzle))
    crowd = 1 if split else 2
    pl.run_scoped(
        functools.partial(_warpgroup, count_ref, query_ref, output_ref, target_ref, results, columns, split),
        plgpu.SMEM((crowd, _QUERIES, width), jnp.float16, transforms=tiled),
        plgpu.SMEM((_SLOTS, _TILE, width), jnp.float16, transforms=tiled),
        plgpu.SMEM((2, _QUERIES, _CHUNK), jnp.float32),
        plgpu.SMEM((2, 3, _QUERIES), jnp.float32),
        plgpu.Barrier(num_barriers=crowd),
        plgpu.Barrier(num_barriers=_SLOTS),
        plgpu.Barrier(num_arrivals=2, num_barriers=_SLOTS),
        collective_axes="wg",
    )


def _warpgroup(count_ref, query_ref, output_ref, target_ref, results, columns, split, *shared) -> None:
    queries, tiles, chunk, rows, queries_there, filled, consumed = shared
    problem, group = lax.axis_index("problem"), lax.axis_index("wg")
    crowd = 1 if split else 2
    first = lax.axis_index("tile") * (crowd * _QUERIES)
    asked, count = count_ref[problem, 0], count_ref[problem, 1]
    steps = lax.div(count + (_TILE - 1), _TILE)

    @pl.when((first < asked) & (group < 2))
    def _compute():
        plgpu.set_max_registers(232, action="increase")
        mine = first + (0 if split else group * _QUERIES)
        place = lax.axis_index("wg") * (0 if split else 1)
        plgpu.barrier_wait(queries_there.at[place])
        theirs = target_ref.at[problem, pl.ds(mine, _QUERIES)]
        own_column = plgpu.load(theirs, layout=plgpu.Layout.WGMMA.reduce(1), optimized=False, **_WHOLE)
        part = pl.ds(group * columns, columns) if split else slice(None)
        target, rival, total, pull = _stream(
            queries.at[place], tiles, filled, consumed, steps, count, own_column, columns, part
        )
        top = jnp.maximum(target, rival)
        level = top + jnp.log(total)
        for index, values in enumerate((target, rival, level)):
            rows[group, index] = values
        pull = pull / lax.broadcast_in_dim(total, pull.shape, [0])
        plgpu.commit_smem()

        @pl.when((group == 0) | (not split))
        def _():
            for index, result in enumerate(results[:3]):
                plgpu.copy_smem_to_gmem(rows.at[group, index], result.at[problem, pl.ds(mine, _QUERIES)])

        start = group * columns if split else 0
        for offset in range(0, columns, _CHUNK):
            plgpu.wait_smem_to_gmem(0)
            chunk[group] = pull[:, offset : offset + _CHUNK]
            plgpu.commit_smem()
            there = results[3].at[problem, pl.ds(mine, _QUERIES), pl.ds(start + offset, _CHUNK)]
            plgpu.copy_smem_to_gmem(chunk.at[group], there)
        plgpu.wait_smem_to_gmem(0)

    @pl.when((first < asked) & (group == 2))
    def _fetch():
        plgpu.set_max_registers(40, action="decrease")
        for place in range(crowd):
            mine = query_ref.at[problem, pl.ds(first + place * _QUERIES, _QUERIES)]
            plgpu.copy_gmem_to_smem(mine, queries.at[place], queries_there.at[place])

        def fetch(step, slot):
            tile = output_ref.at[problem, pl.ds(step * _TILE, _TILE)]
            plgpu.copy_gmem_to_smem(tile, tiles.at[slot], filled.at[slot])

        for step in range(_SLOTS):
            pl.when(step < steps)(functools.partial(fetch, step, step))

        @pl.loop(_SLOTS, steps)
        def _(step):
            slot = lax.rem(step, jnp.int32(_SLOTS))
            plgpu.barrier_wait(consumed.at[slot])
            fetch(step, slot)


def _stream(queries, tiles, filled, consumed, steps, count, own_column, columns, part):
    """All tiles past the queries of one warpgroup: target, rival, sum of the weights, and the weighted outputs."""

    def consume(step, carry):
        target, rival, total, pull = carry
        slot = lax.rem(step, jnp.int32(_SLOTS))
        plgpu.barrier_wait(filled.at[slot])

        def make_scores(scores):
            plgpu.wgmma(scores, queries, tiles.at[slot].transpose((1, 0)))
            return scores[...]

        scores = pl.run_scoped(make_scores, plgpu.ACC((_QUERIES, _TILE), jnp.float32))
        shape = (_QUERIES, _TILE)
        column = plgpu.broadcasted_iota(jnp.int32, shape, 1, layout=plgpu.Layout.WGMMA) + step * _TILE
        scores = jnp.where(column < count, scores, -jnp.inf)
        own = column == lax.broadcast_in_dim(own_column, shape, [0])
        before = jnp.maximum(target, rival)
        target = jnp.maximum(target, jnp.where(own, scores, -jnp.inf).max(axis=1))
        rival = jnp.maximum(rival, jnp.where(own, -jnp.inf, scores).max(axis=1))
        top = jnp.maximum(target, rival)
        shrink = jnp.exp2((before - top) * _LOG2E)
        weights = jnp.exp2(scores * _LOG2E - lax.broadcast_in_dim(top * _LOG2E, shape, [0]))
        total = total * shrink + weights.sum(axis=1)
        pull = pull * lax.broadcast_in_dim(shrink, pull.shape, [0])
        rounded = weights.astype(jnp.float16)

        def add(pull_ref):
            plgpu.wgmma(pull_ref, rounded, tiles.at[slot, :, part])

        pull = pl.run_state(add)(plgpu.ACC.init(pull))
        plgpu.barrier_arrive(consumed.at[slot])
        return target, rival, total, pull

    row, matrix = plgpu.Layout.WGMMA.reduce(1), plgpu.Layout.WGMMA
    lowest = plgpu.layout_cast(jnp.full((_QUERIES,), -jnp.inf, jnp.float32), row)
    nothing = plgpu.layout_cast(jnp.zeros((_QUERIES,), jnp.float32), row)
    pull = plgpu.layout_cast(jnp.zeros((_QUERIES, columns), jnp.float32), matrix)
    return lax.fori_loop(0, steps, consume, (lowest, lowest, nothing, pull))
