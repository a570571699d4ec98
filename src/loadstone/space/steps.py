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
from jaxtyping import Array, Bool, Float, Int, Key

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.problem import Problem
from loadstone.space.ratios import Arc, Ratios, arc, least_margin, margins_of, ratios

#: A path stops this many roundings short of the wall that it is reflected at, so that it does not start beyond it.
_SHORT = 64


class Walk(NamedTuple):
    """Where the chains are.

    weights: W of each chain.
    before: where it came from. If rounding has put W beyond a wall, it goes back there.
    """

    weights: Float[Array, "chains d d"]
    before: Float[Array, "chains d d"]


def begun(weights: Float[Array, "chains d d"]) -> Walk:
    return Walk(weights, weights)


def drawn(key: Key[Array, ""], like: Float[Array, "chains d d"], subspace: Subspace | None) -> Float[Array, "chains d d"]:
    """Standard normal members of a linear family."""
    normal = jax.random.normal(key, like.shape, like.dtype)
    return normal if subspace is None else jax.vmap(lambda one: subspace.projected(one, jnp))(normal)


def turned(
    weights: Float[Array, "chains d d"], directions: Float[Array, "chains d d"], angle: Float[Array, "chains"]
) -> Float[Array, "chains d d"]:
    """W cos t + V sin t."""
    angle = angle[:, None, None]
    return weights * jnp.cos(angle) + directions * jnp.sin(angle)


class Sliced(NamedTuple):
    """Where a step was taken from: W cos t + V sin t stores everything for t in the arc, if W is `stored` at all, which
    only rounding can prevent."""

    weights: Float[Array, "chains d d"]
    directions: Float[Array, "chains d d"]
    arc: Arc
    stored: Bool[Array, "chains"]


def slice_step(
    problem: Problem, walk: Walk, key: Key[Array, ""], subspace: Subspace | None, count: Int[Array, ""] | int
) -> tuple[Walk, Sliced]:
    """One step among the memories that store the first `count` associations."""
    of_direction, of_angle = jax.random.split(key)
    directions = drawn(of_direction, walk.weights, subspace)
    found = ratios(problem, walk.weights, directions)
    allowed, stored = arc(found, count), least_margin(found, count) > 0
    share = jax.random.uniform(of_angle, stored.shape, walk.weights.dtype)
    moved = turned(walk.weights, directions, allowed.low + (allowed.high - allowed.low) * share)
    return _kept(walk, moved, stored), Sliced(walk.weights, directions, allowed, stored)


def reflection_step(
    problem: Problem, walk: Walk, key: Key[Array, ""], subspace: Subspace | None, count: Int[Array, ""] | int
) -> tuple[Walk, Int[Array, "chains"]]:
    """A quarter of a circle with its reflections, and how many passes each chain took."""
    short = _SHORT * jnp.finfo(walk.weights.dtype).eps

    def onward(path: _Path) -> _Path:
        found = ratios(problem, path.weights, path.directions)
        moving, stored = path.left > 0, least_margin(found, count) > 0
        wall = jnp.maximum(arc(found, count).high - short, 0)
        hits = wall < path.left
        angle = jnp.where(moving & stored, jnp.minimum(wall, path.left), 0)
        weights, directions = turned(path.weights, path.directions, angle), turned(path.directions, -path.weights, angle)
        reflected = _reflected(problem, found, weights, directions, subspace, count)
        directions = jnp.where((hits & moving & stored)[:, None, None], reflected, directions)
        left = jnp.where(stored, jnp.where(hits, path.left - wall, 0), 0)
        return _Path(
            weights, directions, jnp.where(moving, left, path.left),
            path.stored & (stored | ~moving), path.passes + moving.astype(jnp.int32),
        )  # fmt: skip

    chains = walk.weights.shape[0]
    quarter = jnp.full(chains, jnp.pi / 2, walk.weights.dtype)
    first = _Path(
        walk.weights, drawn(key, walk.weights, subspace), quarter,
        jnp.ones(chains, bool), jnp.zeros(chains, jnp.int32),
    )  # fmt: skip
    path = lax.while_loop(lambda path: (path.left > 0).any(), onward, first)
    return _kept(walk, path.weights, path.stored), path.passes


class _Path(NamedTuple):
    """Chains on their way: the angle that is left, whether all was stored so far, and the passes that it took."""

    weights: Float[Array, "chains d d"]
    directions: Float[Array, "chains d d"]
    left: Float[Array, "chains"]
    stored: Bool[Array, "chains"]
    passes: Int[Array, "chains"]


def _reflected(
    problem: Problem,
    found: Ratios,
    weights: Float[Array, "chains d d"],
    directions: Float[Array, "chains d d"],
    subspace: Subspace | None,
    count: Int[Array, ""] | int,
) -> Float[Array, "chains d d"]:
    """V reflected at the wall that each chain has come to: that of its association with the smallest ratio, and of the
    rival whose margin is least there."""
    counted = jnp.arange(found.margin.shape[1])[None, :] < count
    rows = jnp.where(counted, found.smallest, jnp.inf).argmin(axis=1)

    def one(row: Int[Array, ""], at: Float[Array, "d d"], along: Float[Array, "d d"]) -> Float[Array, "d d"]:
        margins, slope = jax.vjp(lambda matrix: margins_of(problem, matrix[None], row)[0], at)
        # The margin is a linear function of W, and the normal of the wall is its derivative.
        (normal,) = slope(jax.nn.one_hot(margins.argmin(), margins.shape[0], dtype=at.dtype))
        normal = normal if subspace is None else subspace.projected(normal, jnp)
        return along - 2 * (normal * along).sum() / (normal * normal).sum() * normal

    return jax.vmap(one)(rows, weights, directions)


def _kept(walk: Walk, moved: Float[Array, "chains d d"], stored: Bool[Array, "chains"]) -> Walk:
    """Onward from memories that store everything; back to the last such memory from others."""
    stored = stored[:, None, None]
    kept = jnp.where(stored, walk.weights, walk.before)
    return Walk(jnp.where(stored, moved, walk.before), kept)
