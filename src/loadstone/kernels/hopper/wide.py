"""The pass over shared outputs of more than 512 components on a Hopper GPU, in float16 (hopper/weighed_blocks.py)."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from loadstone.kernels.hopper.arrays import cut, filled, filled_answers
from loadstone.kernels.hopper.levels import guessed_levels
from loadstone.kernels.hopper.weighed_blocks import Products, block_rows, one_by_one, recall_of_blocks
from loadstone.kernels.hopper.wide_kernel import SLICE, TILE
from loadstone.kernels.recall import Recall, Slope


def shared_pass(
    queries: Float[Array, "n d"],
    outputs: Float[Array, "m d"],
    targets: Int[Array, "n"],
    precision: str,
    block: int,
    count: Int[Array, ""] | None = None,
) -> tuple[Recall, Slope]:
    """Every query against the same outputs, in float16; only the first `count` of both if given."""
    return one_by_one(_one, queries, outputs, targets, block, count)


def _one(queries, outputs, targets, counts, block):
    n, d = queries.shape
    rows = block_rows(n, -(-d // SLICE) * SLICE, block)
    queries, outputs = filled(queries, rows, SLICE), filled(outputs, TILE, SLICE)
    answers = filled_answers(outputs, targets, len(queries), counts)
    levels = guessed_levels(queries, answers)
    products = Products(queries, outputs, jnp.float32(1), outputs)
    recall = cut(recall_of_blocks(products, answers.targets, levels, counts, rows, exact=False), n, d)
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)
