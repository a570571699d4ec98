"""Geometry of the cone K_p = {z in R^p : z_1 >= z_rho for all rho}: the scores of one association that is stored.

Project eta ~ N(0, I_p) onto K_p. The projection merges the target's coordinate with k rivals, all of which get
their mean tau = (eta_1 + sum of the k) / (k + 1), and leaves the other rivals, which lie below tau, as they are.
For a given set of k rivals this happens when the deviations from tau fall into a cone of solid angle b_k (they are
independent of tau, which is N(0, 1/(k+1))) and the p-1-k others stay below tau. So k and tau have the joint law

    f(k, tau) = C(p-1, k) b_k sqrt((k+1)/(2 pi)) exp(-(k+1) tau^2 / 2) Phi(tau)^(p-1-k),

and v_k(p), its integral over tau, is the probability to land on a face of codimension k: an intrinsic volume of K_p.
docs/theory/projection.md derives all of it; Amelunxen, Lotz, McCoy and Tropp (2014), 'Living on the edge', give the
geometry.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr, wofz

from loadstone.arguments import refuse
from loadstone.theory.checks import finite, plain, whole_number

#: Largest p. Beyond it C(p-1, k) would need more digits than float64 has.
MOST = 10**15
#: Grid of tau. On it the trapezium rule converges exponentially: f is analytic in a strip of half-width pi / (2 tau).
STEP = 0.02
GRID = np.arange(-12.0, 12.0 + STEP / 2, STEP)
#: Points of the integral over t, in units of the width of the integrand, which is analytic, too.
_LINE = np.arange(-12.0, 12.0 + 0.025, 0.05)


class MergeLaw(NamedTuple):
    """The law of the number k of rivals that the projection merges with the target, for one p."""

    #: v_k(p) for k = 0, 1, ..., up to where they vanish.
    probabilities: np.ndarray
    #: D(p) = E k, which is also E dist^2(eta, K_p): the codimension of K_p, near 2 log p and below it for every p.
    mean: float
    #: Var k.
    variance: float


def log_solid_angles(most: int) -> np.ndarray:
    """The logarithms of the solid angles b_k for k = 0, 1, ..., most.

    b_k is the share of R^k that is filled by the cone over k unit vectors with pairwise inner products 1/2.

    With c >= 0 the coordinates along those vectors, b_k = sqrt((k+1)/2^k) (2 pi)^(-k/2) times the integral of
    exp(-|c|^2/4 - (sum c)^2/4). Writing the last factor as a mean of exp(i t sum c) over t ~ N(0, 1/2) leaves

        b_k = sqrt(k+1) 2^(-k) E[w(t)^k],   w(t) = exp(-t^2) erfc(-i t).

    The mean oscillates on the real axis; it is taken on a parallel line through the saddle point t = i s instead.
    """
    return _log_solid_angles(whole_number("most", most, 0, 10_000)).copy()


def merge_law(p: int) -> MergeLaw:
    """The law v_k(p) of the number of merged rivals, its mean D(p) and its variance, for one p in 2..10^15.

    Relative accuracy near 1e-12 below p = 10^6.
    """
    return _merge_law(whole_number("p", p, 2, MOST))


def project(eta: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Projection of vectors (along the last axis) onto K_p, and how many rivals each merges.

    tau solves tau - eta_1 = sum_rho (eta_rho - tau)_+: with rivals in falling order, k is the number of them that
    lie above the mean of the target and all rivals before them.
    """
    eta = finite("eta", eta)
    if eta.ndim == 0 or eta.shape[-1] < 2:
        raise refuse("eta", plain(eta), "vectors of at least two components")
    target, falling = eta[..., :1], -np.sort(-eta[..., 1:], axis=-1)
    means = (target + np.cumsum(falling, axis=-1)) / np.arange(2, eta.shape[-1] + 1)
    before = np.concatenate([target, means[..., :-1]], axis=-1)
    merged = (falling > before).sum(axis=-1)
    tau = np.take_along_axis(np.concatenate([target, means], axis=-1), merged[..., None], axis=-1)
    return np.concatenate([tau, np.minimum(eta[..., 1:], tau)], axis=-1), merged


def joint_log_density(p: int, tau: np.ndarray, gamma: float = 0.0, k: np.ndarray | None = None) -> np.ndarray:
    """The joint law of merged rivals and score, log f(k, tau), of shape (ks,) + tau.shape.

    gamma: a margin, see codimension.py. k: consecutive numbers (default: 0, 1, ..., up to where the law vanishes).
    """
    k = np.arange(min(p, _enough(p))) if k is None else k
    weights = _log_weight(k, gamma) if gamma else _log_solid_angles(_enough(MOST))[k]
    of_k = _log_choose(p - 1, k) + weights + 0.5 * np.log((k + 1) / (2 * np.pi))
    of_both = np.multiply.outer(p - 1 - k, log_ndtr(tau)) - np.multiply.outer(k + 1, tau**2 / 2)
    return of_k.reshape(-1, *[1] * tau.ndim) + of_both - gamma * tau


@lru_cache(maxsize=4096)
def _merge_law(p: int) -> MergeLaw:
    density = joint_log_density(p, GRID)
    v = np.exp(density).sum(axis=1) * STEP
    k = np.arange(len(v))
    mean = float(k @ v)
    return MergeLaw(v, mean, float((k - mean) ** 2 @ v))


def _enough(p: int) -> int:
    """A k beyond which v_k(p) is below 1e-20: k has mean and variance below 2 log p, and a thin tail."""
    return int(30 + 4.5 * np.log(p))


@cache
def _log_solid_angles(most: int) -> np.ndarray:
    return _log_weight(np.arange(most + 1), 0.0)


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    """log C(n, k) for consecutive k, as a sum of logs: differences of log-gamma would lose digits for large n."""
    steps = np.arange(1, k[-1] + 1)
    return np.concatenate([[0.0], np.cumsum(np.log((n + 1 - steps) / steps))])[k[0] :]


def _log_weight(k: np.ndarray, gamma: float) -> np.ndarray:
    """log J_k(gamma) of codimension.py, of which b_k is J_k(0).

    On a line t = x + i s through the saddle point of exp(-t^2 - i sqrt(2) gamma t) w(t)^k.
    """
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
