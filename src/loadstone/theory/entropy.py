"""The free entropy phi = lim d^-2 E log(volume of the memories that store everything), for kappa = 1 (paper, claim 1).

    phi = inf over q in [0, 1) of  log(1-q)/2 + q/(2(1-q)) + alpha G(q),

where q is the overlap of two such memories and G the energetic term. With beta = sqrt(q/(1-q)),
f_p(q; eta) = P over x ~ N(0, I_p) of x_1 + beta eta_1 being the largest of all x_rho + beta eta_rho, and
G_p(q) = E log f_p(q; eta) / log p tends to G(q) = -1/(1-q). At finite p the same functional is minimised with G_p.

N facts that have M answers each, and memories from a linear subspace of delta dimensions, change only what stands in
front: (N / delta) E log f_M instead of (p / d^2) E log f_p. So all of it holds with the number of answers in the place
of p, at the load N log M / delta, and phi counts per dimension of the subspace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtri

from loadstone.estimate import Estimate
from loadstone.readable import readable
from loadstone.theory.checks import in_half_open, positives, scalar, single, whole_number, whole_numbers
from loadstone.theory.codimension import codimension

#: Largest p for the sampled energetic term, because a sample of eta has p numbers.
MOST_SAMPLED = 10**6


@dataclass(frozen=True)
class FreeEntropy:
    """Minimum over q of the functional. At or above capacity it is minus infinity, at q = 1."""

    #: The free entropy: log of the volume of the memories that store everything, over d^2.
    phi: np.ndarray | float
    #: Where the minimum lies: the overlap of two such memories.
    q: np.ndarray | float
    #: Standard error of phi, from the sampled energetic term.
    error: np.ndarray | float

    __repr__ = readable


def energetic_lower_bound(q: ArrayLike) -> np.ndarray | float:
    """The paper's lower bound of the energetic term in the limit: G(q) >= -(1 + sqrt(q/(1-q)))^2."""
    q = in_half_open("q", q, 0, 1)
    return scalar(-((1 + np.sqrt(q / (1 - q))) ** 2))


def energetic_upper_bound(q: ArrayLike, k: ArrayLike) -> np.ndarray | float:
    """The paper's upper bounds of the energetic term, one for every whole k >= 1: G(q) <= -(k/(k+1)) q/(1-q)."""
    q, k = in_half_open("q", q, 0, 1), whole_numbers("k", k, 1, 10**9)
    return scalar(-(k / (k + 1)) * q / (1 - q))


def energetic(q: ArrayLike, p: int, samples: int = 400, seed: int = 0) -> Estimate:
    """The energetic term G_p(q) = E log f_p(q; eta) / log p: its mean over samples of eta, and its standard error.

    f_p itself is an integral over x_1 of a product of Phi's, taken on a grid. Samples are stratified in eta_1, whose
    square dominates the variance, and are the same for every q, so that curves in q are smooth. Whole p in 2..10^6;
    exactly -1 at q = 0 (every output is equally likely to win) and a plain quadrature at p = 2.
    """
    q, p = in_half_open("q", q, 0, 1), whole_number("p", p, 2, MOST_SAMPLED)
    samples, seed = whole_number("samples", samples, 2, 10**7), whole_number("seed", seed, 0, 2**32 - 1)
    estimates = np.array([_energetic(float(one), p, samples, seed) for one in q.ravel()]).reshape(*q.shape, 2)
    return Estimate(scalar(estimates[..., 0]), scalar(estimates[..., 1]))  # type: ignore[arg-type]  # arrays, as q is


def _energetic(q: float, p: int, samples: int, seed: int) -> Estimate:
    if q == 0:
        return Estimate(-1.0, 0.0)
    if p == 2:
        return Estimate(float(_of_two(q) / np.log(2)), 0.0)
    logs = _log_f(q, p, samples, seed)
    # Neighbouring strata differ little: their half-differences measure the scatter within a stratum.
    scatter = (logs[0::2][: len(logs) // 2] - logs[1::2]) ** 2 / 2
    error = np.sqrt(scatter.mean() / len(logs))
    return Estimate(float(logs.mean() / np.log(p)), float(error / np.log(p)))


def free_entropy(load: ArrayLike) -> np.ndarray | float:
    """The free entropy in the limit, phi = log(1 - 2 alpha) / 2 for loads below 1/2; minus infinity from 1/2 on."""
    load = positives("load", load)
    with np.errstate(divide="ignore"):
        return scalar(0.5 * np.log(np.maximum(0, 1 - 2 * load)))


def overlap(load: ArrayLike) -> np.ndarray | float:
    """The overlap of two solutions in the limit, q = 2 alpha for loads below 1/2; 1 from 1/2 on."""
    return scalar(np.minimum(1, 2 * positives("load", load)))


def annealed(load: ArrayLike) -> np.ndarray | float:
    """The annealed bound of the free entropy, d^-2 log E(volume) = -alpha, exact at every p.

    A random memory stores each association with probability 1/p.
    """
    return scalar(-positives("load", load))


def finite_free_entropy(load: ArrayLike, p: int, samples: int = 400, seed: int = 0) -> FreeEntropy:
    """The free entropy at p associations and this load (so d^2 = p log p / load), with G_p sampled.

    It is finite exactly while load < log p / D(p), the capacity at finite p: as q tends to 1, (1-q) E log f_p tends to
    -D(p)/2, and the functional to (1 - load D(p) / log p) / (2 (1-q)).
    """
    load, p = positives("load", load), whole_number("p", p, 2, MOST_SAMPLED)
    samples, seed = whole_number("samples", samples, 2, 10**7), whole_number("seed", seed, 0, 2**32 - 1)
    minima = np.array([_finite_free_entropy(float(one), p, samples, seed) for one in load.ravel()])
    return FreeEntropy(*(scalar(part) for part in np.moveaxis(minima.reshape(*load.shape, 3), -1, 0)))


def facts_free_entropy(facts: int, answers: int, delta: float, samples: int = 400, seed: int = 0) -> FreeEntropy:
    """The free entropy and overlap of memories that store N facts with M answers each, phi per dimension.

    delta: dimension of the linear space of memories, as seen through the outputs (families.py).
    """
    facts, answers = whole_number("facts", facts, 1, 10**15), whole_number("answers", answers, 2, MOST_SAMPLED)
    delta = float(positives("delta", single("delta", delta)))
    return finite_free_entropy(facts * np.log(answers) / delta, answers, samples, seed)


@dataclass(frozen=True)
class EntropyCurve:
    """The free entropy at several loads, from one sampled energetic term."""

    #: Free entropy at each load.
    phi: np.ndarray
    #: Overlap at each load.
    q: np.ndarray
    #: Values of q at which the energetic term was sampled.
    nodes: np.ndarray
    #: G_p at the nodes.
    energetic: np.ndarray
    #: Its standard errors.
    error: np.ndarray

    __repr__ = readable


def free_entropy_curve(load: ArrayLike, p: int, samples: int = 400, seed: int = 0) -> EntropyCurve:
    """`finite_free_entropy` at many loads for the cost of one: G_p is sampled on a grid of q and interpolated.

    The interpolated function is (1-q) G_p(q) in y = -log(1-q), which goes smoothly from -1 to -D(p) / (2 log p). Beyond
    the last node, q = 0.9997, it is set to that limit.
    """
    load, p = np.atleast_1d(positives("load", load)), whole_number("p", p, 2, MOST_SAMPLED)
    nodes = -np.expm1(-np.linspace(0, 8, 25))
    sampled = energetic(nodes, p, samples, seed)
    end = -codimension(p) / (2 * np.log(p))
    reduced = CubicSpline(
        np.append(-np.log1p(-nodes), 12.0), np.append((1 - nodes) * np.asarray(sampled.value), end), bc_type="natural"
    )
    y = np.linspace(0, 12, 4801)
    volume, inverse, energy = -y / 2 + np.expm1(y) / 2, np.exp(y), reduced(y)
    table = volume + load[:, None] * (inverse * energy)
    best = table.argmin(axis=1)
    beyond = load * codimension(p) >= np.log(p)
    phi = np.where(beyond, -np.inf, table[np.arange(len(load)), best])
    return EntropyCurve(phi, np.where(beyond, 1.0, -np.expm1(-y[best])), nodes, *map(np.asarray, sampled))


def _finite_free_entropy(load: float, p: int, samples: int, seed: int) -> tuple[float, float, float]:
    """phi, q and the error of phi."""
    if load * codimension(p) >= np.log(p):
        return -np.inf, 1.0, 0.0

    def functional(q: float) -> float:
        return 0.5 * np.log1p(-q) + q / (2 * (1 - q)) + load * _energetic(q, p, samples, seed).value

    # In y = -log(1-q) the minimum is as wide near q = 1 as elsewhere.
    within = {"bounds": (0, 12), "method": "bounded", "options": {"xatol": 1e-4}}
    least = minimize_scalar(lambda y: functional(-np.expm1(-y)), **within)
    q = float(-np.expm1(-least.x))
    return float(least.fun), q, float(load * _energetic(q, p, samples, seed).error)


def _of_two(q: float) -> float:
    """E log Phi(beta xi), xi ~ N(0, 1): the case p = 2, where x_1 - x_2 has variance 2."""
    xi = np.arange(-40.0, 40.0, 0.005)
    weight = 0.005 * np.exp(-(xi**2) / 2) / np.sqrt(2 * np.pi)
    return float(weight @ log_ndtr(np.sqrt(q / (1 - q)) * xi))


def _log_f(q: float, p: int, samples: int, seed: int) -> np.ndarray:
    """log f_p for each sample of eta, the samples in the order of their strata of eta_1."""
    beta = np.sqrt(q / (1 - q))
    random = np.random.default_rng(seed)
    logs = np.empty(samples)
    for index in range(samples):
        target = ndtri((index + random.random()) / samples)
        logs[index] = log_share(beta * np.append(target, random.standard_normal(p - 1)))
    return logs


def log_share(shift: np.ndarray, lengths: np.ndarray | None = None) -> float:
    """log of the probability over x ~ N(0, I) that lengths (x + shift) is largest in its first component.

    It is the mean over x_1 of a product of Phi's: an integrand with one peak, at some x_1 > 0.
    """
    rivals = shift[1:]
    ratios = np.ones(len(rivals)) if lengths is None else lengths[0] / lengths[1:]

    def slope(x: float) -> float:
        z = ratios * (x + shift[0]) - rivals
        return (ratios * np.exp(-(z**2) / 2 - log_ndtr(z))).sum() / np.sqrt(2 * np.pi) - x

    top = max(0.0, (rivals / ratios).max() - shift[0]) + (np.sqrt(2 * np.log(len(shift))) + 2) / min(1, ratios.min())
    peak = brentq(slope, 0.0, top, xtol=0.05)
    # The logarithm curves at least as much as -x^2/2, so 7 to either side hold all but 1e-11 of the integral.
    x = peak + np.linspace(-7, 7, 71)
    close = rivals > ratios * (x[0] + shift[0]) - 9  # Phi is 1 for the others
    exponent = -(x**2) / 2 + log_ndtr(ratios[close] * (x[:, None] + shift[0]) - rivals[close]).sum(axis=1)
    return float(logsumexp(exponent) + np.log((x[1] - x[0]) / np.sqrt(2 * np.pi)))
