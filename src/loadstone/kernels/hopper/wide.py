"""The pass over shared outputs on a Hopper GPU as two large products, with the softmax between them done where the
scores are made: for more than 512 components in float16, and for split numbers with any number of components.

The pull of a query with many components does not fit into registers beside its scores, so it is a product of its own:
weights times outputs. The weights exp(score - level), in float16, come from the kernel in wide_kernel.py, so two bytes
for each score go to memory and back. Queries are done a block at a time.

The level of a query must be known before its scores are: it is guessed (hopper/levels.py). Queries of a block for
which the guess is not good are done once more with the levels that are known then: they alone if they are few, which
is the rule, otherwise the whole block.

Split numbers are for searches that have run out of digits in float16. Numbers of queries and outputs are split into two
of float16 each, as in shared_split.py, and laid beside each other: high, high and low parts of a query meet high, low
and high parts of an output, so one product of float16 with three times the components makes scores of 22 bits. Weights
and what they pull have 11 bits: such a search lacks digits in the differences of large scores, not in a derivative that
is known to a few parts in ten thousand. With this pass it takes as many passes as with 22 bits everywhere.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Float16, Int, Int32

from loadstone.kernels.hopper import wide_kernel
from loadstone.kernels.hopper.arrays import arrays_of_padded, counted, cut, padded
from loadstone.kernels.hopper.levels import LARGEST, are_bad, guessed_levels
from loadstone.kernels.hopper.wide_kernel import ROWS, SLICE, TILE, Weighed
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.products import split
from loadstone.kernels.recall import Recall, Slope, weighed_slope

#: Queries of a block: with fewer bytes than this they stay in the cache while all outputs pass.
_CACHED_BYTES = 25 * 10**6
#: At most one query in this many of a block counts as few.
_FEW = 16


class Products(NamedTuple):
    """What the two products of a pass take, padded with zeros.

    queries, outputs: their products are the scores.
    unit: of the scores.
    pulled: the outputs that are summed with weights.
    """

    queries: Float16[Array, "rows width"]
    outputs: Float16[Array, "m width"]
    unit: Float[Array, ""]
    pulled: Float16[Array, "m columns"]


def shared_pass(queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Every query against the same outputs. Problems of a batch are done one after another: problems of this size fill
    the chip alone."""
    alone = _split_pass if precision == "split" else _float16_pass
    each = jax.custom_batching.sequential_vmap(functools.partial(alone, block=outputs.block))
    return each(queries, outputs.array, outputs.targets.astype(jnp.int32), counted(outputs))


def _float16_pass(queries, outputs, targets, counts, block):
    n, d = queries.shape
    rows = block_rows(n, -(-d // SLICE) * SLICE, block)
    queries, outputs = padded(queries, rows, SLICE), padded(outputs, TILE, SLICE)
    arrays = arrays_of_padded(outputs, targets, len(queries), counts)
    levels = guessed_levels(queries, arrays)
    products = Products(queries, outputs, jnp.float32(1), outputs)
    recall = cut(recall_of_blocks(products, arrays.targets, levels, counts, rows, exact=False), n, d)
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)


def _split_pass(queries, outputs, targets, counts, block):
    n, d = queries.shape
    rows = block_rows(n, -(-3 * d // SLICE) * SLICE, block)
    (high, low, unit), (their_high, their_low, their_unit) = split(queries), split(outputs)
    sides = padded(jnp.concatenate([high, high, low], axis=1), rows, SLICE)
    theirs = padded(jnp.concatenate([their_high, their_low, their_high], axis=1), TILE, SLICE)
    pulled = padded(their_high, TILE, SLICE)
    arrays = arrays_of_padded(pulled, targets, len(sides), counts)
    products = Products(sides, theirs, unit * their_unit, pulled)
    levels = guessed_levels(padded(high, rows, SLICE), arrays) * products.unit
    units = cut(recall_of_blocks(products, arrays.targets, levels, counts, rows, exact=True), n, d)
    recall = Recall(units.target, units.rival, units.logsumexp, units.pull * their_unit)
    return recall, recall.pull - their_high[targets].astype(jnp.float32) * their_unit


def recall_of_blocks(
    products: Products,
    targets: Int32[Array, "rows"],
    levels: Float[Array, "rows"],
    counts: Int32[Array, "2"],
    block: int,
    exact: bool,
) -> Recall:
    """The first counts[0] queries against the first counts[1] outputs, `block` queries at a time, of which the rows are
    a multiple; other rows are arbitrary. If `exact`, the log-sum-exp is that of the weights before they are rounded."""
    length, columns = len(products.queries), products.pulled.shape[1]

    def fill(index: Int[Array, ""], whole: Recall) -> Recall:
        first = index * block
        parts = products.queries, targets, levels
        some, theirs, guess = (lax.dynamic_slice_in_dim(part, first, block) for part in parts)
        inside = first + jnp.arange(block) < counts[0]
        of_block = _block_recall(products, some, theirs, guess, inside, counts[1], exact)
        return Recall(*(lax.dynamic_update_slice_in_dim(w, p, first, 0) for w, p in zip(whole, of_block)))

    empty = jnp.zeros(length, jnp.float32)
    whole = Recall(empty, empty, empty, jnp.zeros((length, columns), jnp.float32))
    return lax.fori_loop(0, lax.div(counts[0] + (block - 1), block), fill, whole)


def _block_recall(
    products: Products,
    queries: Float16[Array, "block width"],
    targets: Int32[Array, "block"],
    levels: Float[Array, "block"],
    inside: Bool[Array, "block"],
    count: Int32[Array, ""],
    exact: bool,
) -> Recall:
    def weights(rows: Int[Array, "rows"] | slice, levels: Float[Array, "rows"]) -> Weighed:
        some = queries[rows], products.outputs, targets[rows], levels - LARGEST
        return wide_kernel.block_weights(*some, count, products.unit, exact)

    def summed(
        seen: Weighed, rows: Int[Array, "rows"] | slice, levels: Float[Array, "rows"]
    ) -> tuple[Float[Array, "rows"], Float[Array, "rows k"]]:
        weighed = jnp.matmul(seen.weights, products.pulled, preferred_element_type=jnp.float32)
        own = products.pulled[targets[rows]].astype(jnp.float32)
        pull = own + weighed_slope(weighed, seen.total, own)
        return levels - LARGEST + jnp.log(seen.exact_total), pull

    every = slice(None)
    first = weights(every, levels)
    top = jnp.maximum(first.target, first.rival)
    bad = are_bad(levels, top, inside)
    few = _up(len(queries) // _FEW, ROWS)

    def with_few_again() -> tuple[Float[Array, "rows"], Float[Array, "rows k"]]:
        rows = jnp.nonzero(bad, size=few, fill_value=len(bad))[0]
        (logsumexp, pull), again = summed(first, every, levels), summed(weights(rows, top[rows]), rows, top[rows])
        return logsumexp.at[rows].set(again[0], mode="drop"), pull.at[rows].set(again[1], mode="drop")

    ways = lambda: summed(first, every, levels), with_few_again, lambda: summed(weights(every, top), every, top)
    number = bad.sum()
    logsumexp, pull = lax.switch((number > 0).astype(jnp.int32) + (number > few), ways)
    return Recall(first.target, first.rival, logsumexp, pull)


def block_rows(n: int, width: int, block: int) -> int:
    """Queries of a block: as many as stay in the cache, and whose weights take no more memory than the scores of
    `block` queries and what is made of them would in XLA; blocks of equal size."""
    most = max(1, min(_CACHED_BYTES // (2 * width), 6 * block) // ROWS) * ROWS
    return _up(-(-n // -(-n // most)), ROWS)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
