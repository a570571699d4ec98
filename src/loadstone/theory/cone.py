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

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, logsumexp, wofz

from loadstone.arguments import refuse
from loadstone.theory.checks import finite, plain, whole_number

#: Largest p. Beyond it C(p-1, k) would need more digits than float64 has.
MOST = 10**15
#: Grid of tau. On it the trapezium rule converges exponentially: f is analytic in a strip of half-width pi / (2 tau).
STEP = 0.02
GRID = np.arange(-12.0, 12.0 + STEP / 2, STEP)


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


def joint_log_density(p: int, tau: np.ndarray) -> np.ndarray:
    """The joint law of merged rivals and score, log f(k, tau), for k = 0, 1, ..., up to where it vanishes.

    Of shape (ks,) + tau.shape.
    """
    count = min(p, _enough(p))
    k = np.arange(count)
    log_choose = np.concatenate([[0.0], np.cumsum(np.log((p - k[1:]) / k[1:]))])
    of_k = log_choose + _log_solid_angles(_enough(MOST))[:count] + 0.5 * np.log((k + 1) / (2 * np.pi))
    half_square, log_phi = tau**2 / 2, log_ndtr(tau)
    of_both = np.multiply.outer(k, half_square + log_phi)
    return of_k.reshape(-1, *[1] * tau.ndim) + ((p - 1) * log_phi - half_square) - of_both


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
    x = np.arange(-9.0, 9.001, 0.05)
    logs = np.zeros(most + 1)
    for k in range(1, most + 1):
        s = _saddle(k)
        # On t = x + i s: exp(-t^2) w(t)^k, whose imaginary part is odd in x.
        exponent = -((x + 1j * s) ** 2) + k * np.log(wofz(x + 1j * s))
        logs[k] = logsumexp(exponent).real + np.log(0.05 / np.sqrt(np.pi)) + 0.5 * np.log(k + 1) - k * np.log(2)
    return logs


def _saddle(k: int) -> float:
    """The s > 0 where s^2 + k log w(i s) is smallest, w(i s) = erfcx(s): (k+1) s = k / (sqrt(pi) erfcx(s))."""
    return brentq(lambda s: (k + 1) * s - k / (np.sqrt(np.pi) * erfcx(s)), 0.0, np.sqrt(k) + 1.0)
