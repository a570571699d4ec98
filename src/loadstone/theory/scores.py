"""Scores of one association at capacity, at finite p: the projection of eta ~ N(0, I_p) onto the cone K_p.

At capacity the memory is unique up to its scale, and the scores of an association are that projection: its target
scores tau, the k merged rivals score exactly tau, and the others keep their eta_rho < tau. Everything follows from the
joint law f(k, tau) of cone.py. Rivals then have a deviation slightly below 1; measured scores, which are divided by the
rivals' deviation, compare with the law after division by `rival_deviation`. Throughout p is the number of outputs that
compete for an association; how many associations there are does not matter at capacity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.special import log_ndtr

from loadstone.theory.checks import each, finite, scalar, whole_number, whole_numbers
from loadstone.theory.cone import GRID, MOST, STEP, joint_log_density


def target_density(score: ArrayLike, p: int) -> np.ndarray | float:
    """Density of the target's score tau at capacity, sum_k f(k, tau). Whole p in 2..10^15."""
    return scalar(np.exp(joint_log_density(whole_number("p", p, 2, MOST), finite("score", score))).sum(axis=0))


def target_mean(p: ArrayLike) -> np.ndarray | float:
    """The mean E tau of the target's score: 1.733, 2.446, 3.069 at p = 100, 1000, 10000.

    It is close to the limit sqrt(2 log p) only for astronomically large p.
    """
    return each(lambda n: _moments(n)[0], whole_numbers("p", p, 2, MOST))


def target_deviation(p: ArrayLike) -> np.ndarray | float:
    """Standard deviation of the target's score: it falls with p, so targets concentrate while rivals do not."""
    return each(lambda n: _moments(n)[1], whole_numbers("p", p, 2, MOST))


def rival_density(score: ArrayLike, p: int) -> np.ndarray | float:
    """Density of the score of one of the p-1 rivals, drawn at random, merged ones included.

    With probability (p-1-k)/(p-1) a rival is not merged and is a normal number below tau; otherwise it scores tau.
    """
    p, score = whole_number("p", p, 2, MOST), finite("score", score)
    density = np.exp(joint_log_density(p, score))
    k = np.arange(len(density))
    merged = np.tensordot(k, density, axes=1) / (p - 1)
    # phi(s) times the mean of 1[tau > s] (p-1-k) / ((p-1) Phi(tau)).
    free = np.exp(joint_log_density(p, GRID) - log_ndtr(GRID)) * (p - 1 - k)[:, None] / (p - 1)
    below = CubicSpline(GRID, free.sum(axis=0)).antiderivative()
    beyond = np.maximum(0, below(GRID[-1]) - below(np.clip(score, GRID[0], GRID[-1])))
    return scalar(np.exp(-(score**2) / 2) / np.sqrt(2 * np.pi) * beyond + merged)


def rival_deviation(p: ArrayLike) -> np.ndarray | float:
    """Standard deviation of a rival's score.

    The projection shortens eta by its distance: E |scores|^2 = p - D(p), of which the target has E tau^2.
    """

    def deviation(n: float) -> float:
        mean, spread, merged = _moments(n)
        square = (n - merged - mean**2 - spread**2) / (n - 1)
        return float(np.sqrt(square - (mean / (n - 1)) ** 2))

    return each(deviation, whole_numbers("p", p, 2, MOST))


def _moments(p: float) -> tuple[float, float, float]:
    """Mean and deviation of tau, and the mean of k."""
    by_k = np.exp(joint_log_density(int(p), GRID)) * STEP
    weight = by_k.sum(axis=0)
    mean = float(weight @ GRID)
    return mean, float(np.sqrt(weight @ (GRID - mean) ** 2)), float(np.arange(len(by_k)) @ by_k.sum(axis=1))
