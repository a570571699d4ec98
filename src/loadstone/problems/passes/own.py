"""The pass when each association has outputs of its own: one matrix-vector product each way.

Outputs of association mu lie as (d, m), competitors along the minor axis: this order reads fastest on a CPU, where
the pass is bound by memory, and lets a block be made from its counters without a transposition.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from loadstone.problems.recall import Recall, contenders, product

_QUERY_WITH_OUTPUTS = (((1,), (1,)), ((0,), (0,)))
_OUTPUTS_WITH_WEIGHTS = (((2,), (1,)), ((0,), (0,)))


def own_recall(
    queries: Float[Array, "b d"],
    outputs: Float[Array, "b d m"],
    targets: Int[Array, "b"],
    precision: str,
    count: Int[Array, ""] | None = None,
) -> Recall:
    """Recall of each query against its own outputs, or the first `count` of them."""
    if outputs.dtype != queries.dtype and precision not in ("float16", "bfloat16"):
        outputs = outputs.astype(queries.dtype)
    scores = own_scores(queries, outputs, precision)
    if count is not None:
        scores = jnp.where(jnp.arange(scores.shape[1])[None, :] < count, scores, -jnp.inf)
    target, rival = contenders(scores, targets, axis=1)
    top = jnp.maximum(target, rival)
    weights = jnp.exp(scores - top[:, None])
    total = weights.sum(axis=1)
    pull = product(outputs, weights, _OUTPUTS_WITH_WEIGHTS, precision).astype(queries.dtype)
    return Recall(target, rival, top + jnp.log(total), pull / total[:, None])


def own_scores(queries: Float[Array, "b d"], outputs: Float[Array, "b d m"], precision: str) -> Float[Array, "b m"]:
    """Scores of each query against its own outputs."""
    return product(queries, outputs, _QUERY_WITH_OUTPUTS, precision)
