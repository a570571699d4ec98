"""Capacity when a share of the associations may be lost, and the memory chooses which.

Without losses p D(p) = d^2: each association costs dist^2(eta, K_p) of the dimensions of W, D(p) on average (cone.py).
If a share f may be lost, the memory gives up those that would cost most, those with dist^2 above a level t, and

    p D_f(p) = d^2,   D_f(M) = E[dist^2(eta, K_M); dist^2 <= t],   P(dist^2 > t) = f.

This is the replica-symmetric answer to the question of Gardner and Derrida (J. Phys. A 21, 271, 1988), who asked it of
the perceptron: M = 2 is their formula at zero margin. Replica symmetry is broken where errors are counted, and then
counts too few of them: this is a bound from above on what any memory, however it is found, can hold.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from loadstone.arguments import refuse, whole
from loadstone.bisect import largest
from loadstone.estimate import Estimate, mean_of
from loadstone.theory.checks import finite, single
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import project

_SEED = 19880101
#: Samples in a batch.
_BATCH = 4000
#: How many of its best rivals a sample has. Only those above the merged level matter, some 2 log M.
_BEST = 90


def codimension_with_losses(answers: int, share: float, batches: int = 8) -> Estimate:
    """What one association costs if a share f of all may be lost: D_f(M), sampled, exact if none may.

    By Monte Carlo with fixed random numbers.
    """
    m, batches = whole("answers", answers, 2, 10**9), whole("batches", batches, 2, 10**5)
    share = _share(share)
    return Estimate(codimension(m), 0.0) if share == 0 else _cost(m, share, batches)


def capacity_with_losses(d: int, one_in: int, batches: int = 8) -> Estimate:
    """How many associations fit, p D_f(p) = d^2, if one in `one_in` may be lost; the error is that of the sampled D_f.

    Lost ones are counted in whole numbers: none below p = one_in.
    """
    d, one_in = whole("d", d, 2, 10**4), whole("one_in", one_in, 2, 10**9)

    def cost(p: int) -> Estimate:
        return codimension_with_losses(p, (p // one_in) / p, batches)

    whole_p = largest(lambda p: p * cost(p).value <= d * d, 2)
    below, above = (p * cost(p).value for p in (whole_p, whole_p + 1))
    p = whole_p + (d * d - below) / (above - below)
    return Estimate(p, p * cost(whole_p).error / cost(whole_p).value)


def _share(share: float) -> float:
    value = float(finite("share", single("share", share)))
    if not 0 <= value < 1:
        raise refuse("share", share, "a number in [0, 1)")
    return value


@lru_cache(maxsize=1024)
def _cost(m: int, share: float, batches: int) -> Estimate:
    """D_f(M): the mean of dist^2 is known, so only what the lost associations would have cost is sampled."""
    random = np.random.default_rng(_SEED)
    spared = []
    for _ in range(batches):
        distances = np.sort(_distances(m, random))[::-1]
        lost = share * _BATCH  # the last of them in part
        full = int(lost)
        spared.append((distances[:full].sum() + (lost - full) * distances[full]) / _BATCH)
    saved = mean_of(spared)
    return Estimate(codimension(m) - saved.value, saved.error)


def _distances(m: int, random: np.random.Generator) -> Float[np.ndarray, "batch"]:
    """dist^2(eta, K_M) of a batch: targets are stratified, and the best rivals come in falling order from the spacings
    of uniform numbers."""
    target = ndtri((np.arange(_BATCH) + random.random(_BATCH)) / _BATCH)
    kept = min(m - 1, _BEST)
    spacings = random.standard_exponential((_BATCH, _BEST))[:, :kept] / (m - 1 - np.arange(kept))
    best = ndtri(np.exp(-np.cumsum(spacings, axis=1)))
    projection, merged = project(np.concatenate([target[:, None], best], axis=1))
    assert kept == m - 1 or merged.max() < kept
    return (projection[:, 0] - target) ** 2 + ((best - projection[:, 1:]) ** 2).sum(axis=1)
