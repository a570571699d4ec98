"""D(M), what one fact costs of the dimensions of the memories: M answers compete for it, and it may need a margin.

Inputs and outputs have E|x|^2 = d, so that a random W of unit norm gives scores eta ~ N(0, I_M) to a fact that it does
not know. Storing the fact moves them into the set of those in which the target, the first, beats its rivals by a margin
gamma |W|_F, and

    D_gamma(M) = E dist^2(eta, {z : z_1 >= z_rho + gamma for all rho}).

Without a margin this is D(M), the mean number of merged rivals of cone.py, near 2 log M. With one, shifting the target
by -gamma turns the set into the cone K_M. So project x onto K_M, where x_1 is N(-gamma, 1) and the rivals are N(0, 1):
k of them are merged with the target at tau, with the joint law

    f(k, tau) = C(M-1, k) J_k(gamma) sqrt((k+1)/(2 pi)) exp(-(k+1) tau^2/2 - gamma tau) Phi(tau)^(M-1-k),
    J_k(gamma) = sqrt(k+1) 2^(-k) E[exp(-i sqrt(2) gamma t) w(t)^k],   t ~ N(0, 1/2), w(t) = exp(-t^2) erfc(-i t),

and Stein's lemma gives D_gamma(M) = E k + gamma (gamma + E tau). docs/theory/margin.md derives this. M = 2 is Gardner's
integral. All this is the limit of large d.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, wofz

from loadstone.arguments import refuse
from loadstone.theory.checks import each, numbers, plain, whole_numbers
from loadstone.theory.cone import MOST, merge_law

#: Largest margin, in units of a random score: more is never asked for, and its law of k would take long to sum.
MOST_MARGIN = 1000.0
#: Points of the trapezium rule, in units of a typical width. Integrands are analytic, so it converges exponentially.
_POINTS = np.arange(-14.0, 14.0 + 0.01, 0.02)
_LINE = np.arange(-12.0, 12.0 + 0.025, 0.05)


@overload
def codimension(answers: int, margin: float = 0.0) -> float: ...
@overload
def codimension(answers: ArrayLike, margin: ArrayLike = 0.0) -> np.ndarray | float: ...
def codimension(answers: ArrayLike, margin: ArrayLike = 0.0) -> np.ndarray | float:
    """What one fact costs, D_gamma(M), to about 10 digits.

    answers: M, whole, in 2..10^15. margin: gamma, in units of |W|, in 0..1000.

    Example:
        >>> from loadstone.theory.codimension import codimension
        >>> round(codimension(100), 4), round(codimension(100, margin=0.5), 4)
        (4.7933, 6.7276)
    """
    answers, margin = whole_numbers("answers", answers, 2, MOST), checked_margins(margin)
    return each(lambda m, gamma: _of_one(int(m), float(gamma)), answers, margin)


#: The old name, from when only facts with a margin had it.
margin_codimension = codimension


def checked_margins(margin: ArrayLike) -> np.ndarray:
    """Margins as an array, or a refusal.

    Negative ones would make the set of allowed W on the sphere |W| = 1 no longer convex, which is other physics.
    """
    allowed = f"at least 0 and at most {MOST_MARGIN:g}"
    array = numbers("margin", margin, allowed)
    if not np.all((array >= 0) & (array <= MOST_MARGIN)):
        raise refuse("margin", plain(array), allowed)
    return array


def _of_one(answers: int, gamma: float) -> float:
    return _with_margin(answers, gamma) if gamma else merge_law(answers).mean


@lru_cache(maxsize=4096)
def _with_margin(answers: int, gamma: float) -> float:
    """D_gamma(M) = E k + gamma (gamma + E tau), summed over the part of the law of (k, tau) that counts."""
    centre, merged = _typical(answers, gamma)
    spread = 30 + 4.5 * np.log(answers) + 14 * np.sqrt(merged)
    k = np.arange(max(0, int(merged - spread)), min(answers, int(merged + spread) + 1))
    # The more rivals are merged, the sharper is tau; between k = 0 and a few it can lie anywhere within some units.
    unit = 1 / np.sqrt(1 + merged / 10)
    tau = centre + unit * _POINTS
    of_k = _log_choose(answers - 1, k) + _log_weight(k, gamma) + 0.5 * np.log((k + 1) / (2 * np.pi))
    of_both = -np.multiply.outer(k + 1, tau**2 / 2) + np.multiply.outer(answers - 1 - k, log_ndtr(tau))
    law = np.exp(of_k[:, None] + of_both - gamma * tau) * (0.02 * unit)
    return float(k @ law.sum(axis=1) + gamma * ((gamma + tau) @ law.sum(axis=0)))


def _typical(answers: int, gamma: float) -> tuple[float, float]:
    """tau and k if sums over rivals did not fluctuate: gamma + tau = (M-1) E (eta - tau)_+ and k = (M-1) Phi(-tau)."""

    def lack(tau: float) -> float:
        above = math.exp(-(tau**2) / 2) / math.sqrt(2 * math.pi) - tau * float(ndtr(-tau))
        return (answers - 1) * above - gamma - tau

    tau = brentq(lack, -gamma - 1.0, 40.0)
    return tau, (answers - 1) * float(ndtr(-tau))


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    """log C(n, k) for consecutive k, as a sum of logs: differences of log-gamma would lose digits for large n."""
    steps = np.arange(1, k[-1] + 1)
    return np.concatenate([[0.0], np.cumsum(np.log((n + 1 - steps) / steps))])[k[0] :]


def _log_weight(k: np.ndarray, gamma: float) -> np.ndarray:
    """log J_k(gamma), on a line t = x + i s through the saddle point of exp(-t^2 - i sqrt(2) gamma t) w(t)^k."""
    root = math.sqrt(2) * gamma
    low, high = np.full(len(k), -root / 2), np.sqrt(k) + 1.0
    for _ in range(60):
        s = (low + high) / 2
        rising = 2 * s + root + k * _slope(s) > 0
        low, high = np.where(rising, low, s), np.where(rising, s, high)
    curvature = 2 + k * (2 + (2 * s - _slope(s)) * _slope(s))
    unit = np.sqrt(2 / curvature)[:, None]
    t = unit * _LINE + 1j * s[:, None]
    exponent = -(t**2) - 1j * root * t + k[:, None] * _log_faddeeva(t)
    top = exponent.real.max(axis=1, keepdims=True)
    total = (np.exp(exponent - top).real * unit).sum(axis=1) * (0.05 / math.sqrt(math.pi))
    return 0.5 * np.log(k + 1) - k * math.log(2) + top[:, 0] + np.log(total)


def _slope(s: np.ndarray) -> np.ndarray:
    """The derivative of log w(i s) = log erfcx(s); below -26 erfcx overflows, and the slope is 2 s."""
    return 2 * s - np.where(s > -26, 2 / (math.sqrt(math.pi) * erfcx(np.maximum(s, -26))), 0)


def _log_faddeeva(t: np.ndarray) -> np.ndarray:
    """log w(t). In the lower half-plane w(t) = 2 exp(-t^2) - w(-t), whose first term may overflow."""
    lower = t.imag < 0
    upper = wofz(np.where(lower, -t, t))
    square = np.where(lower, t**2, 0)
    return np.where(lower, np.log(2 - np.exp(square) * upper) - square, np.log(upper))
