"""The formula of skew.py without samples: mean distances as integrals over two numbers.

For target y, with b_y (tau - x_y) = S(tau), S = sum of b_rho (x_rho - tau)_+ over rivals, the nearest point has all
merged scores at tau. With the rivals fixed, x_y <= u(tau) = tau - S(tau) / b_y says that the merged value lies below
tau, so integration by parts leaves one rival at a time beside a function of S:

    E dist_B^2 = 2 int dtau sum of b_rho E[H(u) 1(x_rho > tau)],    E r_rho^2 = 2 int dtau E[Phi(u) (x_rho - tau)_+],

with r the moves, Phi the distribution function of x_y and H its integral. Both are Laplace integrals, Phi(u) =
int dv / (2 pi) exp(s^2 / 2 + s u / sigma_y) / s along s = 1 + i v, and of H with one more sigma_y / s. The mean of
exp(-s S / (b_y sigma_y)) is a product over the rivals, each a complex error function. Both integrals converge
exponentially on equidistant points. docs/theory/skew.md has the derivation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtr, wofz

from loadstone.theory.skew_saddle import Numbers, Saddle


class Grid(NamedTuple):
    """Points of both integrals: steps and ends, of tau in units of the scores' deviations."""

    step: float
    end: float
    tau_step: float
    tau_end: float


#: For the search (distances to a thousandth or so, and a saddle is flat), and for the value at its end (1e-6).
_COARSE, _FINE = Grid(0.5, 5.0, 0.5, 5.0), Grid(0.3, 7.0, 0.25, 7.0)


class Levels(Saddle):
    """Answers in levels of equal frequency, or of similar ones: each level has one a and one b."""

    def __init__(self, shares: Float64[np.ndarray, "m"], most: int) -> None:
        frequencies, level = np.unique(-shares, return_inverse=True)
        #: Whether all answers of a level have the same frequency.
        self.exact = len(frequencies) <= most
        if not self.exact:
            # Equal steps of the cube root: the frequent answers, which matter most, stay apart.
            root = np.cbrt(shares / shares.max())
            steps = (1 - root) / (1 - root[shares > 0].min())
            level = np.where(shares > 0, np.minimum(most * steps, most - 1).astype(int), most)
            _, level = np.unique(level, return_inverse=True)
        self.counts = np.bincount(level).astype(float)
        self.shares = np.bincount(level, shares)

    def log_capacity(self) -> float:
        """log(N_c / d): the largest over a of the least over b of the logarithm of the ratio."""
        return self.log_ratio(*self.saddle(), _FINE)[0]

    def squares(self, a: Numbers, b: Numbers, grid: Grid = _COARSE) -> tuple[float, Numbers, Numbers]:
        """E dist_B^2 over targets, and its derivatives with respect to a and b."""
        square, by_a, by_b = 0.0, np.zeros_like(a), np.zeros_like(b)
        # The best of many rivals fluctuates less.
        narrow = min(1.0, 3.0 / math.log(self.counts.sum()))
        rivals = _Rivals(a, b, grid._replace(tau_step=narrow * grid.tau_step))
        for level in np.flatnonzero(self.shares):
            counts = self.counts - (np.arange(len(a)) == level)
            distance, moves, crosses = rivals.of(int(level), counts)
            # Of degree one in a and in b: the derivative for the target follows from those for its rivals.
            slope_a, slope_b = counts * b * crosses / a, counts * moves
            slope_a[level] += (distance - slope_a @ a) / a[level]
            slope_b[level] += (distance - slope_b @ b) / b[level]
            share = self.shares[level]
            square, by_a, by_b = square + share * distance, by_a + share * slope_a, by_b + share * slope_b
        return square, by_a, by_b


class _Rivals:
    """What all targets have in common: the points of the integrals, and rivals above and below tau."""

    def __init__(self, a: Numbers, b: Numbers, grid: Grid) -> None:
        self.b, self.sigma = b, np.sqrt(a)
        self.s = 1 + 1j * np.arange(0, grid.end, grid.step)
        # Both signs of v at once: the real part is taken.
        self.weights = np.full(len(self.s), grid.step / np.pi)
        self.weights[0] /= 2
        self.step, end = grid.tau_step * self.sigma.min(), grid.tau_end * self.sigma.max()
        self.tau = np.arange(-end, end, self.step)
        self.t = self.tau / self.sigma[:, None]
        self.below, self.density = ndtr(self.t)[:, :, None], np.exp(-(self.t[:, :, None] ** 2) / 2)

    def of(self, level: int, counts: Numbers) -> tuple[float, Numbers, Numbers]:
        """E dist_B^2 for a target of this level and counts[l] rivals of level l; and of each rival E r^2 and E r x."""
        sigma, own = self.sigma[:, None, None], self.sigma[level]
        slopes = self.s * (self.b / self.b[level] / own)[:, None]
        z = (self.t[:, :, None] + sigma * slopes[:, None, :]) / np.sqrt(2)
        error_function = wofz(1j * z)
        # E exp(-s (x - tau)) and E (x - tau) exp(-s (x - tau)), both for x > tau only.
        above = self.density * error_function / 2
        further = self.density * (1 / np.sqrt(np.pi) - z * error_function) * sigma / np.sqrt(2)
        each = self.below + above
        all_rivals = np.exp(self.s**2 / 2 + self.tau[:, None] * self.s / own + np.tensordot(counts, np.log(each), 1))
        below_u = self.step * self.weights * all_rivals / self.s
        above, further = above / each, further / each
        merged = _summed(below_u * own / self.s, above)
        moves, crosses = _summed(below_u, further), _summed(below_u, further + self.tau[:, None] * above)
        return float(2 * (counts * self.b) @ merged), 2 * moves, crosses


def _summed(weights: np.ndarray, values: np.ndarray) -> Numbers:
    return np.tensordot(values, weights, 2).real
