"""Two ways to move through the memories that store an instance, both exact for W Gaussian and restricted to them.

Slices (elliptical slice sampling; for linear constraints Gessner, Kanjilal and Hennig, 2020): draw V like W, find the
arc of W cos t + V sin t that stores everything, and take a point of it at random. One pass a step, nothing is rejected.

Reflections (Pakman and Paninski, 2014): follow W cos t + V sin t for a quarter of a circle. Where a margin becomes
zero, V is reflected. One pass for each reflection.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Key

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.problem import Problem
from loadstone.space.ratios import Ratios, arc, kept_angle, margins_of, ratios

#: A path stops this many roundings short of the wall that it is reflected at, so that it does not start beyond it.
_SHORT = 64
#: A path that takes more passes ends where it is, so that no chain can hang.
_MOST_PASSES = 10**6


class Walk(NamedTuple):
    """Where the chains are.

    weights: W of each chain.
    before: where it came from, which is known to store everything. If rounding has put W beyond a wall, it goes back.
    margin: the least margin there.
    """

    weights: Float[Array, "chains d d"]
    before: Float[Array, "chains d d"]
    margin: Float[Array, "chains"]


def begun(weights: Float[Array, "chains d d"]) -> Walk:
    """At memories that store everything."""
    return Walk(weights, weights, jnp.zeros(weights.shape[0], weights.dtype))


def drawn(
    key: Key[Array, ""], like: Float[Array, "chains d d"], subspace: Subspace | None
) -> Float[Array, "chains d d"]:
    """Standard normal members of a linear family."""
    normal = jax.random.normal(key, like.shape, like.dtype)
    return normal if subspace is None else jax.vmap(lambda one: subspace.projected(one, jnp))(normal)


def turned(
    weights: Float[Array, "chains d d"], directions: Float[Array, "chains d d"], angle: Float[Array, "chains"]
) -> Float[Array, "chains d d"]:
    """W cos t + V sin t."""
    angle = angle[:, None, None]
    return weights * jnp.cos(angle) + directions * jnp.sin(angle)


def slice_step(
    problem: Problem, walk: Walk, key: Key[Array, ""], subspace: Subspace | None, count: Int[Array, ""] | int
) -> Walk:
    """One step among the memories that store the first `count` pairs (ratios.py)."""
    of_direction, of_angle = jax.random.split(key)
    directions = drawn(of_direction, walk.weights, subspace)
    found = ratios(problem, walk.weights, directions, count)
    allowed = arc(found)
    share = jax.random.uniform(of_angle, walk.margin.shape, walk.margin.dtype)
    moved = turned(walk.weights, directions, allowed.low + (allowed.high - allowed.low) * share)
    return _kept(walk, moved, found.margin.min(axis=1))


class Path(NamedTuple):
    """Chains on the way along a quarter of a circle.

    weights, directions: W and V.
    left: the angle that is left.
    margin: the least margin at the start; zero, or less, if it was ever so on the way, which only rounding can do.
    kept: of the angles so far, those at which the following pairs are stored, too.
    passes: how many the path took so far.
    """

    weights: Float[Array, "chains d d"]
    directions: Float[Array, "chains d d"]
    left: Float[Array, "chains"]
    margin: Float[Array, "chains"]
    kept: Float[Array, "chains"]
    passes: Int[Array, "chains"]


def reflection_step(
    problem: Problem,
    walk: Walk,
    key: Key[Array, ""],
    subspace: Subspace | None,
    count: Int[Array, ""] | int,
    following: Int[Array, ""] | None = None,
) -> tuple[Walk, Path]:
    """A quarter of a circle among the memories that store the first `count` pairs, and its path; with the angles at
    which the pairs after these, up to number `following`, are stored, too. They belong to one association."""
    short = _SHORT * jnp.finfo(walk.weights.dtype).eps

    def onward(path: Path) -> Path:
        found = ratios(problem, path.weights, path.directions, count)
        margin = found.margin.min(axis=1)
        moving = (path.left > 0) & (margin > 0)
        wall = jnp.maximum(arc(found).high - short, 0)
        angle = jnp.where(moving, jnp.minimum(wall, path.left), 0)
        hits = moving & (wall < path.left)
        kept = path.kept
        if following is not None:
            first = jnp.asarray(count)
            kept = kept + kept_angle(problem, path.weights, path.directions, angle, first, following)
        weights = turned(path.weights, path.directions, angle)
        directions = turned(path.directions, -path.weights, angle)
        normals = _normals(problem, found, path.weights, path.directions, subspace, count)
        reflected = directions - 2 * _along(directions, normals) * normals
        left = jnp.where(hits, path.left - angle, 0)
        return Path(
            weights,
            jnp.where(hits[:, None, None], reflected, directions),
            left,
            jnp.where((path.passes == 0) | ((path.left > 0) & (margin <= 0)), margin, path.margin),
            kept,
            path.passes + (path.left > 0),
        )

    none = jnp.zeros_like(walk.margin)
    quarter = jnp.full_like(walk.margin, jnp.pi / 2)
    start = Path(
        walk.weights, drawn(key, walk.weights, subspace), quarter, none, none, jnp.zeros(none.shape, jnp.int32)
    )
    path = lax.while_loop(lambda path: (path.left > 0).any() & (path.passes.max() < _MOST_PASSES), onward, start)
    return _kept(walk, path.weights, path.margin), path


def _normals(
    problem: Problem,
    found: Ratios,
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
        rival = jnp.where(counted, speeds / margins, jnp.inf).argmin()
        hit = jax.nn.one_hot(rival, margins.shape[0], dtype=at.dtype)
        normal = slope(jnp.stack([hit, jnp.zeros_like(hit)]))[0][0]
        return normal if subspace is None else subspace.projected(normal, jnp)

    normals = jax.vmap(one)(found.smallest.argmin(axis=1), weights, directions)
    return normals / jnp.sqrt(_along(normals, normals))


def _along(
    one: Float[Array, "chains d d"], other: Float[Array, "chains d d"]
) -> Float[Array, "chains 1 1"]:
    return (one * other).sum(axis=(1, 2), keepdims=True)


def _kept(walk: Walk, moved: Float[Array, "chains d d"], margin: Float[Array, "chains"]) -> Walk:
    """Onward from memories whose least margin is positive; from others back to the last such memory."""
    stored = (margin > 0)[:, None, None]
    return Walk(
        jnp.where(stored, moved, walk.before),
        jnp.where(stored, walk.weights, walk.before),
        jnp.where(margin > 0, margin, walk.margin),
    )
