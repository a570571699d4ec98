"""The pass over shared outputs of 257 to 512 components on a Hopper GPU, around the kernel in halves_hopper.py.

The kernel needs a level for each query before its scores are known, so levels are guessed (guessed_levels.py). Queries
whose guess turns out to be far off go through the kernel once more, with the levels that are known then; mostly there
are none, or few. No decision is left to the host, which would have to wait for the GPU, and both runs are of one
compiled kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Float16, Int, Int32

from loadstone.problems.passes import halves_hopper
from loadstone.problems.passes.devices import MOST_SHARED
from loadstone.problems.passes.filling import filled_pass
from loadstone.problems.passes.guessed_levels import LARGEST, are_bad, guessed_levels
from loadstone.problems.recall import Recall, Slope, mean_output


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
    first = _run(True)(counts, queries, outputs, targets, levels - LARGEST)
    top = jnp.maximum(first[0], first[1])
    bad = are_bad(levels, top, jnp.arange(len(queries)) < counts[0])
    # The bad ones come first in the second run; of its other rows nothing is read.
    rows = jnp.nonzero(bad, size=len(bad), fill_value=0)[0]
    number = jnp.stack([bad.sum(dtype=jnp.int32), counts[1]])
    again = _run(False)(number, queries[rows], outputs, targets[rows], top[rows] - LARGEST)
    place = jnp.where(bad, jnp.cumsum(bad) - 1, 0)
    total, weighed = (_chosen(bad, new[place], old) for new, old in zip(again[2:], first[2:]))
    shift = jnp.where(bad, top, levels) - LARGEST
    pull = mean_output(weighed, total, outputs[targets].astype(jnp.float32))
    return Recall(first[0], first[1], shift + jnp.log(total), pull)


def _chosen(bad: Bool[Array, "rows"], new: Float[Array, "rows *k"], old: Float[Array, "rows *k"]) -> Array:
    return jnp.where(bad.reshape(-1, *[1] * (new.ndim - 1)), new, old)


@functools.cache
def _run(shared: bool) -> Callable[..., tuple[Array, ...]]:
    """The kernel for one problem; a batch is done in one launch, because a small problem alone would leave most of the
    chip idle."""

    @jax.custom_batching.custom_vmap
    def one(*operands):
        return tuple(part[0] for part in halves_hopper.batch_weighed(*(part[None] for part in operands), shared=shared))

    @one.def_vmap
    def several(size, batched, *operands):
        whole = [part if has else jnp.broadcast_to(part, (size, *part.shape)) for part, has in zip(operands, batched)]
        return tuple(halves_hopper.batch_weighed(*whole, shared=shared)), (True,) * 4

    return one
