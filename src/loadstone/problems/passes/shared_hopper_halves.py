"""The pass over shared outputs of 257 to 512 components on a Hopper GPU, around the kernel in halves_hopper.py.

The kernel needs a level for each query before its scores are known, so levels are guessed (guessed_levels.py). Queries
whose guess turns out to be far off go through the kernel once more with the levels that are known then: they alone if
they are few, which is the rule, otherwise all. No decision is left to the host, which would have to wait for the GPU:
a run that is not needed has nothing to do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float16, Int, Int32

from loadstone.problems.passes import halves_hopper
from loadstone.problems.passes.devices import MOST_SHARED
from loadstone.problems.passes.filling import CHUNKS, ROWS, filled_pass
from loadstone.problems.passes.guessed_levels import LARGEST, are_bad, guessed_levels
from loadstone.problems.recall import Recall, Slope

#: Of all queries, this part is few.
_FEW = 16

#: Of each query: the target's score, the best of the others, the sum of the weights, and the outputs summed with them.
Found = tuple[Array, Array, Array, Array]


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


def filled_recall(
    queries: Float16[Array, "rows width"],
    outputs: Float16[Array, "columns width"],
    targets: Int32[Array, "rows"],
    counts: Int32[Array, "2"],
) -> Recall:
    """Recall of the first counts[0] queries against the first counts[1] outputs, for arrays that are filled up; other
    rows are arbitrary."""
    levels = guessed_levels(queries, outputs, targets, counts[0], counts[1])
    first = _whole(counts, queries, outputs, targets, levels - LARGEST, shared=True)
    top = jnp.maximum(first[0], first[1])
    bad = are_bad(levels, top, jnp.arange(len(queries)) < counts[0])
    number, most = bad.sum(dtype=jnp.int32), -(-len(queries) // (_FEW * ROWS)) * ROWS
    are_few = number <= most
    rows = jnp.nonzero(bad, size=most, fill_value=len(queries))[0]
    some = queries[rows], outputs, targets[rows], top[rows] - LARGEST
    few = _in_chunks(jnp.stack([jnp.where(are_few, number, 0), counts[1]]), *some)
    again = _whole(jnp.where(are_few, 0, counts), queries, outputs, targets, top - LARGEST, shared=False)
    mended = (part.at[rows].set(new, mode="drop") for part, new in zip(first, few))
    target, rival, total, pull = (jnp.where(are_few, *both) for both in zip(mended, again))
    shift = jnp.where(are_few & ~bad, levels, top) - LARGEST
    return Recall(target, rival, shift + jnp.log(total), pull / total[:, None])


def _whole(counts: Int32[Array, "2"], *operands: Array, shared: bool) -> Found:
    """Every query against all outputs at once."""
    return tuple(part[0] for part in _run(shared)(*(part[None] for part in (counts, *operands))))


def _in_chunks(
    counts: Int32[Array, "2"],
    queries: Float16[Array, "rows width"],
    outputs: Float16[Array, "columns width"],
    targets: Int32[Array, "rows"],
    shifts: Float[Array, "rows"],
) -> Found:
    """Few queries against a part of the outputs at a time. These parts keep several processors busy, where one alone
    would take almost half as long for a few queries as all together for all of them."""
    chunks = math.gcd(CHUNKS, len(outputs) // ROWS)
    size = len(outputs) // chunks
    begin = jnp.arange(chunks, dtype=jnp.int32) * size
    inside = jnp.clip(counts[1] - begin, 0, size)
    is_there = inside > 0
    asked = jnp.where(is_there, counts[0], 0)
    queries, shifts = (jnp.broadcast_to(part, (chunks, *part.shape)) for part in (queries, shifts))
    theirs = outputs.reshape(chunks, size, -1), targets[None] - begin[:, None]
    found = _run(False)(jnp.stack([asked, inside], axis=1), queries, *theirs, shifts)
    target, rival = (jnp.where(is_there[:, None], part, -jnp.inf).max(axis=0) for part in found[:2])
    total = jnp.where(is_there[:, None], found[2], 0.0).sum(axis=0)
    return target, rival, total, jnp.where(is_there[:, None, None], found[3], 0.0).sum(axis=0)


@functools.cache
def _run(shared: bool) -> Callable[..., Found]:
    """The kernel for one or several problems; a batch of them is done in one launch, because a small problem alone
    would leave most of the chip idle."""

    @jax.custom_batching.custom_vmap
    def one(*operands):
        return tuple(halves_hopper.batch_weighed(*operands, shared=shared))

    @one.def_vmap
    def several(size, batched, *operands):
        whole = [part if has else jnp.broadcast_to(part, (size, *part.shape)) for part, has in zip(operands, batched)]
        found = halves_hopper.batch_weighed(*(part.reshape(-1, *part.shape[2:]) for part in whole), shared=shared)
        return tuple(part.reshape(size, -1, *part.shape[1:]) for part in found), (True,) * 4

    return one
