"""Passes of searches of which some ran out: quantiles over streams, and the exponent near the capacity.

A search that ran out of passes took more than any that did not, which is all that a quantile needs to know: its passes
are infinite, and nothing is left out.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float64

#: Exponents are fitted to distances up to this one: further away other things than the capacity slow a search down.
FURTHEST = 0.1
#: How often streams are drawn again for the standard error of an exponent.
_RESAMPLED = 400

#: A number for each stream and each of its sizes.
OfStreams = Float64[np.ndarray, "streams sizes"]


def quantiles(passes: OfStreams, share: float) -> Float64[np.ndarray, "sizes"]:
    """Quantiles among streams; between a number and infinity, which no interpolation knows, infinity."""
    ranked = np.sort(passes, axis=0)
    place = share * (len(passes) - 1)
    low, high = ranked[math.floor(place)], ranked[math.ceil(place)]
    with np.errstate(invalid="ignore"):  # infinity minus infinity, which is not used
        return np.where(np.isfinite(high), low + (place % 1) * (high - low), math.inf)


def slope(distances: OfStreams, passes: OfStreams) -> float:
    """z in median passes ~ distance^-z by least squares of the logarithms, over distances below FURTHEST (with room for
    whole associations) at which most streams were stored; not a number if there are fewer than two."""
    mean, median = distances.mean(axis=0), quantiles(passes, 0.5)
    used = (mean > 0) & (mean < 1.2 * FURTHEST) & np.isfinite(median)
    x, y = np.log(mean[used]), np.log(median[used])
    if len(np.unique(x)) < 2:  # in small streams several distances are the same number of associations
        return math.nan
    x = x - x.mean()
    return -float((x * y).sum() / (x * x).sum())


def slope_error(distances: OfStreams, passes: OfStreams) -> float:
    """The standard error of the slope, from streams drawn again with replacement (bootstrap); not a number if there are
    fewer than three, or if most draws have no slope."""
    if len(passes) < 3:
        return math.nan
    draws = np.random.default_rng(0).integers(0, len(passes), (_RESAMPLED, len(passes)))
    slopes = np.array([slope(distances[draw], passes[draw]) for draw in draws])
    slopes = slopes[np.isfinite(slopes)]
    return float(slopes.std(ddof=1)) if len(slopes) > _RESAMPLED // 2 else math.nan
