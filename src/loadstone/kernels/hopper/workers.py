"""Blocks of queries that workers share: which worker has which part, and how their results are combined.

The steps of all blocks are dealt out in equal shares, one after another (hopper/to_512_kernel.py). Where a share begins
within a block, its worker goes on with what another one began. The first worker of a block writes its results to the
rows of the block, the others beside them; these parts are added where the sums are needed. To write the sums out first,
and read them again, would take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

#: Queries of a block, outputs of a step.
SIZE, STEP = 128, 128


class Weighed(NamedTuple):
    """The results of all workers for each query.

    target, rival: the target's score, and the best of the others.
    total: the sum of all weights exp(score - shift).
    rows: the outputs summed with these weights, over the outputs that the first worker of the query's block has seen.
    parts: of each worker, the same sums over the outputs that it has seen of a block that another worker began.
    first: of each block of queries, which worker has its beginning.
    sharing: of each block, how many workers share it.
    """

    target: Float[Array, "batch n"]
    rival: Float[Array, "batch n"]
    total: Float[Array, "batch n"]
    rows: Float[Array, "batch n width"]
    parts: Float[Array, "batch workers size width"]
    first: Int32[Array, "batch blocks"]
    sharing: Int32[Array, "batch blocks"]


def divided(
    counts: Int32[Array, "2"],
    numbers: Float[Array, "2 3 1 n"],
    rows: Float[Array, "1 n width"],
    part_numbers: Float[Array, "2 3 workers size"],
    part_rows: Float[Array, "workers size width"],
) -> Weighed:
    """The results where workers share blocks. Numbers and rows are those of the first worker of each block, parts those
    of later ones; numbers are those of two warpgroups."""
    # As they are, these few numbers would be worked out again for each number that depends on them.
    first, sharing = lax.optimization_barrier(sharers(counts, rows.shape[1] // SIZE, len(part_rows)))
    beginning = numbers.reshape(2, 3, -1, SIZE)
    second, third = _rest(part_numbers, first, sharing, 2)

    def together(index: int, combine: Callable[[Array, Array], Array], nothing: float) -> Float[Array, "2 1 n"]:
        of_second = jnp.where(sharing[:, None] > 1, second[:, index], nothing)
        of_third = jnp.where(sharing[:, None] > 2, third[:, index], nothing)
        return combine(combine(beginning[:, index], of_second), of_third).reshape(2, 1, -1)

    target, rival = (together(index, jnp.maximum, -jnp.inf) for index in range(2))
    numbers_of_both = of_both(target, rival, together(2, jnp.add, 0.0))
    return Weighed(*numbers_of_both, rows, part_rows[None], first[None], sharing[None])


def undivided(
    target: Float[Array, "batch n"],
    rival: Float[Array, "batch n"],
    total: Float[Array, "batch n"],
    rows: Float[Array, "batch n width"],
    workers: int,
) -> Weighed:
    """The results where workers share nothing, with as many parts as if they did."""
    batch, n, width = rows.shape
    parts, first = jnp.zeros((batch, workers, SIZE, width), rows.dtype), jnp.zeros((batch, n // SIZE), jnp.int32)
    return Weighed(target, rival, total, rows, parts, first, first + 1)


def summed(
    rows: Float[Array, "n width"],
    parts: Float[Array, "workers size width"],
    first: Int32[Array, "blocks"],
    sharing: Int32[Array, "blocks"],
    complete: Bool[Array, "n"],
) -> Float[Array, "n width"]:
    """The outputs summed with weights, for each query of one problem; for those that are complete, just the rows."""
    second, third = (part.reshape(rows.shape) for part in _rest(parts, first, sharing, 0))
    number = jnp.where(complete, 1, jnp.repeat(sharing, SIZE))[:, None]
    return rows + jnp.where(number > 1, second, 0.0) + jnp.where(number > 2, third, 0.0)


def _rest(
    parts: Float[Array, "..."], first: Int32[Array, "blocks"], sharing: Int32[Array, "blocks"], axis: int
) -> tuple[Array, Array]:
    """The parts of each block that a second and a third worker have; arbitrary where there is none."""
    # Where there is no third worker, what has just been read is read again, which takes no time.
    places = first + 1, jnp.where(sharing > 2, first + 2, first + 1)
    second, third = (parts.take(place, axis, mode="clip") for place in places)
    return second, third


def share(worker, queries, count, workers, whole=False):
    """Where the share of a worker begins and ends (counting the steps of all blocks), how many steps a block has, and
    how many workers have a share. No share is smaller than half a block, so no block has more than three workers.

    whole: whether workers take whole blocks only.
    """
    steps, blocks = lax.div(count + (STEP - 1), jnp.int32(STEP)), lax.div(queries + (SIZE - 1), jnp.int32(SIZE))
    # Shares are of steps, or, if only whole blocks are allowed, of blocks.
    parts, unit = (blocks, steps) if whole else (steps * blocks, 1)
    busy = jnp.minimum(jnp.minimum(parts, blocks + lax.div(blocks, jnp.int32(2))), workers)
    least, more = _dealt(parts, busy)
    return *((index * least + jnp.minimum(index, more)) * unit for index in (worker, worker + 1)), steps, busy


def _dealt(parts, busy):
    """How many parts each worker has at least, and how many workers have one more."""
    return lax.div(parts, jnp.maximum(busy, 1)), lax.rem(parts, jnp.maximum(busy, 1))


def sharers(
    counts: Int32[Array, "2"], blocks: int, workers: int
) -> tuple[Int32[Array, "blocks"], Int32[Array, "blocks"]]:
    """For each block of queries, which worker has its beginning, and how many workers share it."""
    *_, steps, busy = share(0, counts[0], counts[1], workers)
    used = lax.div(counts[0] + (SIZE - 1), jnp.int32(SIZE))
    least, more = _dealt(steps * used, busy)

    def holder(step):
        """The worker whose share has a step: the first workers have one more than the others."""
        longer = more * (least + 1)
        among_others = more + (step - longer) // jnp.maximum(least, 1)
        return jnp.where(step < longer, step // (least + 1), among_others)

    block = jnp.arange(blocks, dtype=jnp.int32)
    first, last = holder(block * steps), holder((block + 1) * steps - 1)
    return first, jnp.where(block < used, last - first + 1, 1)


def of_both(
    target: Float[Array, "2 batch n"], rival: Float[Array, "2 batch n"], total: Float[Array, "2 batch n"]
) -> tuple[Float[Array, "batch n"], Float[Array, "batch n"], Float[Array, "batch n"]]:
    """The numbers of each query, from those of two warpgroups for their tiles."""
    return target.max(axis=0), rival.max(axis=0), total.sum(axis=0)
