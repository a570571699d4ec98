"""Rounding to b bits: 2^b equally spaced levels, half of them negative, and the error for a normal number."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from loadstone.arguments import whole

MOST_BITS = 16


def half_levels(bits: int) -> int:
    """2^(b-1), the number of positive levels: they are (k + 1/2) step, k = 0, 1, ..."""
    return 2 ** (whole("bits", bits, 1, MOST_BITS) - 1)


@cache
def step_of(bits: int) -> float:
    """The spacing of the levels with the least mean squared error for a normal number of unit variance."""
    half = half_levels(bits)
    # The largest of many levels is beyond four deviations, that of few is about one: the step lies in between.
    bounds = np.log(0.5 / half), np.log(16 / half)
    change = lambda log_step: _change(half, float(np.exp(log_step)))  # noqa: E731
    return float(np.exp(minimize_scalar(change, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x))


@cache
def change_of(bits: int) -> float:
    """The mean squared error of a normal number of unit variance that is rounded with that spacing."""
    return _change(half_levels(bits), step_of(bits))


def _change(half: int, step: float) -> float:
    """The mean squared error: twice that of x > 0, from the moments of a normal number on each interval."""
    edges = np.append(np.arange(half) * step, np.inf)
    density = np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
    times = np.append(edges[:-1], 0) * density  # at infinity it is zero
    mass, first = np.diff(ndtr(edges)), -np.diff(density)
    levels = (np.arange(half) + 0.5) * step
    return float(2 * (mass - np.diff(times) - 2 * levels * first + levels**2 * mass).sum())
