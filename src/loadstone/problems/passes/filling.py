"""Arrays for kernels on a Hopper GPU, float16 and filled up with zeros to whole blocks, and the pass around a kernel
that takes such arrays."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Float16, Int, Int32

from loadstone.arguments import refuse
from loadstone.problems.passes.devices import MOST_SCORES
from loadstone.problems.passes.shapes import check_shared
from loadstone.problems.recall import Recall, Slope

#: Queries and outputs come in multiples of this.
ROWS = 128
#: Components come in multiples of this.
WIDTH = 64

#: From queries, outputs, targets, and how many queries and outputs count, to the recall, all of them filled up.
FilledRecall = Callable[[Array, Array, Array, Array], Recall]


def filled(matrix: Float[Array, "n d"], rows: int, width: int = WIDTH) -> Float16[Array, "more wider"]:
    """The matrix in float16, with zeros up to the next multiples of `rows` and `width`."""
    n, d = matrix.shape
    return jnp.pad(matrix.astype(jnp.float16), ((0, -n % rows), (0, -d % width)))


def counted(n: int, m: int, count: Int[Array, ""] | None) -> Int32[Array, "2"]:
    """How many of n queries and of m outputs count: all, or the first `count` of both."""
    whole = jnp.asarray([n, m], jnp.int32)
    return whole if count is None else jnp.clip(count.astype(jnp.int32), 0, whole)


def cut(found: Recall, n: int, d: int) -> Recall:
    """The recall without what was filled up."""
    return Recall(found.target[:n], found.rival[:n], found.logsumexp[:n], found.pull[:n, :d])


def filled_pass(
    queries: Float[Array, "n d"],
    outputs: Float[Array, "m d"],
    targets: Int[Array, "n"],
    count: Int[Array, ""] | None,
    most: int,
    recall_of: FilledRecall,
) -> tuple[Recall, Slope]:
    """Every query against the same outputs, of at most `most` components; only the first `count` of both if given."""
    check_shared(queries, outputs, targets)
    (n, d), m = queries.shape, outputs.shape[0]
    if d > most or n * m > MOST_SCORES:
        allowed = f"at most {most} components, and at most {MOST_SCORES} scores in all"
        raise refuse("queries.shape", queries.shape, allowed)
    queries, outputs, targets = filled(queries, ROWS), filled(outputs, ROWS), targets.astype(jnp.int32)
    found = recall_of(queries, outputs, jnp.pad(targets, (0, len(queries) - n)), counted(n, m, count))
    recall = cut(found, n, d)
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)
