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
from scipy.optimize import minimize
from scipy.special import ndtr, wofz

#: Logarithms of a stay within these bounds; at the saddle they lie between -0.4 and 0.6.
_BOUND = 1.0
#: A level with a smaller share of the largest b is no longer stretched in the search for the least.
_SMALL_B = 1e-3

Numbers = Float64[np.ndarray, "levels"]


class Grid(NamedTuple):
    """Points of both integrals: steps and ends, of tau in units of the scores' deviations."""

    step: float
    end: float
    tau_step: float
    tau_end: float


#: For the search (distances to a thousandth or so, and a saddle is flat), and for the value at its end (1e-6).
_COARSE, _FINE = Grid(0.5, 5.0, 0.5, 5.0), Grid(0.3, 7.0, 0.25, 7.0)


class Levels:
    """Answers in levels of equal frequency, or of similar ones: each level has one a and one b."""

    def __init__(self, shares: Float64[np.ndarray, "m"], most: int) -> None:
        found, level = np.unique(-shares, return_inverse=True)
        #: Whether all answers of a level have the same frequency.
        self.exact = len(found) <= most
        if not self.exact:
            # Equal steps of the cube root: the frequent answers, which matter most, stay apart.
            root = np.cbrt(shares / shares.max())
            steps = (1 - root) / (1 - root[shares > 0].min())
            level = np.where(shares > 0, np.minimum(most * steps, most - 1).astype(int), most)
            _, level = np.unique(level, return_inverse=True)
        self.counts: Numbers = np.bincount(level).astype(float)
        self.shares: Numbers = np.bincount(level, shares)

    def log_capacity(self) -> float:
        """log(N_c / d): the largest over a of the least over b of the logarithm of the ratio."""
        each = self.shares / self.counts
        self._b = np.maximum(_SMALL_B, each / each.max())
        best = minimize(
            self._least, np.zeros(len(each)), jac=True, method="L-BFGS-B", bounds=[(-_BOUND, _BOUND)] * len(each),
            options={"gtol": 1e-3, "ftol": 1e-7, "maxiter": 60},
        )  # fmt: skip
        self._least(best.x)
        return self.log_ratio(np.exp(best.x), self._b, _FINE)[0]

    def _least(self, log_a: Numbers) -> tuple[float, Numbers]:
        """Minus the least over b, and its derivative: that of the ratio at the best b."""
        a, scale = np.exp(log_a), np.maximum(self._b, _SMALL_B)

        def stretched(x: Numbers) -> tuple[float, Numbers]:
            value, _, slope = self.log_ratio(a, scale * x)
            return value, scale * slope

        found = minimize(
            stretched, self._b / scale, jac=True, method="L-BFGS-B", bounds=[(1e-9, None)] * len(a),
            options={"gtol": 1e-4, "ftol": 1e-10, "maxiter": 200, "maxcor": 20},
        )  # fmt: skip
        self._b = scale * found.x / (scale * found.x).max()
        value, slope, _ = self.log_ratio(a, self._b)
        return -value, -slope * a

    def log_ratio(self, a: Numbers, b: Numbers, grid: Grid = _COARSE) -> tuple[float, Numbers, Numbers]:
        """log of Tr(B Q) over the mean distance, and its derivatives with respect to a and b."""
        n, total = self.counts, float(self.counts @ b)
        numerator = float((n * a * b) @ (total - b)) / total
        top_by_a, top_by_b = n * (b - b * b / total), n * (a - 2 * a * b / total + n @ (a * b * b) / total**2)
        square, by_a, by_b = self.squares(a, b, grid)
        slopes = top_by_a / numerator - by_a / square, top_by_b / numerator - by_b / square
        return float(np.log(numerator / square)), *slopes

    def squares(self, a: Numbers, b: Numbers, grid: Grid = _COARSE) -> tuple[float, Numbers, Numbers]:
        """E dist_B^2 over targets, and its derivatives with respect to a and b."""
        square, by_a, by_b = 0.0, np.zeros_like(a), np.zeros_like(b)
        # The best of many rivals is known more narrowly.
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
        """For a target of this level with so many rivals of each: E dist_B^2, and of each rival E r^2 and E r x."""
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
