"""The pass over shared outputs of many components on a Hopper GPU: two large products, with the softmax between them
done where the scores are made.

The pull of a query with many components does not fit into registers beside its scores, so it is a product of its own:
weights times outputs. The weights exp(score - level), in float16, come from the kernel in weights_hopper.py, so two
bytes for each score go to memory and back.

The level of a query must be known before its scores are. It is a guess: the target's score, or, if that is larger, the
best score of the others that the first few queries lead one to expect of a query of this length. The guess is good as
long as the weights fit into float16. If it is not good for some query of a block, the block is done once more with the
levels that are known then.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Float16, Int, Int32

from loadstone.problems.passes import weights_hopper
from loadstone.problems.passes.shapes import check_shared
from loadstone.problems.passes.weights_hopper import ROWS, SLICE, TILE
from loadstone.problems.recall import Recall, Slope

#: The largest weight of a query is about exp(5). A guess may be wrong by so much that it is exp(10.9), where float16
#: ends, or exp(-4), where weights of a millionth of it are still counted.
_LARGEST, _LEAST_OFF, _MOST_OFF = 5.0, -9.0, 5.9
#: Queries of a block: with fewer bytes than this they stay in the cache while all outputs pass.
_CACHED_BYTES = 25 * 10**6


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
    counts = queries.shape[0], outputs.shape[0]
    limits = [jnp.asarray(most if count is None else jnp.clip(count, 0, most), jnp.int32) for most in counts]
    # Problems of this size fill the chip one by one.
    one_by_one = jax.custom_batching.sequential_vmap(functools.partial(_blocks, block=block))
    return one_by_one(queries, outputs, targets.astype(jnp.int32), *limits)


def _blocks(queries, outputs, targets, asked, competing, block):
    """The first `asked` queries against the first `competing` outputs, one block of queries after another."""
    n, d = queries.shape
    width, columns = _up(d, SLICE), _up(outputs.shape[0], TILE)
    rows = _block_rows(n, width, block)
    length = _up(n, rows)
    queries, outputs = _filled(queries, length, width), _filled(outputs, columns, width)
    indices = jnp.pad(targets, (0, length - n))
    height = rival_of_unit_query(queries[:ROWS], outputs, indices[:ROWS], asked, competing)

    def fill(index: Int[Array, ""], whole: Recall) -> Recall:
        first = index * rows
        some, theirs = (lax.dynamic_slice_in_dim(each, first, rows) for each in (queries, indices))
        counted = first + jnp.arange(rows) < asked
        levels = guessed_levels(some, outputs[theirs], height)
        found = block_recall(some, outputs, theirs, levels, counted, competing)
        return Recall(*(lax.dynamic_update_slice_in_dim(w, p, first, 0) for w, p in zip(whole, found)))

    empty = jnp.zeros(length, jnp.float32)
    whole = Recall(empty, empty, empty, jnp.zeros((length, width), jnp.float32))
    whole = lax.fori_loop(0, lax.div(asked + (rows - 1), rows), fill, whole)
    recall = Recall(whole.target[:n], whole.rival[:n], whole.logsumexp[:n], whole.pull[:n, :d])
    return recall, recall.pull - outputs[targets, :d].astype(jnp.float32)


def rival_of_unit_query(
    queries: Float16[Array, "some width"],
    outputs: Float16[Array, "m width"],
    targets: Int32[Array, "some"],
    asked: Int32[Array, ""],
    count: Int32[Array, ""],
) -> Float[Array, ""]:
    """The best score of the others, for a query of length 1: by least squares from some queries, of which the first
    `asked` count."""
    shifts = jnp.zeros(len(queries), jnp.float32)
    _, _, rival, _ = weights_hopper.block_weights(queries, outputs, targets, shifts, count)
    lengths = jnp.where(jnp.arange(len(queries)) < asked, jnp.linalg.norm(queries.astype(jnp.float32), axis=1), 0.0)
    products = jnp.where(jnp.isfinite(rival), rival * lengths, 0.0)  # without another output there is no rival
    return products.sum() / jnp.maximum((lengths**2).sum(), jnp.finfo(jnp.float32).tiny)


def guessed_levels(
    queries: Float16[Array, "n width"], targets: Float16[Array, "n width"], height: Float[Array, ""]
) -> Float[Array, "n"]:
    """About the largest score of each query: that of its target, or `height` for each unit of its length."""
    single = [part.astype(jnp.float32) for part in (queries, targets)]
    return jnp.maximum(jnp.einsum("nd,nd->n", *single), height * jnp.linalg.norm(single[0], axis=1))


def block_recall(
    queries: Float16[Array, "rows width"],
    outputs: Float16[Array, "m width"],
    targets: Int32[Array, "rows"],
    levels: Float[Array, "rows"],
    counted: Bool[Array, "rows"],
    count: Int32[Array, ""],
) -> Recall:
    """Recall of the queries of one block. Guessed levels that turn out to be far off are replaced."""

    def weighed(levels: Float[Array, "rows"]) -> tuple[Array, Array, Array, Array]:
        return weights_hopper.block_weights(queries, outputs, targets, levels - _LARGEST, count)

    def pulled(weights: Float16[Array, "rows m"], sums: Float[Array, "rows"]) -> Float[Array, "rows width"]:
        return jnp.matmul(weights, outputs, preferred_element_type=jnp.float32) / sums[:, None]

    weights, target, rival, sums = weighed(levels)
    top = jnp.maximum(target, rival)
    off = jnp.where(counted, top - levels, 0.0)
    good = jnp.all((off > _LEAST_OFF) & (off < _MOST_OFF))

    def again():
        weights, _, _, sums = weighed(top)
        return top - _LARGEST + jnp.log(sums), pulled(weights, sums)

    logsumexp, pull = lax.cond(good, lambda: (levels - _LARGEST + jnp.log(sums), pulled(weights, sums)), again)
    return Recall(target, rival, logsumexp, pull)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _filled(matrix: Float[Array, "n d"], rows: int, width: int) -> Float16[Array, "rows width"]:
    return jnp.pad(matrix.astype(jnp.float16), ((0, rows - matrix.shape[0]), (0, width - matrix.shape[1])))


def _block_rows(n: int, width: int, block: int) -> int:
    """Queries of a block: as many as stay in the cache, and whose weights take no more memory than the scores of
    `block` queries and what is made of them would in XLA; blocks of equal size."""
    most = max(1, min(_CACHED_BYTES // (2 * width), 6 * block) // ROWS) * ROWS
    return _up(-(-n // -(-n // most)), ROWS)
