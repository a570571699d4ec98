"""The pass of the samplers: how far from W one can go towards V, or away from it, before a margin becomes zero.

All margins of W cos t + V sin t are linear in (cos t, sin t). That of one association and one rival is positive, if it
is so at t = 0, as long as atan(r) - pi/2 < t < atan(r) + pi/2, where r is the ratio margin(V) / margin(W). So of each
association only its largest and its smallest ratio matter. They are found for a block of associations at a time, for W
and V and for all chains together, and no more than a block of scores is held.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from loadstone.problems.decoupled import Stored
from loadstone.problems.facts import Facts
from loadstone.problems.problem import Problem
from loadstone.problems.separate import Separate

#: How many scores are held at a time, by platform.
_SCORES = {"cpu": 2_000_000, "gpu": 200_000_000}


class Ratios(NamedTuple):
    """For each chain and association, over all rivals.

    largest, smallest: of the ratios margin(V) / margin(W).
    margin: the least margin of W.
    """

    largest: Float[Array, "chains n"]
    smallest: Float[Array, "chains n"]
    margin: Float[Array, "chains n"]


class Arc(NamedTuple):
    """The angles t, low < 0 < high, between which W cos t + V sin t stores what W stores."""

    low: Float[Array, "chains"]
    high: Float[Array, "chains"]


def ratios(
    problem: Problem, weights: Float[Array, "chains d d"], directions: Float[Array, "chains d d"]
) -> Ratios:
    """One pass over all competing outputs."""
    n, chains = problem.inputs.shape[0], weights.shape[0]
    both = jnp.concatenate([weights, directions])
    fitting = _SCORES.get(jax.default_backend(), _SCORES["gpu"]) // (2 * chains * problem.competitors)
    blocks = -(-n // max(1, fitting))
    rows = -(-n // blocks)
    if blocks == 1:
        return _of_rows(problem, both, 0, n)

    def fill(index: Int[Array, ""], whole: Ratios) -> Ratios:
        start = jnp.minimum(index * rows, n - rows)  # the last block is moved back to end at n
        part = _of_rows(problem, both, start, rows)
        return Ratios(*(lax.dynamic_update_slice_in_dim(w, p, start, 1) for w, p in zip(whole, part)))

    empty = jnp.zeros((chains, n), weights.dtype)
    return lax.fori_loop(0, blocks, fill, Ratios(empty, empty, empty))


def arc(found: Ratios, count: Int[Array, ""] | int) -> Arc:
    """The arc that the first `count` associations allow. Without any it is a half circle: any arc that does not depend
    on W would do."""
    counted = jnp.arange(found.margin.shape[1])[None, :] < count
    free = jnp.asarray(count) == 0
    largest = jnp.where(counted, found.largest, -jnp.inf).max(axis=1)
    smallest = jnp.where(counted, found.smallest, jnp.inf).min(axis=1)
    low, high = (jnp.arctan(jnp.where(free, 0, ratio)) for ratio in (largest, smallest))
    return Arc(low - jnp.pi / 2, high + jnp.pi / 2)


def least_margin(found: Ratios, count: Int[Array, ""] | int) -> Float[Array, "chains"]:
    """The least margin of the first `count` associations, infinite without any."""
    counted = jnp.arange(found.margin.shape[1])[None, :] < count
    return jnp.where(counted, found.margin, jnp.inf).min(axis=1)


def margins_of(problem: Problem, both: Float[Array, "k d d"], row: Int[Array, ""]) -> Float[Array, "k m"]:
    """All margins of one association in several memories, infinite for the target itself."""
    queries = _queries(lax.dynamic_slice_in_dim(problem.inputs, row, 1), both)
    scores = jax.vmap(problem.scores, (1, None))(queries, row[None])[:, 0]
    target = problem.targets[row]
    margins = lax.dynamic_slice_in_dim(scores, target, 1, axis=1) - scores
    return jnp.where(jnp.arange(scores.shape[1])[None, :] == target, jnp.inf, margins)


def _of_rows(problem: Problem, both: Float[Array, "k d d"], start: Int[Array, ""] | int, rows: int) -> Ratios:
    whole = rows == problem.inputs.shape[0]
    inputs = problem.inputs if whole else lax.dynamic_slice_in_dim(problem.inputs, start, rows)
    targets = problem.targets if whole else lax.dynamic_slice_in_dim(problem.targets, start, rows)
    scores = _scores(problem, _queries(inputs, both), start, rows)
    index = targets[:, None, None]
    margins = jnp.take_along_axis(scores, index, axis=2, mode="clip") - scores
    is_target = lax.broadcasted_iota(index.dtype, (rows, 1, scores.shape[2]), 2) == index
    chains = both.shape[0] // 2
    of_weights = jnp.where(is_target, jnp.inf, margins[:, :chains])
    ratio = margins[:, chains:] / of_weights
    largest = jnp.where(is_target, -jnp.inf, ratio).max(axis=2)
    smallest = jnp.where(is_target, jnp.inf, ratio).min(axis=2)
    return Ratios(largest.T, smallest.T, of_weights.min(axis=2).T)


def _queries(inputs: Float[Array, "b d"], both: Float[Array, "k d d"]) -> Float[Array, "b k d"]:
    return jnp.einsum("nj,kij->nki", inputs.astype(both.dtype), both, precision=lax.Precision.HIGHEST)


def _scores(
    problem: Problem, queries: Float[Array, "b k d"], start: Int[Array, ""] | int, rows: int
) -> Float[Array, "b k m"]:
    """All scores of these rows. Outputs that lie in one array are read in place."""
    if isinstance(problem, Facts):
        outputs = problem.outputs.astype(queries.dtype)
        return jnp.einsum("nki,mi->nkm", queries, outputs, precision=lax.Precision.HIGHEST)
    outputs = None
    if isinstance(problem, Separate):
        outputs = problem.outputs
    elif isinstance(problem, Stored) and len(problem.parts) == 1:
        outputs = problem.parts[0]
    if outputs is None:
        index = start + jnp.arange(rows, dtype=jnp.int32)
        return jax.vmap(problem.scores, (1, None), 1)(queries, index)
    if rows != problem.inputs.shape[0]:
        outputs = lax.dynamic_slice_in_dim(outputs, start, rows)
    return jnp.einsum("nki,nim->nkm", queries, outputs.astype(queries.dtype), precision=lax.Precision.HIGHEST)
