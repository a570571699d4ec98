"""Paths with reflections (Pakman and Paninski, 2014): W cos t + V sin t for a quarter of a circle, and where a margin
becomes zero, V is reflected.

Here each reflection takes one pass over all outputs, for any problem and any linear family.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.problem import Problem
from loadstone.space.ratios import Ratios, arc, kept_angle, margins_of, ratio_of, ratios

#: A path stops this many roundings short of the wall that it is reflected at, so that it does not start beyond it.
SHORT = 64
#: A path that takes more passes ends where it is, so that no chain can hang.
MOST_PASSES = 10**6


class Path(NamedTuple):
    """Chains on the way along a quarter of a circle.

    weights, directions: W and V.
    left: the angle that is left.
    margin: the least margin at the start. If rounding has made it negative, the path ends there.
    kept: the sum of the angles so far at which the following pairs are stored, too.
    passes: how many passes the path has taken: one more than its reflections.
    """

    weights: Float[Array, "chains d d"]
    directions: Float[Array, "chains d d"]
    left: Float[Array, "chains"]
    margin: Float[Array, "chains"]
    kept: Float[Array, "chains"]
    passes: Int[Array, "chains"]


def turned(
    weights: Float[Array, "chains *k"], directions: Float[Array, "chains *k"], angle: Float[Array, "chains"]
) -> Float[Array, "chains *k"]:
    """W cos t + V sin t."""
    angle = angle.reshape(-1, *[1] * (weights.ndim - 1))
    return weights * jnp.cos(angle) + directions * jnp.sin(angle)


def passing_path(
    problem: Problem,
    weights: Float[Array, "chains d d"],
    directions: Float[Array, "chains d d"],
    subspace: Subspace | None,
    count: Int[Array, ""] | int,
    following: Int[Array, ""] | None,
) -> Path:
    """A path among the memories that store the first `count` pairs, with a pass for each reflection."""
    short = SHORT * jnp.finfo(weights.dtype).eps

    def step(path: Path) -> Path:
        walls = ratios(problem, path.weights, path.directions, count)
        margin = jnp.where(path.passes == 0, walls.margin.min(axis=1), path.margin)
        moving = (path.left > 0) & (margin > 0)
        wall = jnp.maximum(arc(walls).high - short, 0)
        angle = jnp.where(moving, jnp.minimum(wall, path.left), 0)
        hits = moving & (wall < path.left)
        kept = path.kept
        if following is not None:
            first = jnp.asarray(count)
            kept = kept + kept_angle(problem, path.weights, path.directions, angle, first, following)
        weights = turned(path.weights, path.directions, angle)
        directions = turned(path.directions, -path.weights, angle)
        normals = _normals(problem, walls, path.weights, path.directions, subspace, count)
        reflected = directions - 2 * _inner(directions, normals) * normals
        left = jnp.where(hits, path.left - angle, 0)
        return Path(
            weights,
            jnp.where(hits[:, None, None], reflected, directions),
            left,
            margin,
            kept,
            path.passes + (path.left > 0),
        )

    zero = jnp.zeros(weights.shape[0], weights.dtype)
    start = Path(weights, directions, zero + jnp.pi / 2, zero, zero, jnp.zeros(zero.shape, jnp.int32))
    return lax.while_loop(lambda path: (path.left > 0).any() & (path.passes.max() < MOST_PASSES), step, start)


def _normals(
    problem: Problem,
    walls: Ratios,
    weights: Float[Array, "chains d d"],
    directions: Float[Array, "chains d d"],
    subspace: Subspace | None,
    count: Int[Array, ""] | int,
) -> Float[Array, "chains d d"]:
    """The unit normal of the wall that each chain comes to: that of the association and the rival with the smallest
    ratio. A margin is a linear function of W, and the normal of its wall is its derivative."""
    m = problem.competitors

    def one(row: Int[Array, ""], at: Float[Array, "d d"], along: Float[Array, "d d"]) -> Float[Array, "d d"]:
        (margins, speeds), slope = jax.vjp(lambda both: margins_of(problem, both, row), jnp.stack([at, along]))
        counted = jnp.isfinite(margins) & (row * m + jnp.arange(m) < count)
        rival = jnp.where(counted, ratio_of(speeds, margins), jnp.inf).argmin()
        hit = jax.nn.one_hot(rival, margins.shape[0], dtype=at.dtype)
        normal = slope(jnp.stack([hit, jnp.zeros_like(hit)]))[0][0]
        return normal if subspace is None else subspace.projected(normal, jnp)

    normals = jax.vmap(one)(walls.smallest.argmin(axis=1), weights, directions)
    return normals / jnp.sqrt(_inner(normals, normals))


def _inner(a: Float[Array, "chains d d"], b: Float[Array, "chains d d"]) -> Float[Array, "chains 1 1"]:
    return (a * b).sum(axis=(1, 2), keepdims=True)
