"""The pass over shared outputs in XLA: two matrix products for each block of rows.

Scores are kept as (outputs, associations of the block): maxima then run over the major axis, and the products read
their operands in the order in memory. The second product also gives the partition sum, from a column of ones added to
the outputs. Only one block of scores exists at a time: memory O(n d + block m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from loadstone.compiling import one_program
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.products import product, rounded
from loadstone.kernels.recall import Recall, Slope, target_and_rival

_MINOR_WITH_MINOR = (((1,), (1,)), ((), ()))
_MINOR_WITH_MAJOR = (((1,), (0,)), ((), ()))


@partial(one_program, static_argnames="precision")
def shared_pass(queries: Float[Array, "n d"], outputs: SharedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Every query against the same outputs, some queries at a time."""
    outputs = replace(outputs, array=outputs.array.astype(queries.dtype))
    recall = shared_recall(queries, outputs, precision)
    return recall, recall.pull - rounded(outputs.array[outputs.targets], precision)


@partial(one_program, static_argnames="precision")
def shared_recall(
    queries: Float[Array, "n d"],
    outputs: SharedOutputs,
    precision: str,
    columns: Int[Array, ""] | None = None,
) -> Recall:
    """The recall alone. `columns`: how many outputs compete, if that is given; then all queries are done."""
    (n, d), array = queries.shape, outputs.array.astype(queries.dtype)
    limit = outputs.count if columns is None else columns
    with_ones = jnp.concatenate([array.T, jnp.ones((1, array.shape[0]), queries.dtype)])

    def recall_rows(start: int, rows: int) -> Recall:
        target = lax.dynamic_slice_in_dim(outputs.targets, start, rows)
        scores = shared_scores(lax.dynamic_slice_in_dim(queries, start, rows), array, precision).T
        if limit is not None:
            scores = jnp.where(jnp.arange(scores.shape[0])[:, None] < limit, scores, -jnp.inf)
        target_score, rival = target_and_rival(scores, target, axis=0)
        top = jnp.maximum(target_score, rival)
        weights = jnp.exp(scores - top[None, :])
        sums = product(with_ones, weights, _MINOR_WITH_MAJOR, precision)
        return Recall(target_score, rival, top + jnp.log(sums[d]), (sums[:d] / sums[d:]).T)

    return over_blocks(recall_rows, n, d, queries.dtype, outputs.block, outputs.count)


@partial(one_program, static_argnames="precision")
def shared_scores(queries: Float[Array, "b d"], outputs: Float[Array, "m d"], precision: str) -> Float[Array, "b m"]:
    """Scores of each query against every output."""
    return product(outputs.astype(queries.dtype), queries, _MINOR_WITH_MINOR, precision).T


def over_blocks(
    recall_rows: Callable[..., Recall],
    n: int,
    d: int,
    dtype: DTypeLike,
    block: int,
    count: Int[Array, ""] | None = None,
) -> Recall:
    """Fill a Recall of n associations, or the first `count`, by `recall_rows(start, rows)`, one block of rows after
    another. Blocks have equal size; the last one is moved back to end at n, so a few rows may be computed twice.
    """
    blocks = -(-n // block)
    rows = -(-n // blocks)
    if blocks == 1:
        return recall_rows(0, n)

    def fill(index: Int[Array, ""], whole: Recall) -> Recall:
        start = jnp.minimum(index * rows, n - rows)
        part = recall_rows(start, rows)
        return Recall(*(lax.dynamic_update_slice_in_dim(w, p, start, 0) for w, p in zip(whole, part)))

    empty = jnp.zeros(n, dtype)
    wanted = blocks if count is None else lax.div(count + (rows - 1), jnp.asarray(rows, count.dtype))
    return lax.fori_loop(0, wanted, fill, Recall(empty, empty, empty, jnp.zeros((n, d), dtype)))
