"""Two ways to move through the memories that store an instance, both exact for W Gaussian and restricted to them.

Slices (elliptical slice sampling; for linear constraints Gessner, Kanjilal and Hennig, 2020): draw V like W, find the
arc of W cos t + V sin t that stores everything, and take a point of it at random. One pass a step, nothing is rejected.

Reflections (Pakman and Paninski, 2014): follow W cos t + V sin t for a quarter of a circle. Where a margin becomes
zero, V is reflected. One pass for each reflection (paths.py), or less where outputs are shared (margins_table.py).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.facts import Facts
from loadstone.problems.problem import Problem
from loadstone.space.margins_table import fits, path_with_table
from loadstone.space.paths import Path, passing_path, turned
from loadstone.space.ratios import arc, ratios


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
    """Chains that start at memories that store everything."""
    return Walk(weights, weights, jnp.zeros(weights.shape[0], weights.dtype))


def drawn(
    key: Key[Array, ""], like: Float[Array, "chains d d"], subspace: Subspace | None
) -> Float[Array, "chains d d"]:
    """Standard normal members of a linear family."""
    normal = jax.random.normal(key, like.shape, like.dtype)
    return normal if subspace is None else jax.vmap(lambda one: subspace.projected(one, jnp))(normal)


def slice_step(
    problem: Problem, walk: Walk, key: Key[Array, ""], subspace: Subspace | None, count: Int[Array, ""] | int
) -> Walk:
    """One step among the memories that store the first `count` pairs (ratios.py)."""
    of_direction, of_angle = jax.random.split(key)
    directions = drawn(of_direction, walk.weights, subspace)
    walls = ratios(problem, walk.weights, directions, count)
    allowed = arc(walls)
    share = jax.random.uniform(of_angle, walk.margin.shape, walk.margin.dtype)
    moved = turned(walk.weights, directions, allowed.low + (allowed.high - allowed.low) * share)
    return _kept(walk, moved, walls.margin.min(axis=1))


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
    directions = drawn(key, walk.weights, subspace)
    if isinstance(problem, Facts) and subspace is None and fits(problem, walk.weights.shape[0]):
        path = path_with_table(problem, walk.weights, directions, count, following)
    else:
        path = passing_path(problem, walk.weights, directions, subspace, count, following)
    return _kept(walk, path.weights, path.margin), path


def _kept(walk: Walk, moved: Float[Array, "chains d d"], margin: Float[Array, "chains"]) -> Walk:
    """Chains move on where the least margin is positive; elsewhere they go back to the last memory where it was."""
    stored = (margin > 0)[:, None, None]
    return Walk(
        jnp.where(stored, moved, walk.before),
        jnp.where(stored, walk.weights, walk.before),
        jnp.where(margin > 0, margin, walk.margin),
    )
