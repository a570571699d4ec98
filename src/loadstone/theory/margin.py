"""Facts stored with a margin: every target beats its rivals by kappa |W|_F. How many fit, or how large kappa can be.

Inputs and outputs have E|x|^2 = d, so that a random W of unit norm gives scores of variance 1. Then N facts with M
answers each fit into memories of statistical dimension delta (d^2 for all W) when

    N D_kappa(M) < delta,   D_kappa(M) = E dist^2(eta, {z : z_1 >= z_rho + kappa for all rho}),   eta ~ N(0, I_M).

Shifting the target by -kappa turns that set into the cone K_M of cone.py. So project x onto K_M, where x_1 is
N(-kappa, 1) and the rivals are N(0, 1): k of them are merged with the target at tau, with the joint law

    f(k, tau) = C(M-1, k) J_k(kappa) sqrt((k+1)/(2 pi)) exp(-(k+1) tau^2/2 - kappa tau) Phi(tau)^(M-1-k),
    J_k(kappa) = sqrt(k+1) 2^(-k) E[exp(-i sqrt(2) kappa t) w(t)^k],   t ~ N(0, 1/2), w(t) = exp(-t^2) erfc(-i t),

and Stein's lemma gives D_kappa(M) = E k + kappa (kappa + E tau). docs/theory/margin.md derives this. kappa = 0 is
cone.py, and M = 2 is Gardner's integral. All this is the limit of large d.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, wofz

from loadstone.arguments import refuse
from loadstone.bisect import largest
from loadstone.theory.checks import each, numbers, plain, positives, single, whole_number, whole_numbers
from loadstone.theory.cone import MOST

#: Largest margin, in units of a random score: more is never asked for, and its law of k would take long to sum.
MOST_MARGIN = 1000.0
#: Points of the trapezium rule, in units of a typical width. Integrands are analytic, so it converges exponentially.
_POINTS = np.arange(-14.0, 14.0 + 0.01, 0.02)
_LINE = np.arange(-12.0, 12.0 + 0.025, 0.05)
#: What just fits may seem not to, by rounding: two facts with two answers need delta = 1.
_ROUNDING = 1e-12


def margin_codimension(answers: ArrayLike, margin: ArrayLike) -> np.ndarray | float:
    """D_kappa(M) for whole M = `answers` in 2..10^15 and kappa = `margin` in 0..1000, to about 10 digits."""
    answers, margin = whole_numbers("answers", answers, 2, MOST), _margins(margin)
    return each(lambda m, kappa: _codimension(int(m), float(kappa)), answers, margin)


def margin_capacity(delta: ArrayLike, answers: ArrayLike | None, margin: ArrayLike) -> np.ndarray | float:
    """How many facts fit with this margin: N with N D_kappa(M) = delta, for M answers or (None) one answer a fact.

    delta: statistical dimension of the memories, d^2 for all of them. With one answer a fact (M = N, as in the paper) N
    is linear between whole numbers. A margin that not even one fact (with M = N: two) could have is refused.
    """
    delta, margin = positives("delta", delta), _margins(margin)
    if answers is None:
        return each(lambda room, kappa: _paired_capacity(float(room), float(kappa)), delta, margin)
    answers = whole_numbers("answers", answers, 2, MOST)
    return each(lambda room, m, kappa: _capacity(float(room), int(m), float(kappa)), delta, answers, margin)


def largest_margin(delta: float, facts: float, answers: int | None = None) -> float:
    """The kappa with N D_kappa(M) = delta: the largest margin with which N = `facts` fit, for |W|_F = 1.

    With `answers` None each fact has an answer of its own, and `facts` is whole. More facts than can be stored at all
    are refused.
    """
    delta = float(positives("delta", single("delta", delta)))
    paired = answers is None
    if answers is None:
        facts = answers = whole_number("facts", facts, 2, MOST)
    else:
        facts = float(positives("facts", single("facts", facts)))
        answers = whole_number("answers", answers, 2, MOST)
    room = delta / facts
    if room < _codimension(answers, 0.0) * (1 - _ROUNDING):
        most = _paired_capacity(delta, 0.0) if paired else _capacity(delta, answers, 0.0)
        raise refuse("facts", facts, f"at most {most:.6g}, because more cannot be stored with any margin")
    # Against one rival alone D_kappa is above kappa^2 / 2, and more rivals only add to it.
    above = math.sqrt(2 * room)
    if above > MOST_MARGIN:
        raise refuse("delta / facts", room, f"at most {MOST_MARGIN**2 / 2:g}, so that the margin is at most 1000")
    excess = lambda kappa: _codimension(answers, kappa) - room  # noqa: E731
    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, above, xtol=1e-12, rtol=1e-11))


def _margins(margin: ArrayLike) -> np.ndarray:
    """A negative margin would make the set of allowed W, on the sphere |W| = 1, no longer convex: other physics."""
    allowed = f"at least 0 and at most {MOST_MARGIN:g}"
    array = numbers("margin", margin, allowed)
    if not np.all((array >= 0) & (array <= MOST_MARGIN)):
        raise refuse("margin", plain(array), allowed)
    return array


def _capacity(delta: float, answers: int, kappa: float) -> float:
    facts = delta / _codimension(answers, kappa)
    if facts >= 1:
        return facts
    if delta < (least := _codimension(answers, 0.0)):
        raise refuse("delta", delta, f"at least {least:.6g}, because less does not hold a single fact")
    most = largest_margin(delta, 1, answers)
    raise refuse("margin", kappa, f"at most {most:.6g}, the largest that a single fact can have")


def _paired_capacity(delta: float, kappa: float) -> float:
    """The N with N D_kappa(N) = delta, linear between whole numbers."""
    if delta < 1:
        raise refuse("delta", delta, "at least 1, because less does not hold two facts")

    def needed(facts: int) -> float:
        if facts > MOST:
            raise refuse("delta", delta, f"smaller: more than {MOST:g} facts would fit")
        return facts * _codimension(facts, kappa)

    if needed(2) > delta * (1 + _ROUNDING):
        most = largest_margin(delta, 2)
        raise refuse("margin", kappa, f"at most {most:.6g}, the largest that two facts can have")
    low = largest(lambda facts: needed(facts) <= delta, 2)
    return low + (delta - needed(low)) / (needed(low + 1) - needed(low))


@lru_cache(maxsize=4096)
def _codimension(answers: int, kappa: float) -> float:
    """E k + kappa (kappa + E tau), summed over the part of the law of (k, tau) that counts."""
    centre, merged = _typical(answers, kappa)
    spread = 30 + 4.5 * np.log(answers) + 14 * np.sqrt(merged)
    k = np.arange(max(0, int(merged - spread)), min(answers, int(merged + spread) + 1))
    # The more rivals are merged, the sharper is tau; between k = 0 and a few it can lie anywhere within some units.
    unit = 1 / np.sqrt(1 + merged / 10)
    tau = centre + unit * _POINTS
    of_k = _log_choose(answers - 1, k) + _log_weight(k, kappa) + 0.5 * np.log((k + 1) / (2 * np.pi))
    of_both = -np.multiply.outer(k + 1, tau**2 / 2) + np.multiply.outer(answers - 1 - k, log_ndtr(tau))
    law = np.exp(of_k[:, None] + of_both - kappa * tau) * (0.02 * unit)
    return float(k @ law.sum(axis=1) + kappa * ((kappa + tau) @ law.sum(axis=0)))


def _typical(answers: int, kappa: float) -> tuple[float, float]:
    """tau and k if sums over rivals did not fluctuate: kappa + tau = (M-1) E (eta - tau)_+ and k = (M-1) Phi(-tau)."""

    def lack(tau: float) -> float:
        above = math.exp(-(tau**2) / 2) / math.sqrt(2 * math.pi) - tau * float(ndtr(-tau))
        return (answers - 1) * above - kappa - tau

    tau = brentq(lack, -kappa - 1.0, 40.0)
    return tau, (answers - 1) * float(ndtr(-tau))


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    """log C(n, k) for consecutive k, as a sum of logs: differences of log-gamma would lose digits for large n."""
    steps = np.arange(1, k[-1] + 1)
    return np.concatenate([[0.0], np.cumsum(np.log((n + 1 - steps) / steps))])[k[0] :]


def _log_weight(k: np.ndarray, kappa: float) -> np.ndarray:
    """log J_k(kappa), on a line t = x + i s through the saddle point of exp(-t^2 - i sqrt(2) kappa t) w(t)^k."""
    root = math.sqrt(2) * kappa
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
