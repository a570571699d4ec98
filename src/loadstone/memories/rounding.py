"""Memories whose entries have few bits: 2^b levels at equal distances, half of them negative."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float, Float64
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from loadstone.arguments import whole

MOST_BITS = 16


def rounded_to_bits(weights: Float[np.ndarray, "d d"], bits: int) -> Float64[np.ndarray, "d d"]:
    """W with each entry at the nearest of 2^b levels. Their distance is the one that changes a Gaussian W least."""
    floats = np.asarray(weights, np.float64)
    return nearest_levels(floats, bits, step_of(bits) * float(np.sqrt((floats**2).mean())))


def nearest_levels(weights: Float64[np.ndarray, "d d"], bits: int, step: float) -> Float64[np.ndarray, "d d"]:
    """The nearest of the levels (k + 1/2) step, k = -2^(b-1) .. 2^(b-1) - 1."""
    half = 2 ** (whole("bits", bits, 1, MOST_BITS) - 1)
    return (np.clip(np.floor(weights / step), -half, half - 1) + 0.5) * step if step > 0 else np.zeros_like(weights)


@cache
def step_of(bits: int) -> float:
    """The distance of levels that changes a normal number of unit variance least, in the mean square."""
    half = 2 ** (whole("bits", bits, 1, MOST_BITS) - 1)

    def change(log_step: float) -> float:
        """Twice the integral over x > 0 of (x - level)^2, from the moments of a normal number on each interval."""
        step = np.exp(log_step)
        edges = np.append(np.arange(half) * step, np.inf)
        density = np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
        times = np.append(edges[:-1], 0) * density  # at infinity it is zero
        mass, first = np.diff(ndtr(edges)), -np.diff(density)
        levels = (np.arange(half) + 0.5) * step
        return float(2 * (mass - np.diff(times) - 2 * levels * first + levels**2 * mass).sum())

    # The largest level of many is beyond four deviations, of few about one: the step lies in between.
    bounds = np.log(0.5 / half), np.log(16 / half)
    return float(np.exp(minimize_scalar(change, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x))
