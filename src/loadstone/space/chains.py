"""Chains through the memories that store an instance: many steps of all chains in one compiled program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key

from loadstone.compiling import compiled
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.problem import Problem
from loadstone.space.diagnostics import Mixing, mixing
from loadstone.space.ratios import least_margin, ratios
from loadstone.space.steps import Walk, begun, reflection_step, slice_step

#: Chains are looked at so many times after they have warmed up, at equal distances.
LOOKS = 256
#: Looks of one compiled program, and for how many blocks of each chain means are kept.
_AT_A_TIME = 16
BLOCKS = LOOKS // _AT_A_TIME
#: The share of all steps in which chains forget where they began.
WARM_UP = 1 / 4
#: Besides cosines with the memories that chains began from, those with so many random matrices are watched.
_ANYWHERE, _SEED = 4, 2**31 - 1

Progress = Callable[[int, int], None]


class Seen(NamedTuple):
    """What is seen of each chain, and the sum of its directions W / |W| between two looks."""

    traces: Float[Array, "looks chains numbers"]
    means: Float[Array, "chains d d"]
    passes: Int[Array, ""]


@dataclass(frozen=True)
class Chains:
    """What chains left.

    traces: numbers watched at each look: cosines with the starts and with random matrices, the least margin over |W|.
    means: the mean direction W / |W| of successive blocks of each chain.
    last: W of each chain at its end.
    mixing: whether they have mixed.
    steps, passes: of each chain, those of the warm-up included.
    """

    traces: Float[np.ndarray, "chains looks numbers"]
    means: Float[np.ndarray, "chains blocks d d"]
    last: Float[np.ndarray, "chains d d"]
    mixing: Mixing
    steps: int
    passes: int


def run_chains(
    problem: Problem,
    starts: Float[Array, "chains d d"],
    steps: int,
    seed: int,
    subspace: Subspace | None = None,
    method: str = "slices",
    progress: Progress | None = None,
) -> Chains:
    """Walk from the starts, each of which stores the problem, for about so many steps (see `stride_of`)."""
    stride = stride_of(steps)
    warm_up = round(LOOKS * WARM_UP / _AT_A_TIME / (1 - WARM_UP)) or 1
    anywhere = jax.random.normal(jax.random.key(_SEED), (_ANYWHERE, *starts.shape[1:]), starts.dtype)
    watched = _unit(jnp.concatenate([starts, anywhere]))
    family = None if subspace is None else Projected.made(starts[0], subspace)
    walk, key, seen, passes = begun(starts), jax.random.key(seed), [], 0
    for block in range(warm_up + BLOCKS):
        walk, found = _advance(problem, walk, jax.random.fold_in(key, block), jnp.int32(stride), watched, family, method)
        passes += int(found.passes)
        if block >= warm_up:
            seen.append(jax.tree.map(np.asarray, found))
        if progress is not None:
            progress((block + 1) * _AT_A_TIME * stride, (warm_up + BLOCKS) * _AT_A_TIME * stride)
    traces = np.concatenate([one.traces for one in seen]).swapaxes(0, 1).astype(np.float64)
    means = np.stack([one.means for one in seen], axis=1)
    taken = (warm_up + BLOCKS) * _AT_A_TIME * stride
    return Chains(traces, means, np.asarray(walk.before), mixing(traces, stride), taken, passes)


def stride_of(steps: int) -> int:
    """Steps between two looks, at least one: so that all of them, warm-up included, are at least `steps`."""
    return max(1, -(-round(steps * (1 - WARM_UP)) // LOOKS))


@partial(compiled, static_argnames="method")
def _advance(
    problem: Problem,
    walk: Walk,
    key: Key[Array, ""],
    stride: Int[Array, ""],
    watched: Float[Array, "k d d"],
    family: Projected | None,
    method: str,
) -> tuple[Walk, Seen]:
    subspace = None if family is None else family.subspace
    count = problem.inputs.shape[0]

    def step(index: Int[Array, ""], carried: tuple) -> tuple:
        walk, total, passes, key = carried
        if method == "slices":
            walk, _ = slice_step(problem, walk, jax.random.fold_in(key, index), subspace, count)
            taken = 1
        else:
            walk, each = reflection_step(problem, walk, jax.random.fold_in(key, index), subspace, count)
            taken = each.max()
        # W itself is known to store everything only after the next pass: `before` is.
        return walk, total + _unit(walk.before), passes + taken, key

    def look(carried: tuple, key: Key[Array, ""]) -> tuple[tuple, Float[Array, "chains numbers"]]:
        walk, total, passes = carried
        walk, total, passes, _ = lax.fori_loop(0, stride, step, (walk, total, passes, key))
        direction = _unit(walk.before)
        cosines = jnp.einsum("cij,kij->ck", direction, watched, precision=lax.Precision.HIGHEST)
        margin = least_margin(ratios(problem, direction, direction), count)
        return (walk, total, passes), jnp.concatenate([cosines, margin[:, None]], axis=1)

    first = (walk, jnp.zeros_like(walk.weights), jnp.int32(0))
    (walk, total, passes), traces = lax.scan(look, first, jax.random.split(key, _AT_A_TIME))
    return walk, Seen(traces, total / (_AT_A_TIME * stride), passes)


def _unit(weights: Float[Array, "k d d"]) -> Float[Array, "k d d"]:
    return weights / jnp.sqrt((weights * weights).sum(axis=(1, 2), keepdims=True))
