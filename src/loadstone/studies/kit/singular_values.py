"""Moments of singular values; their distance from a law, and the distance that a finite number of them has by chance.

Singular values repel each other, so the distance of a matrix from its limiting law is of order 1/m, not 1/sqrt(m): the
tables of the Kolmogorov test do not apply. Instead we compute the same distance for Gaussian matrices, whose law is
known.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from loadstone.estimate import deviation
from loadstone.theory.spectra import Spectrum, at_capacity, quarter_circle
from loadstone.threads import one_thread

FOURTH, TOP = "<s^4>/<s^2>^2", "largest singular value over root mean square"
_FINE = (np.arange(4000) + 0.5) / 4000


def moments(singular_values: ArrayLike) -> dict[str, float]:
    """The fourth moment in units of the squared second one, and the largest value in units of the root mean square:
    neither depends on the scale of the matrix."""
    squares = np.asarray(singular_values, float) ** 2
    mean = float(squares.mean())
    return {FOURTH: float((squares**2).mean()) / mean**2, TOP: math.sqrt(float(squares.max()) / mean)}


def kolmogorov(values: ArrayLike, law: Spectrum) -> float:
    """The largest difference between the cumulative distribution of the values and the law's.

    The values are first scaled to the second moment of the law, because the scale of W is arbitrary.
    """
    unscaled = np.asarray(values, float)
    scaled = np.sort(unscaled) * np.sqrt(_second_moment(law) / np.mean(unscaled**2))
    below, count = np.asarray(law.cdf(scaled)), len(scaled)
    return float(max((np.arange(1, count + 1) / count - below).max(), (below - np.arange(count) / count).max()))


@cache
def capacity_reference(d: int, rank: int) -> tuple[float, float]:
    """Mean and deviation of the distance to the law at capacity, for d x d Gaussian matrices cut to this rank.

    If the direction of W were uniform among the matrices that store everything, a memory of full rank at capacity
    would show exactly this, at any d.
    """
    return _reference(d, rank, at_capacity(rank / d).nonzero())


@cache
def square_reference(rank: int) -> tuple[float, float]:
    """Mean and deviation of the distance of rank x rank Gaussian matrices to the quarter circle, which is their law."""
    return _reference(rank, rank, quarter_circle())


def _reference(d: int, rank: int, law: Spectrum) -> tuple[float, float]:
    random = np.random.default_rng([d, rank])
    drawn = 200 if d <= 100 else 30
    matrices = (random.standard_normal((d, d)) for _ in range(drawn))
    with one_thread():
        distances = [kolmogorov(np.linalg.svd(matrix, compute_uv=False)[:rank], law) for matrix in matrices]
    return float(np.mean(distances)), deviation(distances)


@cache
def _second_moment(law: Spectrum) -> float:
    return float(np.mean(np.asarray(law.quantile(_FINE)) ** 2))


def scaled_density(values: np.ndarray, bins: np.ndarray) -> list[float]:
    """The density of the singular values of several matrices, each matrix in units of its root mean square."""
    scaled = values / np.sqrt((values**2).mean(axis=1, keepdims=True))
    return (np.histogram(scaled, bins)[0] / (scaled.size * (bins[1] - bins[0]))).tolist()
