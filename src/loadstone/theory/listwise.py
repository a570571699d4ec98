"""Capacity when the target must only beat the mean of its k best rivals: it is then among the first k.

One association is stored if its scores lie in the convex cone K = {z_1 >= mean of the k largest of z_2 .. z_M}, and the
law is the same as for the largest score: p D_k(p) = d^2 with D_k(M) = E dist^2(eta, K), eta Gaussian. So k = 1 is D(M),
and k = M - 1 is a half space, D = 1/2.

The nearest point of K moves the target up by lambda and takes from each rival what lies above a level tau, at most
lambda / k, and lambda in all. If k is a share of M, moving the many rivals costs too much as M grows, and only the
target moves: D is then the mean of (c - g)_+^2, c being the mean of the largest share of a Gaussian. Capacity is thus
quadratic, p = d^2 / D, the setting of Barnfield, Kim, Nichani, Lee and Lu (2026); for shares of 1/p it becomes
d^2 / (2 log p), that of the largest score.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from loadstone.arguments import refuse, whole
from loadstone.estimate import Estimate, mean_of
from loadstone.theory.checks import fractions
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import project

_SEED = 20260506
#: Samples in a batch.
_BATCH = 500


def list_codimension(answers: int, k: int, *, batches: int = 8) -> Estimate:
    """What one association costs if its target must be among the first k of M: D_k(M), sampled, exact for k = 1.

    By Monte Carlo with fixed random numbers, in batches of 500 samples.

    Example:
        >>> from loadstone.theory.listwise import list_codimension
        >>> round(list_codimension(20, 3, batches=2).value, 2)
        2.45
    """
    m, batches = whole("answers", answers, 2, 10**6), whole("batches", batches, 2, 10**5)
    k = whole("k", k, 1, m - 1)
    return Estimate(codimension(m), 0.0) if k == 1 else _codimension(m, k, batches)


def limit_codimension(share: float) -> float:
    """What one association costs for k = share M and large M: the mean of (c - g)_+^2."""
    share = float(fractions("share", share))
    z = -ndtri(share)
    c = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) / share
    return float((1 + c * c) * ndtr(c) + c * np.exp(-c * c / 2) / np.sqrt(2 * np.pi))


def list_capacity(d: int, k: int, *, batches: int = 8) -> Estimate:
    """How many associations fit with their targets among the first k: p D_k(p) = d^2, its error from that of D_k.

    D_k changes by less than the noise of its samples from one p to the next, so it is interpolated between a few p
    around the value of the limit.

    Example:
        >>> from loadstone.theory.listwise import list_capacity
        >>> round(list_capacity(10, 3, batches=2).value)
        32
    """
    d, k = _checked(d, k)
    guess = limit_capacity(d, k)
    grid = np.unique(np.maximum(np.round(guess * np.array([0.7, 1.0, 1.4, 2.0])), k + 1)).astype(int)
    costs = [list_codimension(int(p), k, batches=batches) for p in grid]
    logs, values = np.log(grid), np.array([cost.value for cost in costs])
    fitted = np.polynomial.Polynomial.fit(logs, values, min(2, len(grid) - 1))
    root = brentq(lambda log: np.exp(log) * fitted(log) - d * d, np.log(grid[0]) - 1, np.log(grid[-1]) + 1)
    nearest = costs[int(np.argmin(abs(logs - root)))]
    # d log p / d log D, at fixed d.
    slope = 1 / (1 + fitted.deriv()(root) / fitted(root))
    return Estimate(float(np.exp(root)), float(np.exp(root) * slope * nearest.error / nearest.value))


def limit_capacity(d: int, k: int) -> float:
    """How many associations fit with the limit of D at the share k / p, which needs no samples: a first guess."""
    d, k = _checked(d, k)
    missing = lambda log: log + np.log(limit_codimension(k / np.exp(log))) - 2 * np.log(d)  # noqa: E731
    least, most = np.log(k + 0.5), max(np.log(2.0 * d * d + 2 * k), np.log(k + 1.0))
    return float(np.exp(least if missing(least) >= 0 else brentq(missing, least, most)))


def _checked(d: int, k: int) -> tuple[int, int]:
    """d and k, or a refusal where not even k + 1 associations fit, each of which costs D = 1/2."""
    d, k = whole("d", d, 2, 10**4), whole("k", k, 1, 10**4)
    if k >= 2 * d * d:
        raise refuse("k", k, f"below 2 d^2 = {2 * d * d}: even k + 1 associations do not fit into d = {d}")
    return d, k


def project_on_list(
    eta: Float[np.ndarray, "samples m"], k: int
) -> tuple[Float[np.ndarray, "samples"], Float[np.ndarray, "samples m"]]:
    """The step lambda of the target of each row of eta to the nearest point of K, and that point."""
    target, rivals = eta[:, 0], eta[:, 1:]
    step, level = _steps(target, -np.sort(-rivals, axis=1), k)
    taken = np.clip(rivals - level[:, None], 0, step[:, None] / k)
    return step, np.concatenate([(target + step)[:, None], rivals - taken], axis=1)


def _steps(
    target: Float[np.ndarray, "samples"], falling: Float[np.ndarray, "samples n"], k: int
) -> tuple[Float[np.ndarray, "samples"], Float[np.ndarray, "samples"]]:
    """lambda and tau of each row, for rivals in falling order.

    As lambda grows from zero, the first `cut` rivals lose lambda / k and those from there to `moved` come down to tau.
    While these two numbers stay the same, everything is linear in lambda. `cut` only falls and `moved` only grows, so
    each row goes from one change to the next until the target has reached the mean of the k largest.
    """
    rows, n = np.arange(len(falling)), falling.shape[1]
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(falling, axis=1)], axis=1)
    # At first the k largest lose the same, until the last of them has come down to the next.
    step = np.maximum(sums[:, k] / k - target, 0) / (1 + 1 / k)
    level = falling[:, k - 1] - step / k
    if n == k:
        return step, level
    rows = rows[level < falling[:, k]]
    cut, moved = np.full(len(rows), k - 1), np.full(len(rows), k + 1)
    while len(rows):
        cut_sum, count = sums[rows, cut], moved - cut
        between = sums[rows, moved] - cut_sum
        needed = (cut_sum + (k - cut) * between / count) / k - target[rows]
        needed /= 1 + cut / k**2 + (k - cut) ** 2 / (k**2 * count)
        step[rows], level[rows] = needed, (between - needed * (1 - cut / k)) / count
        next_moved = between - count * falling[rows, np.minimum(moved, n - 1)]
        next_moved = np.where(moved < n, next_moved / (1 - cut / k), np.inf)
        next_cut = (falling[rows, np.maximum(cut, 1) - 1] * count - between) * k / (moved - k)
        next_cut = np.where(cut > 0, next_cut, np.inf)
        unfinished = needed > np.minimum(next_moved, next_cut)
        grows = next_moved <= next_cut
        rows, cut, moved = rows[unfinished], (cut - ~grows)[unfinished], (moved + grows)[unfinished]
    return step, level


@lru_cache(maxsize=256)
def _codimension(m: int, k: int, batches: int) -> Estimate:
    """D_k(M) by Monte Carlo: targets are stratified, and the distance for k = 1, whose mean is known, is the control
    variate."""
    random = np.random.default_rng((_SEED, m))
    means, known = [], codimension(m)
    for _ in range(batches):
        target = ndtri((np.arange(_BATCH) + random.random(_BATCH)) / _BATCH)
        # Rivals far below the k best are never moved; that none is, is checked.
        kept = min(m - 1, 2 * k + 60)
        best = -np.partition(-random.standard_normal((_BATCH, m - 1)), kept - 1, axis=1)[:, :kept]
        eta = np.concatenate([target[:, None], best], axis=1)
        step, nearest = project_on_list(eta, k)
        assert kept == m - 1 or (nearest[:, 1:].min(axis=1) == best.min(axis=1)).all()
        of_list = step**2 + ((best - nearest[:, 1:]) ** 2).sum(axis=1)
        of_largest = ((project(eta)[0] - eta) ** 2).sum(axis=1)
        weight = np.cov(of_list, of_largest)[0, 1] / of_largest.var(ddof=1)
        means.append((of_list - weight * of_largest).mean() + weight * known)
    return mean_of(means)
