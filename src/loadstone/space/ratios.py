"""The pass of the samplers: how far from W one can go towards V, or away from it, before a margin becomes zero.

All margins of W cos t + V sin t are linear in (cos t, sin t). That of one association and one rival is positive, if it
is so at t = 0, as long as atan(r) - pi/2 < t < atan(r) + pi/2, where r is the ratio margin(V) / margin(W). So of each
association only its largest and its smallest ratio matter. They are found for a block of associations at a time, for W
and V and for all chains together, and no more than a block of scores is in memory.

Pairs of an association and an output are numbered one association after the other, and of an instance only the first
`count` pairs may count. So instances grow by a rival or by an association without a new program.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from loadstone.problems.decoupled import Stored
from loadstone.problems.facts import Facts
from loadstone.problems.problem import Problem
from loadstone.problems.separate import Separate

#: How many scores are in memory at a time, by platform.
_SCORES = {"cpu": 2_000_000, "gpu": 200_000_000}


class Ratios(NamedTuple):
    """Extremes over all rivals, for each chain and association.

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
    problem: Problem,
    weights: Float[Array, "chains d d"],
    directions: Float[Array, "chains d d"],
    count: Int[Array, ""] | int,
) -> Ratios:
    """One pass over the first `count` pairs."""
    n, chains = problem.inputs.shape[0], weights.shape[0]
    both = jnp.concatenate([weights, directions])
    fitting = _SCORES.get(jax.default_backend(), _SCORES["gpu"]) // (2 * chains * problem.competitors)
    blocks = -(-n // max(1, fitting))
    rows = -(-n // blocks)
    if blocks == 1:
        return _of_rows(problem, both, 0, n, count)

    def fill(index: Int[Array, ""], whole: Ratios) -> Ratios:
        start = jnp.minimum(index * rows, n - rows)  # the last block is moved back to end at n
        part = _of_rows(problem, both, start, rows, count)
        return Ratios(*(lax.dynamic_update_slice_in_dim(w, p, start, 1) for w, p in zip(whole, part)))

    empty = jnp.zeros((chains, n), weights.dtype)
    return lax.fori_loop(0, blocks, fill, Ratios(empty, empty, empty))


def arc(walls: Ratios) -> Arc:
    """The arc that all associations allow; without any, the whole circle."""
    return Arc(jnp.arctan(walls.largest.max(axis=1)) - jnp.pi / 2, jnp.arctan(walls.smallest.min(axis=1)) + jnp.pi / 2)


def ratio_of(there: Float[Array, "*k"], here: Float[Array, "*k"]) -> Float[Array, "*k"]:
    """margin(V) / margin(W). If rounding has put W behind a wall, the wall is taken to be just here: V is reflected
    if it leads outwards, and W comes back in if it leads inwards."""
    return there / jnp.maximum(here, jnp.finfo(here.dtype).tiny)


def margins_of(problem: Problem, both: Float[Array, "k d d"], row: Int[Array, ""]) -> Float[Array, "k m"]:
    """All margins of one association in several memories, infinite for the target itself."""
    queries = _queries(lax.dynamic_slice_in_dim(problem.inputs, row, 1), both)
    scores = jax.vmap(problem.scores, (1, None))(queries, row[None])[:, 0]
    target = problem.targets[row]
    margins = lax.dynamic_slice_in_dim(scores, target, 1, axis=1) - scores
    return jnp.where(jnp.arange(scores.shape[1])[None, :] == target, jnp.inf, margins)


def kept_angle(
    problem: Problem,
    weights: Float[Array, "chains d d"],
    directions: Float[Array, "chains d d"],
    angle: Float[Array, "chains"],
    first: Int[Array, ""],
    last: Int[Array, ""],
) -> Float[Array, "chains"]:
    """How much of the arc from 0 to `angle`, at most pi, leaves the margins of pairs first .. last - 1 positive. They
    belong to one association."""
    row = first // problem.competitors
    both = jax.vmap(lambda pair: margins_of(problem, pair, row))(jnp.stack([weights, directions], axis=1))
    ignored = jnp.isinf(both[:, 0]) | ~among(problem, row, first, last)[None, :]
    return kept_of_margins(both[:, 0], both[:, 1], ignored, angle)


def among(problem: Problem, row: Int[Array, ""], first: Int[Array, ""], last: Int[Array, ""]) -> Bool[Array, "m"]:
    """Which outputs of an association are in the pairs first .. last - 1."""
    pair = row * problem.competitors + jnp.arange(problem.competitors)
    return (pair >= first) & (pair < last)


def kept_of_margins(
    here: Float[Array, "chains m"],
    there: Float[Array, "chains m"],
    ignored: Bool[Array, "chains m"],
    angle: Float[Array, "chains"],
) -> Float[Array, "chains"]:
    """How much of the arc from 0 to `angle` leaves all margins positive, from those of W (here) and of V (there).

    Each rival takes a half plane of (cos t, sin t), and what they leave is an arc: a rival that is beaten at one end
    only cuts it where its margin is zero, and one that wins at both ends leaves nothing.
    """
    here, there = jnp.where(ignored, 1, here), jnp.where(ignored, 0, there)
    end = jnp.where(ignored, 1, here * jnp.cos(angle)[:, None] + there * jnp.sin(angle)[:, None])
    # Where the margin is zero: between 0 and pi, because it changes its sign there.
    zero = jnp.arctan2(jnp.abs(here), -jnp.sign(here) * there)
    first = jnp.where((here <= 0) & (end > 0), zero, 0).max(axis=1)
    last = jnp.where((here > 0) & (end <= 0), zero, angle[:, None]).min(axis=1)
    never = ((here <= 0) & (end <= 0)).any(axis=1)
    return jnp.where(never, 0, jnp.maximum(last - first, 0))


def _of_rows(
    problem: Problem, both: Float[Array, "k d d"], start: Int[Array, ""] | int, rows: int, count: Int[Array, ""] | int
) -> Ratios:
    whole = rows == problem.inputs.shape[0]
    inputs = problem.inputs if whole else lax.dynamic_slice_in_dim(problem.inputs, start, rows)
    targets = problem.targets if whole else lax.dynamic_slice_in_dim(problem.targets, start, rows)
    scores = _scores(problem, _queries(inputs, both), start, rows)
    index, m = targets[:, None, None], scores.shape[2]
    margins = jnp.take_along_axis(scores, index, axis=2, mode="clip") - scores
    output = lax.broadcasted_iota(jnp.int32, (rows, 1, m), 2)
    pair = (start + lax.broadcasted_iota(jnp.int32, (rows, 1, m), 0)) * m + output
    ignored = (output == index) | (pair >= count)
    chains = both.shape[0] // 2
    of_weights = jnp.where(ignored, jnp.inf, margins[:, :chains])
    ratio = ratio_of(margins[:, chains:], of_weights)
    largest = jnp.where(ignored, -jnp.inf, ratio).max(axis=2)
    smallest = jnp.where(ignored, jnp.inf, ratio).min(axis=2)
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
    if isinstance(problem, Separate):
        outputs = problem.outputs
    elif isinstance(problem, Stored) and len(problem.parts) == 1:
        outputs = problem.parts[0]
    else:
        index = start + jnp.arange(rows, dtype=jnp.int32)
        return jax.vmap(problem.scores, (1, None), 1)(queries, index)
    if rows != problem.inputs.shape[0]:
        outputs = lax.dynamic_slice_in_dim(outputs, start, rows)
    return jnp.einsum("nki,nim->nkm", queries, outputs.astype(queries.dtype), precision=lax.Precision.HIGHEST)
