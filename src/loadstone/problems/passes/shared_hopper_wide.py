"""The pass over shared outputs of more than 512 components on a Hopper GPU, in float16 (weighed_blocks.py)."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from loadstone.problems.passes.filling import counted, cut, filled
from loadstone.problems.passes.guessed_levels import guessed_levels
from loadstone.problems.passes.shapes import check_shared
from loadstone.problems.passes.weighed_blocks import Products, block_rows, recall_of_blocks
from loadstone.problems.passes.weights_hopper import SLICE, TILE
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
    counts = counted(len(queries), len(outputs), count)
    # Problems of this size fill the chip one by one.
    one_by_one = jax.custom_batching.sequential_vmap(functools.partial(_one, block=block))
    return one_by_one(queries, outputs, targets.astype(jnp.int32), counts)


def _one(queries, outputs, targets, counts, block):
    n, d = queries.shape
    rows = block_rows(n, -(-d // SLICE) * SLICE, block)
    queries, outputs = filled(queries, rows, SLICE), filled(outputs, TILE, SLICE)
    indices = jnp.pad(targets, (0, len(queries) - n))
    levels = guessed_levels(queries, outputs, indices, counts[0], counts[1])
    products = Products(queries, outputs, jnp.float32(1), outputs)
    recall = cut(recall_of_blocks(products, indices, levels, counts, rows, exact=False), n, d)
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)
