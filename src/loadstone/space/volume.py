"""How large the set of memories that store an instance is: the probability that a Gaussian W is one of them.

Rivals are taken away, those of one association after the other: half of them, half of the rest, and so on. Among the
memories that store what is left, the share that also stores what was there before is the ratio of two volumes, and the
product of all these shares, each about a half, is the probability. Shares are averages over whole paths and not only
over their ends: of each path it is known exactly where the rivals that were taken away would lose.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key

from loadstone.compiling import compiled
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.problem import Problem
from loadstone.space.chains import Progress, family_of
from loadstone.space.overlap import Estimate
from loadstone.space.steps import Walk, reflection_step

#: Paths of each chain at a time. After rivals are taken away, the first few do not count.
PATHS, _NOT_COUNTED = 16, 4
#: Paths go on until a share is known to this relative error, but not for ever.
TOLERANCE, _MOST_ROUNDS = 0.1, 256


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


def volume(
    problem: Problem,
    walk: Walk,
    seed: int,
    subspace: Subspace | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> Volume | None:
    """From chains that have mixed among the memories that store everything; None if a share is too small to be seen."""
    n, m = problem.inputs.shape[0], problem.competitors
    family, key, rounds = family_of(walk.weights, subspace), jax.random.key(seed), 0
    shares = []
    for row in reversed(range(n)):
        for fewer, more in halvings(m):
            counts = jnp.int32(row * m + fewer), jnp.int32(row * m + more)
            found: list[np.ndarray] = []
            while len(found) < _MOST_ROUNDS and not (found and _known(np.concatenate(found), tolerance)):
                walk, kept = _fewer(problem, walk, jax.random.fold_in(key, rounds), *counts, family)
                found.append(np.asarray(kept, np.float64)[0 if found else _NOT_COUNTED :])
                rounds += 1
            shares.append(np.concatenate(found).mean(axis=0))
        if progress is not None:
            progress(n - row, n)
    return summed(np.stack(shares).reshape(n, -1, len(walk.margin))[::-1])


def _known(shares: Float[np.ndarray, "paths chains"], tolerance: float) -> bool:
    mean = float(shares.mean())
    return mean > 0 and float(shares.std()) / np.sqrt(shares.size) <= tolerance * mean


def halvings(m: int) -> list[tuple[int, int]]:
    """Numbers of outputs before and after: m // 2 of m, m // 4 of m // 2, ..., 0 of 1."""
    sizes = [m]
    while sizes[-1]:
        sizes.append(sizes[-1] // 2)
    return list(zip(sizes[1:], sizes))


def summed(shares: Float[np.ndarray, "n stages chains"]) -> Volume | None:
    """The logarithms of mean shares, and their sums; None if no path saw one of them. Errors are from the scatter
    between chains. The logarithm of a mean with an error is too small by half its relative variance on average, which
    is added."""
    means = shares.mean(axis=2)
    if not (means > 0).all():
        return None
    relative = shares.var(axis=2, ddof=1) / shares.shape[2] / means**2
    log_shares, variances = (np.log(means) + relative / 2).sum(axis=1), relative.sum(axis=1)
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
