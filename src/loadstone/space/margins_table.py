"""Paths with reflections where all associations share their outputs: the margins are carried along.

A reflection adds to V a multiple of the normal of a wall, (u_target - u_rival) e^T. This adds to the margins of V a
multiple of the normal's own margins, which are products of two inputs and of two outputs. All these products are known
beforehand. So a reflection takes O(p^2) operations, where a pass takes O(p^2 d).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from loadstone.problems.facts import Facts
from loadstone.problems.problem import Problem
from loadstone.space.paths import MOST_PASSES, SHORT, Path, turned
from loadstone.space.ratios import among, kept_of_margins, ratio_of

#: The most margins that are carried along: 200 megabytes of them.
_MARGINS = 50_000_000


def fits(problem: Problem, chains: int) -> bool:
    """Whether there is room for all margins of W and V."""
    return 2 * chains * problem.inputs.shape[0] * problem.competitors <= _MARGINS


class _State(NamedTuple):
    """A path, and the margins of its W (here) and of its V (there)."""

    path: Path
    here: Float[Array, "chains n m"]
    there: Float[Array, "chains n m"]


def path_with_table(
    problem: Facts,
    weights: Float[Array, "chains d d"],
    directions: Float[Array, "chains d d"],
    count: Int[Array, ""] | int,
    following: Int[Array, ""] | None,
) -> Path:
    """A path among the memories that store the first `count` pairs."""
    (n, _), m, targets = problem.inputs.shape, problem.competitors, problem.targets
    inputs, outputs = problem.inputs.astype(weights.dtype), problem.outputs.astype(weights.dtype)
    of_inputs, of_outputs = _product("ni,ki->nk", inputs, inputs), _product("ni,ki->nk", outputs, outputs)
    number = jnp.arange(n * m, dtype=jnp.int32).reshape(n, m)
    ignored = (jnp.arange(m)[None, :] == targets[:, None]) | (number >= count)
    short = SHORT * jnp.finfo(weights.dtype).eps
    chain = jnp.arange(weights.shape[0])

    def margins(matrices: Float[Array, "chains d d"]) -> Float[Array, "chains n m"]:
        scores = _product("cni,mi->cnm", _product("nj,cij->cni", inputs, matrices), outputs)
        return jnp.take_along_axis(scores, targets[None, :, None], axis=2) - scores

    def step(state: _State) -> _State:
        path, here, there = state
        in_rows = jnp.where(ignored[None], jnp.inf, ratio_of(there, here)).min(axis=2)
        row = in_rows.argmin(axis=1)
        rival = jnp.where(ignored[row], jnp.inf, ratio_of(there[chain, row], here[chain, row])).argmin(axis=1)
        wall = jnp.maximum(jnp.arctan(in_rows.min(axis=1)) + jnp.pi / 2 - short, 0)
        angle, hits = jnp.minimum(wall, path.left), wall < path.left
        kept = path.kept
        if following is not None:
            last = jnp.asarray(count) // m
            others = (jnp.arange(m) == targets[last]) | ~among(problem, last, jnp.asarray(count), following)
            kept = kept + kept_of_margins(here[:, last], there[:, last], jnp.tile(others, (len(chain), 1)), angle)
        target = targets[row]
        squared = of_inputs[row, row] * (
            of_outputs[target, target] + of_outputs[rival, rival] - 2 * of_outputs[target, rival]
        )
        speed = there[chain, row, rival] * jnp.cos(angle) - here[chain, row, rival] * jnp.sin(angle)
        back = jnp.where(hits, 2 * speed / squared, 0)
        normals = (outputs[target] - outputs[rival])[:, :, None] * inputs[row][:, None, :]
        of_rivals = of_outputs[target] - of_outputs[rival]
        of_normals = of_inputs[row][:, :, None] * (of_rivals[:, targets, None] - of_rivals[:, None, :])
        moved = Path(
            turned(path.weights, path.directions, angle),
            turned(path.directions, -path.weights, angle) - back[:, None, None] * normals,
            jnp.where(hits, path.left - angle, 0),
            path.margin,
            kept,
            path.passes + (path.left > 0),
        )
        return _State(moved, turned(here, there, angle), turned(there, -here, angle) - back[:, None, None] * of_normals)

    here, there = margins(weights), margins(directions)
    margin = jnp.where(ignored[None], jnp.inf, here).min(axis=(1, 2))
    zero = jnp.zeros_like(margin)
    left = jnp.where(margin > 0, jnp.pi / 2, zero)
    start = Path(weights, directions, left, margin, zero, jnp.zeros(zero.shape, jnp.int32))
    return lax.while_loop(
        lambda state: (state.path.left > 0).any() & (state.path.passes.max() < MOST_PASSES),
        step,
        _State(start, here, there),
    ).path


def _product(subscripts: str, a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.einsum(subscripts, a, b, precision=lax.Precision.HIGHEST)
