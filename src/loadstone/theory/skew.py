"""Capacity when some answers are asked for more often than others: fewer facts fit than with equal frequencies.

For M answers in at least M - 1 dimensions the scores of an input are W' e, and the M x d numbers of W' are free but for
a common shift. If answer y is the target of a share pi_y of the facts, the replica-symmetric capacity is

    N_c / d = max over Q min over B of Tr(B Q) / sum_y pi_y E dist_B^2(Q^(1/2) xi, K_y),   xi ~ N(0, I_M),

where Q is the Gram matrix of the rows of W', B the inverse of their response to a force, K_y the cone in which y has
the largest score and dist_B^2(x, K) the least (v - x)^T B (v - x) of all v in K, all modulo a common shift. Here both
are diagonal, Q = diag a and B = diag b: the numerator is sum a b - sum a b^2 / sum b, and projecting onto K_y merges
the target with the rivals above their weighted mean tau, as in cone.py. For equal frequencies a = b = 1, and this is
d (M - 1) / D(M). For rare answers the least may lie at b = 0: they cost nothing.

The mean distance is an integral over two numbers (skew_integrals.py). It may be sampled instead, with the same samples
for every a and b, and divided by what they give for a = b = 1, where the exact value is known.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from loadstone.arguments import refuse
from loadstone.estimate import Estimate, mean_of
from loadstone.theory.checks import numbers, plain, whole_number
from loadstone.theory.codimension import codimension
from loadstone.theory.skew_integrals import Levels
from loadstone.theory.skew_saddle import Saddle
from loadstone.threads import one_thread

#: How many different frequencies are kept apart, and how many in the comparison that gives the error.
_LEVELS, _FEWER_LEVELS = 12, 8


def skewed_capacity(d: int, frequencies: ArrayLike, *, samples: int | None = None, seed: int = 0) -> Estimate:
    """How many facts fit if answers have these frequencies, for at most d + 1 answers.

    frequencies: of any positive scale; zero for an answer that is only a rival.
    Mean distances are integrals (skew_integrals.py); if there are more than a dozen different frequencies, similar ones
    are taken together, and the error says how much fewer of them would change. With a number of samples the distances
    are sampled instead, and the error is that of sampling. The formula is for many facts an answer, and for frequencies
    that are those of the facts themselves: for random targets see `random_target_capacity`.

    Example:
        >>> from loadstone.theory.skew import skewed_capacity
        >>> round(skewed_capacity(16, [3, 2, 1]).value, 1)
        37.2
    """
    d, shares = whole_number("d", d, 1, 10**6), _shares(frequencies)
    if len(shares) - 1 > d:
        allowed = (
            f"at most d + 1 = {d + 1}: with more answers the outputs depend on each other, and no formula is known"
        )
        raise refuse("the number of frequencies", len(shares), allowed)
    seed = whole_number("seed", seed, 0, 2**32 - 1)
    exact = d * (len(shares) - 1) / codimension(len(shares))
    if np.ptp(shares) == 0:
        return Estimate(exact, 0.0)
    if samples is None:
        return _integrated(d, shares)
    samples = whole_number("samples", samples, 100, 10**7)
    sampled = _Sampled(shares, samples, np.random.default_rng(seed))
    with one_thread():
        ratio, error = sampled.ratio(*sampled.saddle())
    return Estimate(exact * ratio, exact * error)


def _integrated(d: int, shares: np.ndarray) -> Estimate:
    levels = Levels(shares, _LEVELS)
    value = d * math.exp(levels.log_capacity())
    fewer = value if levels.exact else d * math.exp(Levels(shares, _FEWER_LEVELS).log_capacity())
    return Estimate(value, abs(fewer - value))


def random_target_capacity(
    d: int, frequencies: ArrayLike, *, draws: int = 20, samples: int = 4000, seed: int = 0
) -> Estimate:
    """Mean capacity if every fact draws its answer with these probabilities, so that counts scatter about them.

    Each draw has the counts of N_c facts and the capacity for them; N_c is then set to the mean, and this is repeated.

    Example:
        >>> from loadstone.theory.skew import random_target_capacity
        >>> round(random_target_capacity(8, [1, 1, 1], draws=2, samples=200).value)
        19
    """
    draws, seed = whole_number("draws", draws, 2, 10**6), whole_number("seed", seed, 0, 2**31)
    random = np.random.default_rng(seed)
    facts, shares = skewed_capacity(d, frequencies, samples=samples, seed=seed).value, _shares(frequencies)
    for _ in range(2):
        counts = random.multinomial(max(1, round(facts)), shares, size=draws)
        capacities = [
            skewed_capacity(d, each, samples=samples, seed=seed + 1 + index).value for index, each in enumerate(counts)
        ]
        facts = float(np.mean(capacities))
    return mean_of(capacities)


class _Sampled(Saddle):
    """Samples of scores with their targets; answers of equal frequency are one level."""

    bound, slope_of_a, slope_of_b = 5.0, 1e-4, 1e-6

    def __init__(self, shares: np.ndarray, samples: int, random: np.random.Generator) -> None:
        _, self.level = np.unique(-shares, return_inverse=True)  # the most frequent first
        self.counts, self.shares = np.bincount(self.level).astype(float), np.bincount(self.level, shares)
        # As many samples of each target as its share says, to within one.
        steps = (np.arange(samples) + random.random()) / samples
        self.targets = np.minimum(np.searchsorted(np.cumsum(shares), steps), len(shares) - 1)
        self.xi = random.standard_normal((samples, len(shares)))

    def ratio(self, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
        """The ratio relative to a = b = 1, and its error; at a stationary point errors of a and b hardly matter."""
        ones = np.ones_like(a)
        square, of_ones = self._each(a, b)[0], self._each(ones, ones)[0]
        value = self.numerator(a, b)[0] / square.mean() / (self.numerator(ones, ones)[0] / of_ones.mean())
        scatter = square / square.mean() - of_ones / of_ones.mean()
        return float(value), float(value * scatter.std() / np.sqrt(len(scatter)))

    def squares(self, a: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        square, by_a, by_b = self._each(a, b)
        return float(square.mean()), by_a, by_b

    def _each(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """dist_B^2 of each sample, and the derivatives of its mean. The nearest point moves only to second order."""
        a, b = a[self.level], b[self.level]
        x = self.xi * np.sqrt(a)
        moved = x - weighted_projection(x, b, self.targets)
        slopes = (b * moved * x).mean(axis=0) / a, (moved**2).mean(axis=0)
        return (moved**2) @ b, *(np.bincount(self.level, slope) for slope in slopes)


def weighted_projection(x: np.ndarray, weights: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """For each row the nearest v with v_target >= v_rho for all rho, at the cost sum of weights (v - x)^2.

    Rivals above tau, the weighted mean of the target and of all rivals above it, come down to tau. They are added in
    falling order until the next one is below the mean so far.
    """
    rows = np.arange(len(x))
    own, heavy = x[rows, targets], weights[targets]
    rivals = x.copy()
    rivals[rows, targets] = -np.inf
    order = np.argsort(-rivals, axis=1)[:, :-1]
    falling, weight = np.take_along_axis(x, order, axis=1), weights[order]
    means = (heavy * own)[:, None] + np.cumsum(weight * falling, axis=1)
    means /= heavy[:, None] + np.cumsum(weight, axis=1)
    before = np.concatenate([own[:, None], means[:, :-1]], axis=1)
    merged = (falling > before).sum(axis=1)
    tau = np.concatenate([own[:, None], means], axis=1)[rows, merged]
    nearest = np.minimum(x, tau[:, None])
    nearest[rows, targets] = tau
    return nearest


def _shares(frequencies: ArrayLike) -> np.ndarray:
    allowed = "at least two numbers, none negative and not all zero"
    array = numbers("frequencies", frequencies, allowed)
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise refuse("frequencies", plain(array), allowed)
    scaled = array / array.max()
    return scaled / scaled.sum()
