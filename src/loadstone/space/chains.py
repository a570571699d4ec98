"""Chains through the memories that store an instance: many steps of all chains in one compiled program."""

from __future__ import annotations

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
from loadstone.progress import Progress, silent
from loadstone.space.diagnostics import Mixing, mixing
from loadstone.space.steps import Walk, begun, reflection_step, slice_step

#: 'reflections' needs a hundredth of the passes of 'slices' (benchmarks/space.json), which is simpler.
METHODS = ("reflections", "slices")
#: About how often the watched numbers are recorded, and how often in one block, which is one compiled program.
_LOOKS, _AT_A_TIME = 512, 8
#: The share of all blocks that is warm-up, and the fewest blocks that are kept.
_WARM_UP, _FEWEST = 1 / 4, 2
#: Cosines are watched with the memories that chains began from, and with this many random matrices.
_ANYWHERE, _SEED = 4, 2**31 - 1


class Seen(NamedTuple):
    """The numbers watched of each chain in a block, its mean direction W / |W|, and how many passes it took."""

    traces: Float[Array, "looks chains numbers"]
    means: Float[Array, "chains d d"]
    passes: Int[Array, "chains"]


@dataclass(frozen=True)
class Chains:
    """The result of a run of chains.

    traces: numbers watched at each look: cosines with the starts and with random matrices, the least margin over |W|.
    means: the mean direction W / |W| of successive blocks of each chain.
    walk: where they are.
    mixing: whether they have mixed.
    steps: of each chain, those of the warm-up included.
    passes: of all chains together.
    """

    traces: Float[np.ndarray, "chains looks numbers"]
    means: Float[np.ndarray, "chains blocks d d"]
    walk: Walk
    mixing: Mixing
    steps: int
    passes: int


def run_chains(
    problem: Problem,
    starts: Float[Array, "chains d d"],
    steps: int,
    seed: int,
    subspace: Subspace | None = None,
    method: str = "reflections",
    progress: Progress = silent,
) -> Chains:
    """Walk from the starts, each of which stores the problem, for this many steps, rounded up to whole blocks."""
    stride = max(1, steps // _LOOKS)
    blocks = max(1 + _FEWEST, -(-steps // (stride * _AT_A_TIME)))
    warm_up = max(1, round(blocks * _WARM_UP))
    anywhere = jax.random.normal(jax.random.key(_SEED), (_ANYWHERE, *starts.shape[1:]), starts.dtype)
    watched = unit(jnp.concatenate([starts, anywhere]))
    family = family_of(starts, subspace)
    walk, key, kept, passes = begun(starts), jax.random.key(seed), [], 0
    for block in range(blocks):
        walk, seen = _block(problem, walk, jax.random.fold_in(key, block), jnp.int32(stride), watched, family, method)
        passes += int(np.asarray(seen.passes).sum())
        if block >= warm_up:
            kept.append(jax.tree.map(np.asarray, seen))
        progress(100 * (block + 1) // blocks, "chains")
    traces = np.concatenate([one.traces for one in kept]).swapaxes(0, 1).astype(np.float64)
    means = np.stack([one.means for one in kept], axis=1)
    return Chains(traces, means, walk, mixing(traces, stride), blocks * stride * _AT_A_TIME, passes)


def family_of(starts: Float[Array, "chains d d"], subspace: Subspace | None) -> Projected | None:
    """The linear family as a compiled program takes it: a member that knows its subspace."""
    return None if subspace is None else Projected.made(starts[0], subspace)


@partial(compiled, static_argnames="method")
def _block(
    problem: Problem,
    walk: Walk,
    key: Key[Array, ""],
    stride: Int[Array, ""],
    watched: Float[Array, "k d d"],
    family: Projected | None,
    method: str,
) -> tuple[Walk, Seen]:
    subspace = None if family is None else family.subspace
    count = problem.inputs.shape[0] * problem.competitors

    def step(index: Int[Array, ""], state: tuple) -> tuple:
        walk, total, passes, key = state
        own = jax.random.fold_in(key, index)
        if method == "slices":
            walk = slice_step(problem, walk, own, subspace, count)
            passes = passes + 1
        else:
            walk, path = reflection_step(problem, walk, own, subspace, count)
            passes = passes + path.passes
        return walk, total + unit(walk.before), passes, key

    def look(state: tuple, key: Key[Array, ""]) -> tuple[tuple, Float[Array, "chains numbers"]]:
        walk, total, passes, _ = lax.fori_loop(0, stride, step, (*state, key))
        cosines = jnp.einsum("cij,kij->ck", unit(walk.before), watched, precision=lax.Precision.HIGHEST)
        margin = walk.margin / jnp.sqrt((walk.before**2).sum(axis=(1, 2)))
        return (walk, total, passes), jnp.concatenate([cosines, margin[:, None]], axis=1)

    first = (walk, jnp.zeros_like(walk.weights), jnp.zeros(walk.margin.shape, jnp.int32))
    (walk, total, passes), traces = lax.scan(look, first, jax.random.split(key, _AT_A_TIME))
    return walk, Seen(traces, total / (_AT_A_TIME * stride), passes)


def unit(weights: Float[Array, "k d d"]) -> Float[Array, "k d d"]:
    """Each memory divided by its norm."""
    return weights / jnp.sqrt((weights * weights).sum(axis=(1, 2), keepdims=True))
