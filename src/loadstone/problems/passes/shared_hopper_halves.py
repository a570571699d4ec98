"""The pass over shared outputs of 257 to 512 components on a Hopper GPU, around the kernel in halves_hopper.py.

The kernel needs a level for each query before its scores are known, so levels are guessed (guessed_levels.py). If a
guess turns out to be far off, the kernel runs once more with the levels that are known then; otherwise this second run
has nothing to do. No decision is left to the host, which would have to wait for the GPU.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Int32

from loadstone.arguments import refuse
from loadstone.problems.passes import halves_hopper
from loadstone.problems.passes.devices import MOST_SCORES, MOST_SHARED
from loadstone.problems.passes.filled import filled, up
from loadstone.problems.passes.guessed_levels import LARGEST, are_good, guessed_levels
from loadstone.problems.passes.shapes import check_shared
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
    check_shared(queries, outputs, targets)
    (n, d), m = queries.shape, outputs.shape[0]
    if d > MOST_SHARED or n * m > MOST_SCORES:
        allowed = f"at most {MOST_SHARED} components, and at most {MOST_SCORES} scores in all"
        raise refuse("queries.shape", queries.shape, allowed)
    asked, competing = (jnp.asarray(most if count is None else jnp.clip(count, 0, most), jnp.int32) for most in (n, m))
    width = up(d, halves_hopper.WIDTH)
    queries, outputs = (filled(part, up(len(part), halves_hopper.ROWS), width) for part in (queries, outputs))
    targets = targets.astype(jnp.int32)
    indices = jnp.pad(targets, (0, len(queries) - n))
    counted = jnp.arange(len(queries)) < asked
    levels = guessed_levels(queries, outputs, indices, asked, competing)

    def run(asked: Int32[Array, ""], levels: Float[Array, "rows"], whole: int) -> tuple[Array, ...]:
        counts = jnp.stack([asked, competing, jnp.int32(whole), jnp.int32(0)])
        return _one(counts, queries, outputs, indices, levels - LARGEST)

    first = run(asked, levels, 0)
    top = jnp.maximum(first[0], first[1])
    good = are_good(levels, top, counted)
    again = run(jnp.where(good, 0, asked), top, 1)
    target, rival, total, pull = (jnp.where(good, *both)[:n] for both in zip(first, again))
    logsumexp = jnp.where(good, levels, top)[:n] - LARGEST + jnp.log(total)
    recall = Recall(target, rival, logsumexp, pull[:, :d] / total[:, None])
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)


@jax.custom_batching.custom_vmap
def _one(counts, queries, outputs, targets, shifts):
    operands = (part[None] for part in (counts, queries, outputs, targets, shifts))
    return tuple(part[0] for part in halves_hopper.batch_weighed(*operands))


@_one.def_vmap
def _several(size, batched, *operands):
    """A batch is done in one launch: one small problem alone would leave most of the chip idle."""
    whole = [part if has else jnp.broadcast_to(part, (size, *part.shape)) for part, has in zip(operands, batched)]
    return tuple(halves_hopper.batch_weighed(*whole)), (True,) * 4
