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
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from loadstone.arguments import whole
from loadstone.theory.checks import fractions
from loadstone.theory.cone import mean_merged, project

_HALVINGS = 45
_SEED = 20260506
#: Samples in a batch.
_BATCH = 500


class Mean(NamedTuple):
    """A mean over samples, and its standard error."""

    value: float
    error: float


def list_codimension(m: int, k: int, batches: int = 8) -> Mean:
    """D_k(M), by Monte Carlo with fixed random numbers, in batches of 500 samples; exact for k = 1."""
    m, batches = whole("m", m, 2, 10**6), whole("batches", batches, 2, 10**5)
    k = whole("k", k, 1, m - 1)
    return Mean(float(mean_merged(m)), 0.0) if k == 1 else _codimension(m, k, batches)


def limit_codimension(share: float) -> float:
    """The limit of D_k(M) for k = share M: the mean of (c - g)_+^2."""
    share = float(fractions("share", share))
    z = -ndtri(share)
    c = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) / share
    return float((1 + c * c) * ndtr(c) + c * np.exp(-c * c / 2) / np.sqrt(2 * np.pi))


def list_capacity(d: int, k: int, batches: int = 8) -> Mean:
    """The p at which p D_k(p) = d^2, and its standard error from that of D_k.

    D_k changes by less than the noise of its samples from one p to the next, so it is interpolated between a few p
    around the value of the limit.
    """
    d, k = whole("d", d, 2, 10**4), whole("k", k, 1, 10**4)
    guess = limit_capacity(d, k)
    grid = np.unique(np.maximum(np.round(guess * np.array([0.7, 1.0, 1.4, 2.0])), k + 1)).astype(int)
    found = [list_codimension(int(p), k, batches) for p in grid]
    logs, values = np.log(grid), np.array([one.value for one in found])
    fitted = np.polynomial.Polynomial.fit(logs, values, min(2, len(grid) - 1))
    root = brentq(lambda log: np.exp(log) * fitted(log) - d * d, np.log(grid[0]) - 1, np.log(grid[-1]) + 1)
    nearest = found[int(np.argmin(abs(logs - root)))]
    # d log p / d log D, at fixed d.
    slope = 1 / (1 + fitted.deriv()(root) / fitted(root))
    return Mean(float(np.exp(root)), float(np.exp(root) * slope * nearest.error / nearest.value))


def limit_capacity(d: int, k: int) -> float:
    """The same with the limit of D at the share k / p: a first guess."""
    most = np.log(2.0 * d * d + 2 * k)
    return float(np.exp(brentq(lambda log: log + np.log(limit_codimension(k / np.exp(log))) - 2 * np.log(d),
                               np.log(k + 0.5), max(most, np.log(k + 1.0)))))  # fmt: skip


def project_on_list(
    eta: Float[np.ndarray, "samples m"], k: int
) -> tuple[Float[np.ndarray, "samples"], Float[np.ndarray, "samples m"]]:
    """How far the nearest point of K lies from each row of eta: lambda, the step of the target, and that point."""
    target, rivals = eta[:, 0], eta[:, 1:]
    falling = -np.sort(-rivals, axis=1)
    low, high = np.zeros(len(eta)), np.maximum(falling[:, :k].mean(axis=1) - target, 0)
    for _ in range(_HALVINGS):
        step = (low + high) / 2
        lowered = falling - _taken(falling, step, k)
        short = target + step < lowered[:, :k].mean(axis=1)
        low, high = np.where(short, step, low), np.where(short, high, step)
    step = (low + high) / 2
    taken = _taken(rivals, step, k)
    return step, np.concatenate([(target + step)[:, None], rivals - taken], axis=1)


def _taken(rivals: Float[np.ndarray, "samples n"], step: Float[np.ndarray, "samples"], k: int) -> np.ndarray:
    """What each rival loses when all of them lose `step`: what lies above a level, at most step / k."""
    most = step[:, None] / k
    low, high = rivals.min(axis=1) - most[:, 0], rivals.max(axis=1)
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        too_much = np.clip(rivals - level[:, None], 0, most).sum(axis=1) > step
        low, high = np.where(too_much, level, low), np.where(too_much, high, level)
    return np.clip(rivals - high[:, None], 0, most)


@lru_cache(maxsize=256)
def _codimension(m: int, k: int, batches: int) -> Mean:
    """Each batch has targets from all parts of their law in turn, and what it finds for k = 1, whose mean is known,
    tells how much too large or too small its distances are."""
    random = np.random.default_rng((_SEED, m))
    means, known = [], mean_merged(m)
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
    return Mean(float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(batches)))
