"""Capacity: the largest load, or number of associations, that fits. In the limit of large sizes and at finite size."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammaln

from loadstone.arguments import choice, refuse
from loadstone.bisect import largest
from loadstone.theory.checks import at_least, each, fractions, plain, scalar, whole_numbers
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import MOST
from loadstone.theory.load import associations

#: Load up to which the Hebbian rule W = (1/d) sum u e^T stores everything (paper, theorem on the Hebbian ansatz).
HEBBIAN_CAPACITY = 1 / 8
#: Largest d for the capacity at finite size: beyond it p_c would leave the range of D(p).
MOST_DIMENSION = 10**8


def capacity(kappa: ArrayLike = 1.0) -> np.ndarray | float:
    """The load at capacity in the limit of large sizes, alpha_c(kappa), for memories of rank fraction kappa: 1/2 at 1.

    alpha_c(kappa) = (1/2) int_{X(1-kappa)}^{2} rho(s) s^2 ds, with rho(s) = sqrt(4 - s^2) / pi on [0, 2], and X the
    quantile function of that quarter-circle law. With s = 2 cos(x/2) both integrals are elementary.
    Limit p, d -> infinity, replica-symmetric for kappa < 1 (paper, claim 2).

    Example:
        >>> from loadstone.theory.capacity import capacity
        >>> capacity(), round(capacity(0.25), 4)
        (0.5, 0.3115)
    """
    return each(_capacity, fractions("kappa", kappa))


def finite_capacity(p: ArrayLike, kappa: ArrayLike = 1.0) -> np.ndarray | float:
    """The load at which p associations just fit: alpha_c(p; kappa) = 2 alpha_c(kappa) log p / D(p).

    For kappa = 1 this is p D(p) = d^2, sharp up to a width of order sqrt(p). For whole p >= 2 and d large enough for a
    threshold to be visible (d = 12 is); replica-symmetric for kappa < 1.

    Example:
        >>> from loadstone.theory.capacity import finite_capacity
        >>> round(finite_capacity(1000), 4)
        0.8507
    """
    p = whole_numbers("p", p, 2, MOST)
    return scalar(2 * np.asarray(capacity(kappa)) * np.log(p) / codimension(p))


def capacity_associations(d: ArrayLike, kappa: ArrayLike = 1.0) -> np.ndarray | float:
    """How many associations fit at finite size: the p with p D(p) = 2 alpha_c(kappa) d^2, linear between whole numbers.

    Its integer part is the largest p that is more likely storable than not. It is at least 1, because a single
    association has no rival.

    Example:
        >>> from loadstone.theory.capacity import capacity_associations
        >>> round(capacity_associations(20), 2)
        86.87
    """
    d, kappa = at_least("d", d, 1), fractions("kappa", kappa)
    if np.any(d > MOST_DIMENSION):
        raise refuse("d", plain(d), f"at most {MOST_DIMENSION:g}")
    return each(lambda room: facts_that_fit(lambda p: room), 2 * np.asarray(capacity(kappa)) * d**2)


def asymptotic_capacity_associations(d: ArrayLike, kappa: ArrayLike = 1.0) -> np.ndarray | float:
    """How many associations fit by the limit alone, p log p = alpha_c(kappa) d^2; finite sizes hold more.

    Example:
        >>> from loadstone.theory.capacity import asymptotic_capacity_associations
        >>> round(asymptotic_capacity_associations(100), 1)
        754.6
    """
    return associations(capacity(kappa), d)


def hebbian_associations(d: ArrayLike) -> np.ndarray | float:
    """How many associations the Hebbian rule stores in the limit: the real p with p log p = d^2 / 8.

    Example:
        >>> from loadstone.theory.capacity import hebbian_associations
        >>> round(hebbian_associations(100), 1)
        229.9
    """
    return associations(HEBBIAN_CAPACITY, d)


def parameters(d: ArrayLike, kappa: ArrayLike = 1.0) -> np.ndarray | float:
    """Free parameters of a d x d matrix of rank m = round(kappa d): d^2 at full rank, 2 d m - m^2 in general."""
    d, kappa = at_least("d", d, 1), fractions("kappa", kappa)
    m = np.maximum(1, np.round(kappa * d))
    return scalar(2 * d * m - m**2)


def bits_per_parameter(
    p: ArrayLike, d: ArrayLike, *, kappa: ArrayLike = 1.0, content: str = "pairing"
) -> np.ndarray | float:
    """Bits of information in p stored associations, per free parameter (d^2 or 2 d m - m^2 of them).

    'pairing' counts log2(p!) bits: which output belongs to which input, every output once. 'choice' counts
    p log2 p bits: every input could have any of the p outputs. Both tend to alpha / (log 2 (2 kappa - kappa^2)), which
    is 0.72 bits at capacity for kappa = 1.

    Example:
        >>> from loadstone.theory.capacity import bits_per_parameter
        >>> round(bits_per_parameter(85, 20), 4)
        1.0668
    """
    p = at_least("p", p, 1)
    choice("content", content, ("pairing", "choice"))
    bits = gammaln(p + 1) / math.log(2) if content == "pairing" else p * np.log2(p)
    return scalar(bits / parameters(d, kappa))


def _capacity(kappa: float) -> float:
    """alpha_c, with s = 2 cos(x/2): mass above s (x - sin x) / pi, half its second moment (2x - sin 2x) / (4 pi)."""
    if kappa == 1:
        return 0.5
    if kappa < 1e-27:
        return 2 * kappa  # only values of s = 2 are left
    # (x - sin x) / x^3 falls from 1/6 at 0 to 1/pi^2 at pi, which encloses the root in a narrow interval.
    least = (6 * math.pi * kappa) ** (1 / 3)
    most = min(math.pi, least * (math.pi**2 / 6) ** (1 / 3))
    x = brentq(lambda x: _less_sine(x) / (math.pi * kappa) - 1, 0.999 * least, most * 1.001, xtol=1e-15 * least)
    return _less_sine(2 * x) / (4 * math.pi)


def _less_sine(x: float) -> float:
    """x - sin x, with all its digits where x is small."""
    if x > 0.5:
        return x - math.sin(x)
    square, rest = x * x, 1.0
    for n in (12, 10, 8, 6, 4):
        rest = 1 - square / (n * (n + 1)) * rest
    return x * square / 6 * rest


def facts_that_fit(room: Callable[[int], float], margin: float = 0.0) -> float:
    """How many facts fit if each has its own answer: the p >= 1 with p D(p) = room(p), linear between whole numbers.

    room: dimensions of the memories, as far as p answers show them. D(1) = 0.
    """

    def needed(p: int) -> float:
        if p > MOST:
            raise refuse("delta", room(p), f"smaller: more than {MOST:g} facts would fit")
        return p * codimension(p, margin) if p > 1 else 0.0

    low = largest(lambda p: needed(p) <= room(p), 1)
    room_low, room_high = room(max(2, low)), room(low + 1)
    return low + (room_low - needed(low)) / (needed(low + 1) - needed(low) - (room_high - room_low))
