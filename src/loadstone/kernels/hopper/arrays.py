"""Arrays for kernels on a Hopper GPU, float16 and filled up with zeros to whole blocks, and the pass around a kernel
that takes such arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Float16, Int, Int32

from loadstone.arguments import refuse
from loadstone.kernels.devices import MOST_SCORES
from loadstone.kernels.recall import Recall, Slope
from loadstone.kernels.shapes import check_shared

#: Queries come in multiples of this.
ROWS = 128
#: Outputs come in as many equal parts of whole such blocks: several workers can share few queries.
SLICES = 8
#: Levels are guessed from so many of the queries.
_FEW = 64
#: Components come in multiples of this.
WIDTH = 64


class Answers(NamedTuple):
    """What queries are compared with, filled up.

    own: the output of each query's target.
    outputs: all outputs.
    targets: the index of each target among them.
    counts: how many of the queries and of the outputs count.
    few: a few of the queries that count, from everywhere: facts may be sorted.
    rivals: of each of these, which outputs count and are not its target.
    """

    own: Float16[Array, "rows width"]
    outputs: Float16[Array, "columns width"]
    targets: Int32[Array, "rows"]
    counts: Int32[Array, "2"]
    few: Int32[Array, "few"]
    rivals: Bool[Array, "few columns"]


#: From queries and answers, filled up, to the recall and the slopes; rows that do not count are arbitrary.
FilledRecall = Callable[[Float16[Array, "rows width"], Answers], tuple[Recall, Slope]]


def filled(matrix: Float[Array, "n d"], rows: int, width: int = WIDTH) -> Float16[Array, "more wider"]:
    """The matrix in float16, with zeros up to the next multiples of `rows` and `width`."""
    n, d = matrix.shape
    return jnp.pad(matrix.astype(jnp.float16), ((0, -n % rows), (0, -d % width)))


def counted(n: int, m: int, count: Int[Array, ""] | None) -> Int32[Array, "2"]:
    """How many of n queries and of m outputs count: all, or the first `count` of both."""
    whole = jnp.asarray([n, m], jnp.int32)
    return whole if count is None else jnp.clip(count.astype(jnp.int32), 0, whole)


def answers(
    outputs: Float[Array, "m d"], targets: Int[Array, "n"], rows: int, count: Int[Array, ""] | None
) -> Answers:
    """The answers of n facts, filled up to so many rows; only the first `count` facts and outputs count if given."""
    columns = filled(outputs, ROWS * SLICES)
    return filled_answers(columns, targets, rows, counted(len(targets), len(outputs), count))


def filled_answers(
    outputs: Float16[Array, "columns width"], targets: Int[Array, "n"], rows: int, counts: Int32[Array, "2"]
) -> Answers:
    """The same, for outputs that are filled up already."""
    indices = jnp.pad(targets.astype(jnp.int32), (0, rows - len(targets)))
    few, column = jnp.arange(_FEW, dtype=jnp.int32) * jnp.maximum(counts[0], 1) // _FEW, jnp.arange(len(outputs))[None]
    rivals = (column < counts[1]) & (column != indices[few, None])
    return Answers(outputs[indices], outputs, indices, counts, few, rivals)


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
    rows = filled(queries, ROWS)
    recall, slope = recall_of(rows, answers(outputs, targets, len(rows), count))
    return cut(recall, n, d), slope[:n, :d]
