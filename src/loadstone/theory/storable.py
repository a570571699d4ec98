"""Probability that a decoupled instance is storable at full rank, by the conic kinematic formula: no free parameter.

The scores of all associations form the vector (W -> scores) in R^(p^2): a random subspace of d^2 dimensions. The
instance is storable when that subspace meets K_p x ... x K_p. With N the sum of p independent numbers k, each with the
law v_k(p) of the projection onto K_p (cone.py), that happens with probability

    P(storable) = 2 [ P(N = d^2 - 1) + P(N = d^2 - 3) + ... ].

The formula is exact for a uniformly random subspace. The assumption is that scores of Gaussian embeddings behave like
one (measured: this holds already at d = 12). The original problem, whose outputs are shared, can store a little more at
small d.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft
from scipy.special import ndtr

from loadstone.arguments import refuse
from loadstone.theory.checks import each, whole_number, whole_numbers
from loadstone.theory.cone import MOST, merge_law

#: Longest Fourier transform for the law of N; beyond it N is closer to a Gaussian than any measurement could tell.
_LONGEST = 2**22
#: The law of N is computed on a window of this many deviations; beyond it the tails are negligible.
_WINDOW = 40


def probability_storable(p: ArrayLike, d: ArrayLike) -> np.ndarray | float:
    """P(storable) for whole p in 2..10^15 and whole d >= 1; exact up to about p = 10^8, then Gaussian."""
    p, d = whole_numbers("p", p, 2, MOST), whole_numbers("d", d, 1, 10**9)
    return each(lambda p, d: _probability(int(p), int(d)), p, d)


def gaussian_probability_storable(p: ArrayLike, d: ArrayLike) -> np.ndarray | float:
    """Phi((d^2 - p D) / sqrt(p Var k)): the same in the Gaussian approximation, to O(1/sqrt(p))."""
    p, d = whole_numbers("p", p, 2, MOST), whole_numbers("d", d, 1, 10**9)
    return each(lambda p, d: _gaussian(int(p), int(d)), p, d)


def storable_interval(d: int, share: float = 0.95) -> tuple[int, int]:
    """Least and largest p of an interval that holds a stream's exact capacity with at least this probability.

    A stream's capacity is at least p exactly when its first p associations are storable, so its law has the tail
    probability_storable(p, d).
    """
    d = whole_number("d", d, 1, 10**6)
    if not isinstance(share, float) or not 0 < share < 1:
        raise refuse("share", share, "a number in (0, 1)")
    rest = (1 - share) / 2
    return _last_above(d, 1 - rest), _last_above(d, rest)


def capacity_moments(d: int) -> tuple[float, float]:
    """Mean and deviation of the exact capacity of a stream, for d up to 300: sums over its tail P(capacity >= p)."""
    d = whole_number("d", d, 1, 300)
    low, high = storable_interval(d, 1 - 1e-9)
    p = np.arange(low, high + 2)
    tail = np.array([_probability(int(one), d) if one > 1 else 1.0 for one in p])
    # Up to `low` the tail is 1 to nine digits: E c = low + sum over p > low, E c^2 likewise with weights 2 p - 1.
    mean = low + tail[1:].sum()
    square = low**2 + ((2 * p[1:] - 1) * tail[1:]).sum()
    return float(mean), float(np.sqrt(square - mean**2))


def _last_above(d: int, probability: float) -> int:
    """The largest p that is storable with more than this probability; 1, which has no rivals, if there is none."""
    low, high = 1, 2
    while _probability(high, d) > probability:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _probability(middle, d) > probability else (low, middle)
    return low


def _gaussian(p: int, d: int) -> float:
    law = merge_law(p)
    return float(ndtr((d * d - p * law.mean) / math.sqrt(p * law.variance)))


def _probability(p: int, d: int) -> float:
    law = merge_law(p)
    mean, deviation = p * law.mean, math.sqrt(p * law.variance)
    length = 2 ** math.ceil(math.log2(_WINDOW * deviation + len(law.probabilities)))
    if length > _LONGEST:
        return _gaussian(p, d)
    first = round(mean) - length // 2
    last = d * d - 1
    if last < first:
        return 0.0
    if last >= first + length:
        return 1.0
    pmf = _law_of_sum(law.probabilities, p, length, first)
    chosen = pmf[last - first :: -2]
    return float(np.clip(2 * chosen.sum(), 0, 1))


def _law_of_sum(probabilities: np.ndarray, p: int, length: int, first: int) -> np.ndarray:
    """P(N = first), ..., P(N = first + length - 1) for N the sum of p independent k's.

    The p-th power of the characteristic function, at `length` frequencies, gives the law modulo `length`; the window
    holds all of it.
    """
    v = probabilities / probabilities.sum()
    characteristic = np.fft.rfft(v, length)
    modulus = np.exp(p * np.log(np.maximum(np.abs(characteristic), 1e-300)))
    shift = np.mod(np.arange(len(characteristic)) * first, length) / length
    phase = p * np.angle(characteristic) + 2 * np.pi * shift
    return irfft(modulus * np.exp(1j * phase), length)
