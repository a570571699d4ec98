"""Arrays for kernels on a Hopper GPU, in float16 and padded with zeros to whole blocks, and the pass around a kernel
that takes such arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Float16, Int, Int32, Shaped

from loadstone.arguments import refuse
from loadstone.kernels.devices import MOST_SCORES
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.recall import Recall, Slope

#: Queries are padded to a multiple of this.
ROWS = 128
#: Outputs are padded to this many equal parts of whole blocks, so that several workers can share few queries.
SLICES = 8
#: Levels are guessed from this many of the queries.
_FEW = 64
#: Components are padded to a multiple of this.
WIDTH = 64
#: exp(x) is exp2(LOG2E x).
LOG2E = math.log2(math.e)
#: JAX 0.10 needs an index with a reference, later versions warn about one.
WHOLE = {"idx": ()} if jax.__version_info__ < (0, 11) else {}


class OutputArrays(NamedTuple):
    """The outputs that queries are compared with, padded.

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


#: From padded queries and outputs to the recall and the slopes; rows that do not count are arbitrary.
RecallOfArrays = Callable[[Float16[Array, "rows width"], OutputArrays], tuple[Recall, Slope]]


def padded(matrix: Float[Array, "n d"], rows: int, width: int = WIDTH) -> Float16[Array, "more wider"]:
    """The matrix in float16, with zeros up to the next multiples of `rows` and `width`."""
    n, d = matrix.shape
    return jnp.pad(matrix.astype(jnp.float16), ((0, -n % rows), (0, -d % width)))


def counted(outputs: SharedOutputs) -> Int32[Array, "2"]:
    """How many of the queries and of the outputs count."""
    whole = jnp.asarray([len(outputs.targets), len(outputs.array)], jnp.int32)
    return whole if outputs.count is None else jnp.clip(outputs.count.astype(jnp.int32), 0, whole)


def output_arrays(outputs: SharedOutputs, rows: int) -> OutputArrays:
    """The outputs, padded, for queries that are padded to `rows` rows."""
    return arrays_of_padded(padded(outputs.array, ROWS * SLICES), outputs.targets, rows, counted(outputs))


def arrays_of_padded(
    outputs: Float16[Array, "columns width"], targets: Int[Array, "n"], rows: int, counts: Int32[Array, "2"]
) -> OutputArrays:
    """`output_arrays` for outputs that are padded already."""
    indices = jnp.pad(targets.astype(jnp.int32), (0, rows - len(targets)))
    few, column = jnp.arange(_FEW, dtype=jnp.int32) * jnp.maximum(counts[0], 1) // _FEW, jnp.arange(len(outputs))[None]
    rivals = (column < counts[1]) & (column != indices[few, None])
    return OutputArrays(outputs[indices], outputs, indices, counts, few, rivals)


def check_padded(
    counts: Int32[Array, "batch 2"],
    queries: Float16[Array, "batch n width"],
    outputs: Float16[Array, "batch m width"],
    *numbers: Shaped[Array, "batch n"],
) -> None:
    """Refuse what a kernel would read beyond the end of: it takes whole blocks of padded arrays."""
    (batch, n, width), m = queries.shape, outputs.shape[1]
    whole = n % ROWS == m % ROWS == width % WIDTH == 0 and min(batch, n, m, width) > 0
    alike = outputs.shape[::2] == (batch, width) and all(part.shape == (batch, n) for part in numbers)
    if not whole or not alike or counts.shape != (batch, 2):
        shapes = tuple(part.shape for part in (queries, outputs, *numbers, counts))
        raise refuse("shapes", shapes, "those of padded arrays")


def cut(recall: Recall, n: int, d: int) -> Recall:
    """The recall without the padding."""
    return Recall(recall.target[:n], recall.rival[:n], recall.logsumexp[:n], recall.pull[:n, :d])


def pass_of_arrays(
    queries: Float[Array, "n d"], outputs: SharedOutputs, most: int, recall_of: RecallOfArrays
) -> tuple[Recall, Slope]:
    """Every query against the same outputs, of at most `most` components, by a kernel that takes padded arrays."""
    (n, d), m = queries.shape, outputs.array.shape[0]
    if d > most or n * m > MOST_SCORES:
        allowed = f"at most {most} components, and at most {MOST_SCORES} scores in all"
        raise refuse("queries.shape", queries.shape, allowed)
    rows = padded(queries, ROWS)
    recall, slope = recall_of(rows, output_arrays(outputs, len(rows)))
    return cut(recall, n, d), slope[:n, :d]
