"""The pass over shared outputs on a Hopper GPU whose scores have 22 bits, for searches that have run out of digits in
float16 (hopper/weighed_blocks.py).

Numbers of queries and outputs are split into two of float16 each, as in shared_split.py, and laid beside each other:
high, high and low parts of a query meet high, low and high parts of an output, so one product of float16 with three
times the components makes the scores. Weights and what they pull have 11 bits: such a search lacks digits in the
differences of large scores, not in a derivative that is known to a few parts in ten thousand. With this pass it takes
as many passes as with 22 bits everywhere.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from loadstone.kernels.hopper.arrays import cut, filled, filled_answers
from loadstone.kernels.hopper.levels import guessed_levels
from loadstone.kernels.hopper.weighed_blocks import Products, block_rows, one_by_one, recall_of_blocks
from loadstone.kernels.hopper.wide_kernel import SLICE, TILE
from loadstone.kernels.products import split
from loadstone.kernels.recall import Recall, Slope


def shared_pass(
    queries: Float[Array, "n d"],
    outputs: Float[Array, "m d"],
    targets: Int[Array, "n"],
    precision: str,
    block: int,
    count: Int[Array, ""] | None = None,
) -> tuple[Recall, Slope]:
    """Every query against the same outputs; only the first `count` of both if given."""
    return one_by_one(_one, queries, outputs, targets, block, count)


def _one(queries, outputs, targets, counts, block):
    n, d = queries.shape
    rows = block_rows(n, -(-3 * d // SLICE) * SLICE, block)
    (high, low, unit), (their_high, their_low, their_unit) = split(queries), split(outputs)
    sides = filled(jnp.concatenate([high, high, low], axis=1), rows, SLICE)
    theirs = filled(jnp.concatenate([their_high, their_low, their_high], axis=1), TILE, SLICE)
    pulled = filled(their_high, TILE, SLICE)
    answers = filled_answers(pulled, targets, len(sides), counts)
    products = Products(sides, theirs, unit * their_unit, pulled)
    levels = guessed_levels(filled(high, rows, SLICE), answers) * products.unit
    found = cut(recall_of_blocks(products, answers.targets, levels, counts, rows, exact=True), n, d)
    recall = Recall(found.target, found.rival, found.logsumexp, found.pull * their_unit)
    return recall, recall.pull - their_high[targets].astype(jnp.float32) * their_unit
