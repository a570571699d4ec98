"""A number estimated from samples, with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Estimate(NamedTuple):
    """A number, or an array of numbers, from samples.

    value: the number.
    error: its standard error; 0 where the samples cannot show it.
    """

    value: float
    error: float


def deviation(values: ArrayLike) -> float:
    """The sample standard deviation, with n - 1 in the denominator; 0 for a single value, which shows no scatter."""
    values = np.asarray(values, float)
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def mean_of(values: Sequence[float] | np.ndarray, resolution: float = 0.0) -> Estimate:
    """The mean of independent values, and its standard error.

    resolution: a further standard error of the mean, which the scatter of the values does not show.
    """
    return Estimate(float(np.mean(values)), math.hypot(deviation(values) / math.sqrt(len(values)), resolution))
