"""Scores of one association under memories that store everything, below capacity, and what noise leaves of them.

Take |W| = 1, so that the score of a random output has variance 1. Without this association, two solutions with overlap
q would give its p outputs the scores sqrt(q) eta + sqrt(1-q) x with the same eta ~ N(0, I_p) and different
x ~ N(0, I_p). Storing it keeps those x that make the target's score the largest. That is the law whose normalisation is
f_p(q; eta) of entropy.py, and it gives the scores of three memories:

    typical         sqrt(q) eta + sqrt(1-q) x, x drawn from those that are kept
    centre          the mean over these x, divided by sqrt(q), the norm of the mean of all solutions
    largest margin  the nearest point to eta at which the target wins by kappa, the largest margin (margin.py)

Noise of variance v in every score lets the target win with a probability that follows. Entries of W rounded to b bits
are (1-v) W plus noise of variance v (1-v), v that of levels.py, so they act as noise of variance v / (1-v). An input
e + sigma xi changes every score by a number of variance sigma^2. All this is for large d at given p.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.special import log_ndtr, logsumexp, ndtri, ndtri_exp

from loadstone.levels import change_of
from loadstone.theory.checks import in_half_open, positives, single, whole_number
from loadstone.theory.cone import project
from loadstone.theory.entropy import MOST_SAMPLED
from loadstone.theory.margin import largest_margin

#: The law of x_1 is log-concave and no wider than a normal one: it is taken on this many points to either side of its
#: peak, which is first looked for in coarse steps.
_REACH, _POINTS, _COARSE = 8.0, 161, 0.5
#: Nodes of the integral over the noise of the target.
_NODES = 21


class SolutionScores(NamedTuple):
    """Samples of the p scores of one association, the target's first."""

    typical: Float64[np.ndarray, "samples p"]
    centre: Float64[np.ndarray, "samples p"]
    largest_margin: Float64[np.ndarray, "samples p"]


def solution_scores(overlap: float, p: int, delta: float, samples: int = 1000, seed: int = 0) -> SolutionScores:
    """Scores at p outputs under memories whose overlap is given, of which delta dimensions are seen (entropy.py)."""
    q = float(in_half_open("overlap", single("overlap", overlap), 0, 1))
    p, delta = whole_number("p", p, 2, MOST_SAMPLED), float(positives("delta", single("delta", delta)))
    samples, seed = whole_number("samples", samples, 2, 10**7), whole_number("seed", seed, 0, 2**32 - 1)
    margin, random = largest_margin(delta, p), np.random.default_rng(seed)  # refuses what cannot be stored
    eta = random.standard_normal((samples, p))
    # One of each of as many strata, for the target's score scatters most.
    eta[:, 0] = ndtri((np.arange(samples) + random.random(samples)) / samples)
    kept = [_kept(np.sqrt(q / (1 - q)) * one, random) for one in eta]
    drawn, mean = (np.sqrt(q) * eta + np.sqrt(1 - q) * np.array(part) for part in zip(*kept))
    # At q = 0 the centre is a direction that no sample shows.
    centre = mean / np.sqrt(q) if q > 0 else np.full_like(mean, np.nan)
    return SolutionScores(drawn, centre, with_margin(eta, margin))


def recalled_with_noise(scores: Float64[np.ndarray, "samples p"], variance: float) -> Float64[np.ndarray, "samples"]:
    """The probability that each target still wins if normal noise of this variance is added to every score."""
    width = np.sqrt(float(positives("variance", single("variance", variance))))
    z, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    ahead = (scores[:, :1] - scores[:, 1:]) / width
    wins = np.array([log_ndtr(ahead + one).sum(axis=1) for one in z])
    return np.exp(wins).T @ (weights / weights.sum())


def rounding_noise(bits: int) -> float:
    """The variance of the noise as which rounding to b bits acts, for scores of variance 1."""
    change = change_of(bits)
    return change / (1 - change)


def with_margin(eta: Float64[np.ndarray, "samples p"], margin: float) -> Float64[np.ndarray, "samples p"]:
    """The nearest points at which the first coordinate exceeds all others by the margin."""
    ahead = np.zeros(eta.shape[1])
    ahead[0] = margin
    return project(eta - ahead)[0] + ahead


def _kept(
    shift: Float64[np.ndarray, "p"], random: np.random.Generator
) -> tuple[Float64[np.ndarray, "p"], Float64[np.ndarray, "p"]]:
    """x ~ N(0, I) given that x_1 + shift_1 is the largest of all x + shift: one draw, and the mean."""
    ahead = shift[0] - shift[1:]

    def log_density(x: np.ndarray) -> np.ndarray:
        return -(x**2) / 2 + log_ndtr(x[:, None] + ahead).sum(axis=1)

    coarse = np.arange(-_REACH, max(0.0, -ahead.min()) + np.sqrt(2 * np.log(len(shift))) + _REACH, _COARSE)
    peak = coarse[log_density(coarse).argmax()]
    x = peak + np.linspace(-_REACH, _REACH, _POINTS)
    log_weights = log_density(x)
    weights = np.exp(log_weights - logsumexp(log_weights))
    first = np.interp(random.random(), np.cumsum(weights) - weights / 2, x)
    # A normal number below z, and its mean.
    others = ndtri_exp(np.log(random.random(len(ahead))) + log_ndtr(first + ahead))
    z = x[:, None] + ahead
    means = -(weights @ np.exp(-(z**2) / 2 - log_ndtr(z))) / np.sqrt(2 * np.pi)
    return np.append(first, others), np.append(weights @ x, means)
