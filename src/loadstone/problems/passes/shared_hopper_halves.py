"""The pass over shared outputs of 257 to 512 components on a Hopper GPU, around the kernel in halves_hopper.py.

The kernel needs a level for each query before its scores are known, so levels are guessed (guessed_levels.py). Queries
whose guess turns out to be far off go through the kernel once more, a thousand at a time, with levels that are known
then; mostly there are none, or few.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Float16, Int, Int32

from loadstone.problems.passes import halves_hopper
from loadstone.problems.passes.devices import MOST_SHARED
from loadstone.problems.passes.filling import SLICES, Answers, filled_pass
from loadstone.problems.passes.guessed_levels import LARGEST, are_bad, guessed_levels
from loadstone.problems.recall import Recall, Slope, weighed_slope

#: So many queries are done again at a time: with each slice of the outputs they fill the chip.
_AT_A_TIME = 1024

#: Which queries are still to be done again; of all, the shift, the sum of the weights, the outputs summed with these.
_Sums = tuple[Bool[Array, "rows"], Float[Array, "rows"], Float[Array, "rows"], Float[Array, "rows width"]]


def shared_pass(
    queries: Float[Array, "n d"],
    outputs: Float[Array, "m d"],
    targets: Int[Array, "n"],
    precision: str,
    block: int,
    count: Int[Array, ""] | None = None,
) -> tuple[Recall, Slope]:
    """Every query against the same outputs, in float16; only the first `count` of both if given."""
    return filled_pass(queries, outputs, targets, count, MOST_SHARED, filled_recall)


def filled_recall(queries: Float16[Array, "rows width"], answers: Answers) -> tuple[Recall, Slope]:
    """The recall and the slopes of the queries that count; other rows are arbitrary."""
    own, outputs, targets, counts, *_ = answers
    levels = guessed_levels(queries, answers)
    shifts = levels - LARGEST
    one = (part[None] for part in (counts, queries, outputs, targets, shifts))
    target, rival, *sums = (part[0] for part in _weighed(*one))
    top = jnp.maximum(target, rival)
    bad = are_bad(levels, top, jnp.arange(len(queries)) < counts[0])

    def some_again(state: _Sums) -> _Sums:
        bad, shifts, total, weighed = state
        rows = jnp.nonzero(bad, size=min(_AT_A_TIME, len(bad)), fill_value=len(bad))[0]
        number = jnp.minimum(bad.sum(dtype=jnp.int32), len(rows))
        some, theirs, known = (part.at[rows].get(mode="clip") for part in (queries, targets, top - LARGEST))
        new_total, new_weighed = _in_slices(jnp.stack([number, counts[1]]), outputs, some, theirs, known)

        def mended(part: Array, new: Array | bool) -> Array:
            return part.at[rows].set(new, mode="drop")

        return mended(bad, False), mended(shifts, known), mended(total, new_total), mended(weighed, new_weighed)

    _, shifts, total, weighed = lax.while_loop(lambda state: state[0].any(), some_again, (bad, shifts, *sums))
    logsumexp = shifts + jnp.log(total)
    single = own.astype(jnp.float32)
    slope = weighed_slope(weighed, total, single)
    return Recall(target, rival, logsumexp, single + slope), slope


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
    *_, total, weighed = _weighed(
        each, queries, outputs.reshape(SLICES, size, -1), targets[None] - begin[:, None], shifts
    )
    # In a slice without outputs nothing is written.
    total, weighed = jnp.where(is_there[:, None], total, 0), jnp.where(is_there[:, None, None], weighed, 0)
    return total.sum(axis=0), weighed.sum(axis=0)


@jax.custom_batching.custom_vmap
def _weighed(*operands: Array) -> tuple[Array, ...]:
    """The kernel, for one problem or several."""
    return tuple(halves_hopper.batch_weighed(*operands))


@_weighed.def_vmap
def _of_a_batch(size: int, batched: list[bool], *operands: Array) -> tuple[tuple[Array, ...], tuple[bool, ...]]:
    """A batch is done in one launch, because a small problem alone would leave most of the chip idle."""
    whole = (part if has else jnp.broadcast_to(part, (size, *part.shape)) for part, has in zip(operands, batched))
    found = halves_hopper.batch_weighed(*(part.reshape(-1, *part.shape[2:]) for part in whole))
    return tuple(part.reshape(size, -1, *part.shape[1:]) for part in found), (True,) * len(found)
