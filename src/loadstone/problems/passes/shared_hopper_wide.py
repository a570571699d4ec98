"""The pass over shared outputs of many components on a Hopper GPU: two large products, with the softmax between them
done where the scores are made.

The pull of a query with many components does not fit into registers beside its scores, so it is a product of its own:
weights times outputs. The kernel here makes these weights. It is a product of queries and outputs (128 x 256 scores at
a time, two blocks of threads sharing the outputs that they read) that never writes a score: from each it makes
exp(score - level), in float16, while it is still in a register, and for each tile the largest scores and the sum of the
weights. So two bytes for each score go to memory and back.

The level of a query must be known before its scores are. It is a guess: the target's score, or a little less than where
normal scores would have their maximum if that is larger. The guess is good as long as the weights fit into float16. If
it is not good for some query of a block, the block is done once more with the levels that are known then.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxtyping import Array, Bool, Float, Float16, Int, Int32

from loadstone.problems.passes.devices import processors
from loadstone.problems.passes.shapes import check_shared
from loadstone.problems.recall import Recall, Slope

#: Queries of a warpgroup, outputs of a tile, components of a slice, slices in shared memory, blocks that share outputs.
_QUERIES, _TILE, _SLICE, _SLOTS, _PAIR = 64, 256, 64, 3, 2
#: Queries of a pair of blocks: arrays are padded to multiples of it.
_ROWS = 2 * _PAIR * _QUERIES
#: JAX 0.10 needs an index with a reference, later versions warn about one.
_WHOLE = {"idx": ()} if jax.__version_info__ < (0, 11) else {}
_LOG2E = math.log2(math.e)
#: The largest weight of a query is about exp(5). A guess may be wrong by so much that it is exp(10.9), where float16
#: ends, or exp(-4), where weights of a millionth of it are still counted.
_LARGEST, _LEAST_OFF, _MOST_OFF = 5.0, -9.0, 5.9
#: Queries of a block: with fewer bytes than this they stay in the cache while all outputs pass.
_CACHED_BYTES = 25 * 10**6


def shared_pass(
    queries: Float[Array, "n d"],
    outputs: Float[Array, "m d"],
    targets: Int[Array, "n"],
    precision: str,
    block: int,
    count: Int[Array, ""] | None = None,
) -> tuple[Recall, Slope]:
    """Every query against the same outputs, in float16; only the first `count` of both if given."""
    check_shared(queries, outputs, targets)
    counts = queries.shape[0], outputs.shape[0]
    limits = [jnp.asarray(most if count is None else jnp.clip(count, 0, most), jnp.int32) for most in counts]
    # Problems of this size fill the chip one by one.
    one_by_one = jax.custom_batching.sequential_vmap(functools.partial(_blocks, block=block))
    return one_by_one(queries, outputs, targets.astype(jnp.int32), *limits)


def _blocks(queries, outputs, targets, asked, competing, block):
    """The first `asked` queries against the first `competing` outputs, one block of queries after another."""
    n, d = queries.shape
    width, columns = _up(d, _SLICE), _up(outputs.shape[0], _TILE)
    rows = _block_rows(n, width, block)
    length = _up(n, rows)
    typical = jnp.sqrt(2 * jnp.log(competing.astype(jnp.float32)) * jnp.square(outputs).mean())
    queries, outputs = _filled(queries, length, width), _filled(outputs, columns, width)
    indices, parts = jnp.pad(targets, (0, length - n)), _parts(rows, width, columns)

    def fill(index: Int[Array, ""], whole: Recall) -> Recall:
        first = index * rows
        some, theirs = (lax.dynamic_slice_in_dim(each, first, rows) for each in (queries, indices))
        counted = first + jnp.arange(rows) < asked
        levels = guessed_levels(some, outputs[theirs], typical)
        found = block_recall(some, outputs, theirs, levels, counted, competing, parts)
        return Recall(*(lax.dynamic_update_slice_in_dim(w, p, first, 0) for w, p in zip(whole, found)))

    empty = jnp.zeros(length, jnp.float32)
    whole = Recall(empty, empty, empty, jnp.zeros((length, width), jnp.float32))
    whole = lax.fori_loop(0, lax.div(asked + (rows - 1), rows), fill, whole)
    recall = Recall(whole.target[:n], whole.rival[:n], whole.logsumexp[:n], whole.pull[:n, :d])
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)


def guessed_levels(
    queries: Float16[Array, "n width"], targets: Float16[Array, "n width"], typical: Float[Array, ""]
) -> Float[Array, "n"]:
    """About the largest score of each query, for the price of one: that of its target, or the typical maximum of normal
    scores, which is `typical` for a query of length 1."""
    single = [part.astype(jnp.float32) for part in (queries, targets)]
    return jnp.maximum(jnp.einsum("nd,nd->n", *single), 0.7 * typical * jnp.linalg.norm(single[0], axis=1))


def block_recall(
    queries: Float16[Array, "rows width"],
    outputs: Float16[Array, "m width"],
    targets: Int32[Array, "rows"],
    levels: Float[Array, "rows"],
    counted: Bool[Array, "rows"],
    count: Int32[Array, ""],
    parts: int,
) -> Recall:
    """Recall of the queries of one block. Guessed levels that turn out to be far off are replaced."""

    def weighed(levels: Float[Array, "rows"]):
        return block_weights(queries, outputs, targets, levels, count, parts)

    def pulled(weights: Float16[Array, "parts rows m_part"], sums: Float[Array, "rows"]) -> Float[Array, "rows width"]:
        pieces = outputs.reshape(parts, -1, outputs.shape[1])
        dimensions = (((2,), (1,)), ((0,), (0,)))
        found = lax.dot_general(weights, pieces, dimensions, preferred_element_type=jnp.float32)
        return found.sum(axis=0) / sums[:, None]

    weights, target, rival, sums = weighed(levels)
    top = jnp.maximum(target, rival)
    off = jnp.where(counted, top - levels, 0.0)
    good = jnp.all((off > _LEAST_OFF) & (off < _MOST_OFF))

    def again():
        weights, _, _, sums = weighed(top)
        return top - _LARGEST + jnp.log(sums), pulled(weights, sums)

    logsumexp, pull = lax.cond(good, lambda: (levels - _LARGEST + jnp.log(sums), pulled(weights, sums)), again)
    return Recall(target, rival, logsumexp, pull)


def block_weights(
    queries: Float16[Array, "rows width"],
    outputs: Float16[Array, "m width"],
    targets: Int32[Array, "rows"],
    levels: Float[Array, "rows"],
    count: Int32[Array, ""],
    parts: int,
) -> tuple[Float16[Array, "parts rows m_part"], Float[Array, "rows"], Float[Array, "rows"], Float[Array, "rows"]]:
    """Weights of the first `count` outputs for each query, cut into parts by outputs; the target's score, the best of
    the others, and the sum of the weights. The kernel itself: rows are a multiple of 256, m of 256 for each part, and
    the width of 64."""
    rows, width = queries.shape
    m = outputs.shape[0]
    tiles = m // _TILE
    # Most tiles have no target of their queries, and no output that does not count.
    special = jnp.zeros((rows // _QUERIES, tiles), jnp.int32)
    special = special.at[jnp.arange(rows) // _QUERIES, targets // _TILE].set(1)
    special = jnp.maximum(special, (jnp.arange(1, tiles + 1) * _TILE > count).astype(jnp.int32)[None])
    row = jax.ShapeDtypeStruct((tiles, rows), jnp.float32)
    call = plgpu.kernel(
        functools.partial(_pair_of_blocks, width=width),
        out_type=(jax.ShapeDtypeStruct((parts, rows, m // parts), jnp.float16), row, row, row),
        grid=(min(processors() // _PAIR, rows // _ROWS * tiles),),
        grid_names=("worker",),
        cluster=(_PAIR,),
        cluster_names=("pair",),
        num_threads=3,
        thread_name="wg",
        compiler_params=plgpu.CompilerParams(approx_math=True),
    )
    shifts = (levels - _LARGEST) * _LOG2E
    weights, target, rival, sums = call(count[None], queries, outputs, targets, shifts, special)
    return weights, target.max(axis=0), rival.max(axis=0), sums.sum(axis=0)


def _pair_of_blocks(*arrays, width):
    """One worker: two blocks of threads, each with shared memory of its own, of which three warpgroups start."""
    tiled = plgpu.TilingTransform((8, _SLICE)), plgpu.SwizzleTransform(2 * _SLICE)
    pl.run_scoped(
        functools.partial(_warpgroup, *arrays, width // _SLICE),
        plgpu.SMEM((_SLOTS, 2 * _QUERIES, _SLICE), jnp.float16, transforms=tiled),
        plgpu.SMEM((_SLOTS, _TILE, _SLICE), jnp.float16, transforms=tiled),
        plgpu.SMEM((2, _QUERIES, _TILE), jnp.float16, transforms=tiled),
        plgpu.SMEM((2, 3, _QUERIES), jnp.float32),
        plgpu.Barrier(num_arrivals=2, num_barriers=_SLOTS),
        plgpu.ClusterBarrier(collective_axes=("pair",), num_arrivals=2, num_barriers=_SLOTS),
        collective_axes="wg",
    )


def _warpgroup(*everything):
    (count_ref, query_ref, output_ref, target_ref, shift_ref, special_ref, *results, slices) = everything[:11]
    queries, outputs, staged, numbers, filled, consumed = everything[11:]
    worker, member, group = (lax.axis_index(name) for name in ("worker", "pair", "wg"))
    workers, pairs = lax.axis_size("worker"), query_ref.shape[0] // _ROWS
    tiles = output_ref.shape[0] // _TILE
    rounds = lax.div(pairs * tiles - worker + (workers - 1), workers)

    def place(index):
        """Of a tile of this worker: its first query and which outputs. Workers side by side share outputs."""
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
            shift = plgpu.load(shift_ref.at[mine], layout=row, optimized=False, **_WHOLE)
            own = plgpu.load(target_ref.at[mine], layout=row, optimized=False, **_WHOLE)
            special = special_ref[lax.div(first, _QUERIES) + group, tile]
            scores = _scores(queries, outputs, filled, consumed, group, slices, index * slices)
            found = scores, shift, own - tile * _TILE, count_ref[0] - tile * _TILE
            send = functools.partial(_send, results, staged.at[group], numbers.at[group], mine, tile, *found)
            pl.when(special > 0)(lambda: send(special=True))
            pl.when(special == 0)(lambda: send(special=False))

        plgpu.wait_smem_to_gmem(0)

    @pl.when(group == 2)
    def _fetch():
        plgpu.set_max_registers(40, action="decrease")

        @pl.loop(0, rounds * slices)
        def _(passed):
            index = lax.div(passed, slices)
            part, slot = pl.ds((passed - index * slices) * _SLICE, _SLICE), lax.rem(passed, _SLOTS)
            first, tile = place(index)
            pl.when(passed >= _SLOTS)(lambda: plgpu.barrier_wait(consumed.at[slot]))
            mine = query_ref.at[pl.ds(first, 2 * _QUERIES), part]
            plgpu.copy_gmem_to_smem(mine, queries.at[slot], filled.at[slot])
            theirs = output_ref.at[pl.ds(tile * _TILE, _TILE), part]
            plgpu.copy_gmem_to_smem(theirs, outputs.at[slot], filled.at[slot], collective_axes="pair")

        # The other block may still have to say that it is done with a slot: this one must not end before.
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

        found = sums[...]
        plgpu.barrier_arrive(consumed.at[lax.rem(before + slices - 1, _SLOTS)])
        return found

    return pl.run_scoped(summed, plgpu.ACC((_QUERIES, _TILE), jnp.float32))


def _send(results, staged, numbers, mine, tile, scores, shift, own, count, special):
    """Make the weights of a tile and send them to memory, with what is known of their queries."""
    weight_ref, *number_refs = results
    shape, row = scores.shape, plgpu.Layout.WGMMA.reduce(1)
    if special:
        column = plgpu.broadcasted_iota(jnp.int32, shape, 1, layout=plgpu.Layout.WGMMA)
        scores = jnp.where(column < count, scores, -jnp.inf)
        its_own = column == lax.broadcast_in_dim(own, shape, [0])
        target, rival = (jnp.where(its_own, *pair).max(axis=1) for pair in ((scores, -jnp.inf), (-jnp.inf, scores)))
    else:
        target = plgpu.layout_cast(jnp.full((_QUERIES,), -jnp.inf, jnp.float32), row)
        rival = scores.max(axis=1)
    weights = jnp.exp2(scores * _LOG2E - lax.broadcast_in_dim(shift, shape, [0])).astype(jnp.float16)
    total = weights.astype(jnp.float32).sum(axis=1)
    plgpu.wait_smem_to_gmem(0, wait_read_only=True)
    staged[...] = weights
    for index, values in enumerate((target, rival, total)):
        numbers[index] = values
    plgpu.commit_smem()
    each = weight_ref.shape[2] // _TILE
    columns = pl.ds(lax.rem(tile, each) * _TILE, _TILE)
    plgpu.copy_smem_to_gmem(staged, weight_ref.at[lax.div(tile, each), mine, columns])
    for index in range(3):
        plgpu.copy_smem_to_gmem(numbers.at[index], number_refs[index].at[tile, mine])


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _filled(matrix: Float[Array, "n d"], rows: int, width: int) -> Float16[Array, "rows width"]:
    return jnp.pad(matrix.astype(jnp.float16), ((0, rows - matrix.shape[0]), (0, width - matrix.shape[1])))


def _block_rows(n: int, width: int, block: int) -> int:
    """Queries of a block: as many as stay in the cache, and whose weights take no more memory than the scores of
    `block` queries and what is made of them would in XLA; blocks of equal size."""
    most = max(1, min(_CACHED_BYTES // (2 * width), 6 * block) // _ROWS) * _ROWS
    return _up(-(-n // -(-n // most)), _ROWS)


def _parts(rows: int, width: int, columns: int) -> int:
    """Into how many parts, added afterwards, the product of weights and outputs is cut, so that its last round of tiles
    (128 x 256) leaves few processors idle."""
    tiles = -(-rows // 128) * -(-width // 256)
    possible = [parts for parts in (1, 2, 3, 4, 5, 6) if columns % (parts * _TILE) == 0]

    def waste(parts: int) -> float:
        rounds = tiles * parts / processors()
        # Every part is written and read once more.
        return math.ceil(rounds) / rounds + 0.02 * parts

    return min(possible, key=waste)
