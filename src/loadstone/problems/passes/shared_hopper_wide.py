"""The pass over shared outputs of many components on a Hopper GPU: two large products, with the softmax between them
done where the scores are made.

The pull of a query with many components does not fit into registers beside its scores, so it is a product of its own:
weights times outputs. The weights exp(score - level), in float16, come from the kernel in weights_hopper.py, so two
bytes for each score go to memory and back.

The level of a query must be known before its scores are: it is guessed (guessed_levels.py). If the guess is not good
for some query of a block, the block is done once more with the levels that are known then.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Float16, Int, Int32

from loadstone.problems.passes import weights_hopper
from loadstone.problems.passes.filling import cut, filled
from loadstone.problems.passes.guessed_levels import LARGEST, are_good, guessed_levels
from loadstone.problems.passes.shapes import check_shared
from loadstone.problems.passes.weights_hopper import ROWS, SLICE, TILE
from loadstone.problems.recall import Recall, Slope

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
    width = _up(d, SLICE)
    rows = _block_rows(n, width, block)
    queries, outputs = filled(queries, rows, SLICE), filled(outputs, TILE, SLICE)
    length = len(queries)
    indices = jnp.pad(targets, (0, length - n))
    levels = guessed_levels(queries, outputs, indices, asked, competing)

    def fill(index: Int[Array, ""], whole: Recall) -> Recall:
        first = index * rows
        some, theirs, guess = (lax.dynamic_slice_in_dim(each, first, rows) for each in (queries, indices, levels))
        counted = first + jnp.arange(rows) < asked
        found = block_recall(some, outputs, theirs, guess, counted, competing)
        return Recall(*(lax.dynamic_update_slice_in_dim(w, p, first, 0) for w, p in zip(whole, found)))

    empty = jnp.zeros(length, jnp.float32)
    whole = Recall(empty, empty, empty, jnp.zeros((length, width), jnp.float32))
    whole = lax.fori_loop(0, lax.div(asked + (rows - 1), rows), fill, whole)
    recall = cut(whole, n, d)
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)


def block_recall(
    queries: Float16[Array, "rows width"],
    outputs: Float16[Array, "m width"],
    targets: Int32[Array, "rows"],
    levels: Float[Array, "rows"],
    counted: Bool[Array, "rows"],
    count: Int32[Array, ""],
) -> Recall:
    """Recall of the queries of one block. Guessed levels that turn out to be far off are replaced."""

    def weighed(levels: Float[Array, "rows"]) -> tuple[Array, Array, Array, Array]:
        return weights_hopper.block_weights(queries, outputs, targets, levels - LARGEST, count)

    def pulled(weights: Float16[Array, "rows m"], sums: Float[Array, "rows"]) -> Float[Array, "rows width"]:
        return jnp.matmul(weights, outputs, preferred_element_type=jnp.float32) / sums[:, None]

    weights, target, rival, sums = weighed(levels)
    top = jnp.maximum(target, rival)
    good = are_good(levels, top, counted)

    def again():
        weights, _, _, sums = weighed(top)
        return top - LARGEST + jnp.log(sums), pulled(weights, sums)

    logsumexp, pull = lax.cond(good, lambda: (levels - LARGEST + jnp.log(sums), pulled(weights, sums)), again)
    return Recall(target, rival, logsumexp, pull)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _block_rows(n: int, width: int, block: int) -> int:
    """Queries of a block: as many as stay in the cache, and whose weights take no more memory than the scores of
    `block` queries and what is made of them would in XLA; blocks of equal size."""
    most = max(1, min(_CACHED_BYTES // (2 * width), 6 * block) // ROWS) * ROWS
    return _up(-(-n // -(-n // most)), ROWS)
