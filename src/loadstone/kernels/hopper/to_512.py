"""The pass over shared outputs of 257 to 512 components on a Hopper GPU, around the kernel in to_512_kernel.py.

The kernel needs a level for each query before its scores are known, so levels are guessed (hopper/levels.py). Queries
whose guess turns out to be far off go through the kernel once more, a thousand at a time, with levels that are known
then; mostly there are none, or few.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Float16, Int32

from loadstone.kernels.devices import MOST_SHARED
from loadstone.kernels.hopper import to_512_kernel
from loadstone.kernels.hopper.arrays import SLICES, OutputArrays, pass_of_arrays
from loadstone.kernels.hopper.levels import LARGEST, are_bad, guessed_levels
from loadstone.kernels.hopper.workers import Weighed, summed
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.recall import Recall, Slope, weighed_slope

#: This many queries are done again at a time: with each slice of the outputs they fill the chip.
_AT_A_TIME = 1024


class _Sums(NamedTuple):
    """Each query's shift, the sum of its weights, and the outputs summed with these; of queries that have not been
    done again, only over the outputs that one worker has seen (workers.Weighed).

    done: how many queries have been done again so far.
    """

    done: Int32[Array, ""]
    shifts: Float[Array, "rows"]
    total: Float[Array, "rows"]
    rows: Float[Array, "rows width"]


def shared_pass(queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Every query against the same outputs, in float16."""
    return pass_of_arrays(queries, outputs, MOST_SHARED, recall_of_arrays)


def recall_of_arrays(queries: Float16[Array, "rows width"], arrays: OutputArrays) -> tuple[Recall, Slope]:
    """The recall and the slopes of the queries that count; other rows are arbitrary."""
    own, outputs, targets, counts, *_ = arrays
    levels = guessed_levels(queries, arrays)
    shifts = levels - LARGEST
    batch_of_one = (part[None] for part in (counts, queries, outputs, targets, shifts))
    target, rival, total, rows, parts, first, sharing = (part[0] for part in _weighed(*batch_of_one))
    top = jnp.maximum(target, rival)
    bad = are_bad(levels, top, jnp.arange(len(queries)) < counts[0])

    def some_again(state: _Sums) -> _Sums:
        n = len(bad)
        left = bad & (jnp.cumsum(bad) > state.done)
        which = jnp.nonzero(left, size=min(_AT_A_TIME, n), fill_value=n)[0]
        number = jnp.minimum(left.sum(dtype=jnp.int32), len(which))
        some, theirs, known = (part.at[which].get(mode="clip") for part in (queries, targets, top - LARGEST))
        sums = known, *_in_slices(jnp.stack([number, counts[1]]), outputs, some, theirs, known)
        mended = (part.at[which].set(new, mode="drop") for part, new in zip(state[1:], sums))
        return _Sums(state.done + number, *mended)

    def is_left(state: _Sums) -> Bool[Array, ""]:
        return state.done < bad.sum(dtype=jnp.int32)

    _, shifts, total, rows = lax.while_loop(is_left, some_again, _Sums(jnp.int32(0), shifts, total, rows))
    single = own.astype(jnp.float32)
    slope = weighed_slope(summed(rows, parts, first, sharing, bad), total, single)
    return Recall(target, rival, shifts + jnp.log(total), single + slope), slope


def _in_slices(
    counts: Int32[Array, "2"],
    outputs: Float16[Array, "columns width"],
    queries: Float16[Array, "rows width"],
    targets: Int32[Array, "rows"],
    shifts: Float[Array, "rows"],
) -> tuple[Float[Array, "rows"], Float[Array, "rows width"]]:
    """The sums of weights and of outputs with these weights, for few queries: each slice of the outputs is a problem of
    its own, so that many workers are busy. One worker alone would take as long for a few queries as all together take
    for thousands."""
    size = len(outputs) // SLICES
    begin = jnp.arange(SLICES, dtype=jnp.int32) * size
    inside = jnp.clip(counts[1] - begin, 0, size)
    is_there = inside > 0
    each = jnp.stack([jnp.where(is_there, counts[0], 0), inside], axis=1)
    queries, shifts = (jnp.broadcast_to(part, (SLICES, *part.shape)) for part in (queries, shifts))
    in_slices = outputs.reshape(SLICES, size, -1)
    sums = Weighed(*_weighed(each, queries, in_slices, targets[None] - begin[:, None], shifts))
    # In a slice without outputs nothing is written.
    total, rows = jnp.where(is_there[:, None], sums.total, 0), jnp.where(is_there[:, None, None], sums.rows, 0)
    return total.sum(axis=0), rows.sum(axis=0)


@jax.custom_batching.custom_vmap
def _weighed(*operands: Array) -> tuple[Array, ...]:
    """The kernel, for one problem or several."""
    return tuple(to_512_kernel.batch_weighed(*operands))


@_weighed.def_vmap
def _of_a_batch(size: int, batched: list[bool], *operands: Array) -> tuple[tuple[Array, ...], tuple[bool, ...]]:
    """A batch is done in one launch, because a small problem alone would leave most of the chip idle."""
    whole = (part if has else jnp.broadcast_to(part, (size, *part.shape)) for part, has in zip(operands, batched))
    weighed = to_512_kernel.batch_weighed(*(part.reshape(-1, *part.shape[2:]) for part in whole))
    return tuple(part.reshape(size, -1, *part.shape[1:]) for part in weighed), (True,) * len(weighed)
