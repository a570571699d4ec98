"""The mean of normal numbers of which some are only known to lie below, or above, a bound.

A stream whose training already fails at the first load has its threshold somewhere below. To leave it out would make
the mean too large. The maximum-likelihood mean and deviation use what is known (Tobin, Econometrica 26, 24, 1958).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr

_MOST_STEPS = 2000


class CensoredMean(NamedTuple):
    """The maximum-likelihood mean, its standard error, and the standard deviation of a single number."""

    mean: float
    error: float
    deviation: float


def censored_mean(
    known: Sequence[float], below: Sequence[float] = (), above: Sequence[float] = (), least: float = 0.0
) -> CensoredMean | None:
    """The mean of `known` values and of others that lie below or above these bounds.

    least: the deviation is taken to be at least this, which is needed where all known values are equal.
    None if fewer than two values are known and others are not: then there are only bounds.
    """
    values, lows, highs = (np.asarray(numbers, float) for numbers in (known, below, above))
    count, bounded = len(values) + len(lows) + len(highs), len(lows) + len(highs)
    if not count or (bounded and len(values) < 2):
        return None
    mean = float(values.mean())
    deviation = max(least, float(values.std()))
    if bounded and not deviation:
        return None
    for _ in range(_MOST_STEPS if bounded else 0):
        before = mean, deviation
        first, second = zip(_below(lows, mean, deviation), _below(-highs, -mean, deviation))
        # Expected distances from the mean, and their squares; those above are mirrored.
        mean += float((values - mean).sum() + first[0].sum() - first[1].sum()) / count
        square = float(((values - mean) ** 2).sum() + second[0].sum() + second[1].sum()) / count
        deviation = max(least, math.sqrt(square))
        if abs(mean - before[0]) + abs(deviation - before[1]) < 1e-10 * deviation:
            break
    # The maximum-likelihood deviation is too small, as it is without bounds.
    deviation *= math.sqrt(count / (count - 1)) if count > 1 else 1.0
    deviation = max(least, deviation)
    return CensoredMean(mean, _error(values, lows, highs, mean, deviation), deviation)


def _ratio(z: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Density over distribution function of the normal law, also far out."""
    return np.exp(-(z**2) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(z))


def _below(bounds: Float[np.ndarray, "n"], mean: float, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """E[x - mean] and E[(x - mean)^2] of normal numbers below the bounds."""
    z = (bounds - mean) / deviation
    ratio = _ratio(z)
    return -deviation * ratio, deviation**2 * (1 - z * ratio)


def _error(values: np.ndarray, lows: np.ndarray, highs: np.ndarray, mean: float, deviation: float) -> float:
    """The standard error of the mean: the inverse of the observed information about mean and deviation."""
    if not deviation:
        return 0.0
    z = (values - mean) / deviation
    information = np.array([[len(z), 2 * z.sum()], [2 * z.sum(), (3 * z**2 - 1).sum()]])
    for bounds, sign in (((lows - mean) / deviation, 1), ((mean - highs) / deviation, -1)):
        ratio = _ratio(bounds)
        curved = ratio * (ratio + bounds)
        cross = sign * (curved * bounds - ratio).sum()
        information += [[curved.sum(), cross], [cross, (curved * bounds**2 - 2 * bounds * ratio).sum()]]
    # Without bounds the two are independent, and one value tells nothing about the deviation.
    if not (len(lows) or len(highs)):
        return deviation / math.sqrt(len(values))
    return deviation * math.sqrt(float(np.linalg.inv(information)[0, 0]))
