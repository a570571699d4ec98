"""The pass over shared outputs with every number split into two of float16, for GPUs: 22 bits instead of 11.

A number is its rounded value in float16 and what that leaves, rounded again. Of the four products of two such numbers
the last does not count, so three products of float16, which a GPU does very fast, take the place of one of float32,
which it does slowly. This is what a search needs that has run out of digits in float16.
"""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Float16

from loadstone.compiling import one_program
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.products import halves, split
from loadstone.kernels.recall import Recall, Slope, target_and_rival
from loadstone.kernels.shared_xla import over_blocks

#: Outputs are padded to a multiple of this, and components to a multiple of the other, which the products need.
_ROWS, _WIDTH = 128, 8
#: Weights lie between 0 and 1. In float16 small ones have more digits if all are multiplied by this.
_WEIGHT_UNIT = 2.0**-9


@partial(one_program, static_argnames="precision")
def shared_pass(queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Every query against the same outputs, some queries at a time."""
    (n, d), m, targets, count = queries.shape, outputs.array.shape[0], outputs.targets, outputs.count
    high, low, unit = split(outputs.array)
    for_scores, for_pull = _laid_out(high, low)
    competing = m if count is None else jnp.minimum(count, m)
    queries_high, queries_low, queries_unit = split(queries)
    # A row of the outputs has parts (high, high, low), so this is high high + high low + low high.
    sides = _wide(queries_high, queries_low, queries_high)

    def recall_rows(start: int, rows: int) -> Recall:
        target, some = (lax.dynamic_slice_in_dim(part, start, rows) for part in (targets, sides))
        scores = _product(for_scores, some, ((1,), (1,))) * (unit * queries_unit)
        scores = jnp.where(jnp.arange(scores.shape[0])[:, None] < competing, scores, -jnp.inf)
        target_score, rival = target_and_rival(scores, target, axis=0)
        top = jnp.maximum(target_score, rival)
        weights_high, weights_low = halves(jnp.exp(scores - top[None, :]) / _WEIGHT_UNIT)
        both = _product(for_pull, weights_high, ((1,), (0,)))
        rest = _product(for_pull[: d + 1], weights_low, ((1,), (0,)))
        total = both[d] + rest[d]
        pull = (both[:d] + both[d + 1 : 2 * d + 1] + rest[:d]) * (unit / total[None, :])
        return Recall(target_score, rival, top + jnp.log(total * _WEIGHT_UNIT), pull.T)

    recall = over_blocks(recall_rows, n, d, jnp.float32, outputs.block, count)
    own = (high[targets].astype(jnp.float32) + low[targets].astype(jnp.float32)) * unit
    return recall, recall.pull - own


def _laid_out(
    high: Float16[Array, "m d"], low: Float16[Array, "m d"]
) -> tuple[Float16[Array, "more wide"], Float16[Array, "rows more"]]:
    """The outputs as the products take them, padded with zeros: for scores high, high and low parts, one output a row;
    for the pull high parts and low parts, one component a row, with a row of ones between them."""
    m, d = high.shape
    more = ((0, -m % _ROWS), (0, 0))
    high, low = (jnp.pad(part, more) for part in (high, low))
    ones = jnp.ones((1, len(high)), jnp.float16)
    rows = jnp.concatenate([high.T, ones, low.T])
    return _wide(high, high, low), jnp.pad(rows, ((0, -len(rows) % _WIDTH), (0, 0)))


def _wide(*parts: Float16[Array, "n d"]) -> Float16[Array, "n wide"]:
    """Parts beside each other, padded with zeros."""
    wide = jnp.concatenate(parts, axis=1)
    return jnp.pad(wide, ((0, 0), (0, -wide.shape[1] % _WIDTH)))


def _product(
    a: Float16[Array, "..."], b: Float16[Array, "..."], over: tuple[tuple[int], tuple[int]]
) -> Float[Array, "..."]:
    return lax.dot_general(a, b, (over, ((), ())), preferred_element_type=jnp.float32)
