"""The pass over decoupled outputs in XLA: one matrix-vector product each way for each association.

Outputs of association mu are stored as (d, m), competitors along the minor axis: this order reads fastest on a CPU,
where the pass is bound by memory, and a block can be made from its counters without a transposition.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from loadstone.compiling import one_program
from loadstone.kernels.outputs import RegeneratedOutputs, StoredOutputs
from loadstone.kernels.products import product, rounded
from loadstone.kernels.recall import Recall, Slope, target_and_rival
from loadstone.kernels.shared_xla import over_blocks
from loadstone.streams.embeddings import decoupled_vectors

_QUERY_WITH_OUTPUTS = (((1,), (1,)), ((0,), (0,)))
_OUTPUTS_WITH_WEIGHTS = (((2,), (1,)), ((0,), (0,)))
#: For how many associations outputs are regenerated, or converted to float32, at a time.
ROWS_AT_A_TIME = 4


@partial(one_program, static_argnames="precision")
def stored_pass(queries: Float[Array, "rows d"], outputs: StoredOutputs, precision: str) -> tuple[Recall, Slope]:
    """Each query against its outputs, which are stored."""
    (rows, d), array = queries.shape, outputs.array
    # A float32 part is read in place. A float16 part is converted in small pieces, if at all: a float32 copy of the
    # whole part would take the memory that float16 saves.
    in_place = array.dtype == queries.dtype or precision == "float16"

    def recall_rows(start: int, size: int) -> Recall:
        targets = outputs.first + start + jnp.arange(size, dtype=jnp.int32)
        piece = array if size == rows else jax.lax.dynamic_slice_in_dim(array, start, size)
        own_queries = jax.lax.dynamic_slice_in_dim(queries, start, size)
        return decoupled_recall(own_queries, piece, targets, precision, outputs.count)

    recall = over_blocks(recall_rows, rows, d, queries.dtype, rows if in_place else ROWS_AT_A_TIME)
    kept = outputs.target_outputs.astype(array.dtype).astype(queries.dtype)
    return recall, recall.pull - rounded(kept, precision)


@partial(one_program, static_argnames="precision")
def regenerated_pass(queries: Float[Array, "n d"], outputs: RegeneratedOutputs, precision: str) -> tuple[Recall, Slope]:
    """Each query against its outputs, which are made from their counters for a few associations at a time."""
    n, d = queries.shape

    def recall_rows(start: int, rows: int) -> Recall:
        targets = outputs.first + start + jnp.arange(rows, dtype=jnp.int32)
        piece = decoupled_vectors(outputs.key, targets.astype(jnp.uint32), outputs.competitors, d, outputs.law)
        own_queries = jax.lax.dynamic_slice_in_dim(queries, start, rows)
        return decoupled_recall(own_queries, piece, targets, precision, outputs.count)

    recall = over_blocks(recall_rows, n, d, queries.dtype, ROWS_AT_A_TIME)
    return recall, recall.pull - rounded(outputs.target_outputs.astype(queries.dtype), precision)


@partial(one_program, static_argnames="precision")
def decoupled_recall(
    queries: Float[Array, "b d"],
    outputs: Float[Array, "b d m"],
    targets: Int[Array, "b"],
    precision: str,
    count: Int[Array, ""] | None = None,
) -> Recall:
    """Recall of each query against the outputs of its association, or the first `count` of them."""
    if outputs.dtype != queries.dtype and precision != "float16":
        outputs = outputs.astype(queries.dtype)
    scores = decoupled_scores(queries, outputs, precision)
    if count is not None:
        scores = jnp.where(jnp.arange(scores.shape[1])[None, :] < count, scores, -jnp.inf)
    target, rival = target_and_rival(scores, targets, axis=1)
    top = jnp.maximum(target, rival)
    weights = jnp.exp(scores - top[:, None])
    total = weights.sum(axis=1)
    pull = product(outputs, weights, _OUTPUTS_WITH_WEIGHTS, precision).astype(queries.dtype)
    return Recall(target, rival, top + jnp.log(total), pull / total[:, None])


@partial(one_program, static_argnames="precision")
def decoupled_scores(
    queries: Float[Array, "b d"], outputs: Float[Array, "b d m"], precision: str
) -> Float[Array, "b m"]:
    """Scores of each query against the outputs of its association."""
    return product(queries, outputs, _QUERY_WITH_OUTPUTS, precision)
