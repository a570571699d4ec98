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
from scipy.special import ndtr

from loadstone.theory.checks import checked, each, single, whole_numbers
from loadstone.theory.cone import MOST, joint_log_density, merge_law

#: Largest margin, in units of a random score: more is never asked for, and its law of k would take long to sum.
MOST_MARGIN = 1000.0
#: Points of the trapezium rule in tau, in units of a typical width. It converges exponentially: the law is analytic.
_POINTS = np.arange(-14.0, 14.0 + 0.01, 0.02)


@overload
def codimension(answers: int, margin: float = 0.0) -> float: ...
@overload
def codimension(answers: ArrayLike, margin: ArrayLike = 0.0) -> np.ndarray | float: ...
def codimension(answers: ArrayLike, margin: ArrayLike = 0.0) -> np.ndarray | float:
    """How many dimensions one fact costs, D_gamma(M), to about 10 digits.

    answers: M, whole, in 2..10^15. margin: gamma, in units of |W|, in 0..1000.

    Example:
        >>> from loadstone.theory.codimension import codimension
        >>> round(codimension(100), 4), round(codimension(100, margin=0.5), 4)
        (4.7933, 6.7276)
    """
    answers, margin = whole_numbers("answers", answers, 2, MOST), checked_margins(margin)
    return each(lambda m, gamma: _cost(int(m), float(gamma)), answers, margin)


#: The old name, from when it was about facts with a margin only.
margin_codimension = codimension


def checked_margins(margin: ArrayLike) -> np.ndarray:
    """Margins as an array, or a refusal.

    Negative ones would make the set of allowed W on the sphere |W| = 1 no longer convex, which is other physics.
    """
    allowed = f"at least 0 and at most {MOST_MARGIN:g}"
    return checked("margin", margin, allowed, lambda array: (array >= 0) & (array <= MOST_MARGIN))


def checked_margin(margin: float) -> float:
    """One margin, or a refusal."""
    return float(checked_margins(single("margin", margin)))


@lru_cache(maxsize=4096)
def _cost(answers: int, gamma: float) -> float:
    """D_gamma(M) = E k + gamma (gamma + E tau), summed over the part of the law of (k, tau) that counts."""
    if not gamma:
        return merge_law(answers).mean
    centre, merged = _typical(answers, gamma)
    spread = 30 + 4.5 * np.log(answers) + 14 * np.sqrt(merged)
    k = np.arange(max(0, int(merged - spread)), min(answers, int(merged + spread) + 1))
    # The more rivals are merged, the sharper is tau; between k = 0 and a few it can lie anywhere within some units.
    unit = 1 / np.sqrt(1 + merged / 10)
    tau = centre + unit * _POINTS
    law = np.exp(joint_log_density(answers, tau, gamma, k)) * (0.02 * unit)
    return float(k @ law.sum(axis=1) + gamma * ((gamma + tau) @ law.sum(axis=0)))


def _typical(answers: int, gamma: float) -> tuple[float, float]:
    """tau and k if sums over rivals did not fluctuate: gamma + tau = (M-1) E (eta - tau)_+ and k = (M-1) Phi(-tau)."""

    def lack(tau: float) -> float:
        above = math.exp(-(tau**2) / 2) / math.sqrt(2 * math.pi) - tau * float(ndtr(-tau))
        return (answers - 1) * above - gamma - tau

    tau = brentq(lack, -gamma - 1.0, 40.0)
    return tau, (answers - 1) * float(ndtr(-tau))
