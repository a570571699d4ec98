"""The pass over shared outputs of 257 to 512 components on a Hopper GPU, around the kernel in halves_hopper.py.

The kernel needs a level for each query before its scores are known, so levels are guessed (guessed_levels.py). If a
guess turns out to be far off, the kernel runs once more with the levels that are known then; otherwise this second run
has nothing to do. No decision is left to the host, which would have to wait for the GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float16, Int, Int32

from loadstone.problems.passes import halves_hopper
from loadstone.problems.passes.devices import MOST_SHARED
from loadstone.problems.passes.filling import filled_pass
from loadstone.problems.passes.guessed_levels import LARGEST, are_good, guessed_levels
from loadstone.problems.recall import Recall, Slope


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

    def run(counts: Int32[Array, "2"], levels: Float[Array, "rows"], shared: bool) -> tuple[Array, ...]:
        return _run(shared)(counts, queries, outputs, targets, levels - LARGEST)

    first = run(counts, levels, True)
    top = jnp.maximum(first[0], first[1])
    good = are_good(levels, top, jnp.arange(len(queries)) < counts[0])
    again = run(jnp.where(good, 0, counts), top, False)
    target, rival, total, pull = (jnp.where(good, *both) for both in zip(first, again))
    return Recall(target, rival, jnp.where(good, levels, top) - LARGEST + jnp.log(total), pull / total[:, None])


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
