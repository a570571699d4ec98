"""How large the set of memories that store an instance is: the probability that a Gaussian W is one of them.

Rivals are taken away, those of one association after the other: half of them, half of the rest, and so on. Among the
memories that store what is left, the share that also stores what was there before is the ratio of two volumes, and the
product of all these shares, each about a half, is the probability. Shares are averages over whole paths and not only
over their ends: of each path it is known exactly where the rivals that were taken away would lose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key

from loadstone.compiling import compiled
from loadstone.estimate import Estimate
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.problem import Problem
from loadstone.progress import Progress, silent
from loadstone.readable import readable
from loadstone.space.chains import family_of
from loadstone.space.steps import Walk, reflection_step

#: Paths of each chain in a round.
PATHS = 4
#: So many paths are followed that a share is expected to have this relative error, but no more than this many rounds.
TOLERANCE, _MOST_ROUNDS = 0.15, 256
#: Where a share is smaller, fewer rivals are taken away at a time.
_SMALL = 0.05

#: From chains and two numbers, paths among the memories that store the first pairs up to the first number: where they
#: end, and of each path the share that stores the pairs up to the second number, too.
Follow = Callable[[Walk, int, int], tuple[Walk, Float[np.ndarray, "paths chains"]]]


@dataclass(frozen=True)
class Volume:
    """The logarithm of the probability that a Gaussian W stores everything.

    log: that logarithm.
    log_shares: its parts: for each k, the logarithm of the share of memories with k associations that store the next.
    errors: their standard errors.
    """

    log: Estimate
    log_shares: Float[np.ndarray, "n"]
    errors: Float[np.ndarray, "n"]

    __repr__ = readable


def volume(
    problem: Problem,
    walk: Walk,
    seed: int,
    subspace: Subspace | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress = silent,
) -> Volume | None:
    """The volume, from chains that have mixed among the memories that store everything; None if a share is too small.

    The first round of each stage lets the chains forget the rivals that were taken away, and sets how many rounds
    follow. It is not counted, and the number of rounds does not depend on the rounds that count: either would favour
    large shares.
    """
    n, m = problem.inputs.shape[0], problem.competitors
    family, key, numbers = family_of(walk.weights, subspace), jax.random.key(seed), count()

    def follow(walk: Walk, fewer: int, more: int) -> tuple[Walk, Float[np.ndarray, "paths chains"]]:
        own = jax.random.fold_in(key, next(numbers))
        walk, kept = _fewer(problem, walk, own, jnp.int32(fewer), jnp.int32(more), family)
        return walk, np.asarray(kept, np.float64)

    return summed(*stage_shares(follow, walk, n, m, tolerance, progress), n)


def stage_shares(
    follow: Follow, walk: Walk, n: int, m: int, tolerance: float = TOLERANCE, progress: Progress = silent
) -> tuple[Float[np.ndarray, "stages chains"], Int[np.ndarray, "stages"]]:
    """The mean shares that are kept in each stage, and which association loses rivals in it."""
    rows, shares = [], []
    for row in reversed(range(n)):
        stages = halvings(m)[::-1]
        while stages:
            fewer, more = stages.pop()
            moved, pilot = follow(walk, row * m + fewer, row * m + more)
            if pilot.mean() < _SMALL and more - fewer > 1:
                middle = (fewer + more) // 2
                stages += [(fewer, middle), (middle, more)]
                continue
            kept_shares: list[np.ndarray] = []
            walk, needed = moved, rounds_needed(pilot, tolerance)
            while len(kept_shares) < needed or (len(kept_shares) < _MOST_ROUNDS and not np.any(kept_shares)):
                walk, kept = follow(walk, row * m + fewer, row * m + more)
                kept_shares.append(kept.mean(axis=0))
            rows.append(row)
            shares.append(np.mean(kept_shares, axis=0))
        progress(100 * (n - row) // n, "volume")
    return np.stack(shares), np.array(rows)


def rounds_needed(pilot: Float[np.ndarray, "paths chains"], tolerance: float) -> int:
    """How many rounds like this one give the mean to the relative error `tolerance`."""
    mean = float(pilot.mean())
    if mean == 0:
        return _MOST_ROUNDS
    return int(np.clip(np.ceil((pilot.std() / (tolerance * mean)) ** 2 / pilot.size), 1, _MOST_ROUNDS))


def halvings(m: int) -> list[tuple[int, int]]:
    """Numbers of outputs before and after: m // 2 of m, m // 4 of m // 2, ..., 0 of 1."""
    sizes = [m]
    while sizes[-1]:
        sizes.append(sizes[-1] // 2)
    return list(zip(sizes[1:], sizes))


def summed(shares: Float[np.ndarray, "stages chains"], rows: Int[np.ndarray, "stages"], n: int) -> Volume | None:
    """The logarithms of mean shares, summed for each of n associations and over all; None if no path saw one of them.

    Errors are from the scatter between chains. The logarithm of a mean with an error is too small by half its relative
    variance on average, which is added.
    """
    means = shares.mean(axis=1)
    if not (means > 0).all():
        return None
    relative = shares.var(axis=1, ddof=1) / shares.shape[1] / means**2
    log_shares = np.bincount(rows, np.log(means) + relative / 2, n)
    variances = np.bincount(rows, relative, n)
    return Volume(Estimate(float(log_shares.sum()), float(np.sqrt(variances.sum()))), log_shares, np.sqrt(variances))


@compiled
def _fewer(
    problem: Problem,
    walk: Walk,
    key: Key[Array, ""],
    count: Int[Array, ""],
    following: Int[Array, ""],
    family: Projected | None,
) -> tuple[Walk, Float[Array, "paths chains"]]:
    """Paths among the memories that store the first `count` pairs: the share of each that stores the following, too."""
    subspace = None if family is None else family.subspace

    def step(walk: Walk, key: Key[Array, ""]) -> tuple[Walk, Float[Array, "chains"]]:
        walk, path = reflection_step(problem, walk, key, subspace, count, following)
        return walk, path.kept / (jnp.pi / 2)

    return lax.scan(step, walk, jax.random.split(key, PATHS))
