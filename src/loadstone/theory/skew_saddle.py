"""The saddle of the formula of skew.py: the largest over a of the least over b of Tr(B Q) over a mean distance.

Answers of one level, which are equally frequent or nearly so, share one a and one b. Subclasses
say how the mean distance is computed.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize

#: Levels whose b is below this share of the largest are not rescaled further in the search for the least.
_SMALL_B = 1e-3

Numbers = Float64[np.ndarray, "levels"]


class Saddle(abc.ABC):
    """The saddle for answers in levels.

    counts: how many answers each level has.
    shares: the share of all facts whose target is an answer of that level.
    bound: the largest |log a|. At the saddle log a lies between -0.4 and 0.6, but for rows that do not matter it would
        diverge, and samples may have their saddle elsewhere.
    slope_of_a, slope_of_b: the searches end where no slope is larger.
    """

    counts: Numbers
    shares: Numbers
    bound: ClassVar[float] = 1.0
    slope_of_a: ClassVar[float] = 1e-3
    slope_of_b: ClassVar[float] = 1e-4

    @abc.abstractmethod
    def squares(self, a: Numbers, b: Numbers, *options: Any) -> tuple[float, Numbers, Numbers]:
        """E dist_B^2 over targets, and its derivatives with respect to a and b."""

    def saddle(self) -> tuple[Numbers, Numbers]:
        """a and b at the largest (over a) of the least (over b) ratio."""
        each = self.shares / self.counts
        self._b = np.maximum(_SMALL_B, each / each.max())
        best = minimize(
            self._least, np.zeros(len(each)), jac=True, method="L-BFGS-B",
            bounds=[(-self.bound, self.bound)] * len(each),
            options={"gtol": self.slope_of_a, "ftol": 1e-7, "maxiter": 60},
        )  # fmt: skip
        self._least(best.x)
        return np.exp(best.x), self._b

    def _least(self, log_a: Numbers) -> tuple[float, Numbers]:
        """Minus the logarithm of the least ratio over b, and its derivative: that of the ratio at the best b."""
        a, scale = np.exp(log_a), np.maximum(self._b, _SMALL_B)

        def stretched(x: Numbers) -> tuple[float, Numbers]:
            value, _, slope = self.log_ratio(a, scale * x)
            return value, scale * slope

        least = minimize(
            stretched, self._b / scale, jac=True, method="L-BFGS-B", bounds=[(1e-9, None)] * len(a),
            options={"gtol": self.slope_of_b, "ftol": 1e-10, "maxiter": 200, "maxcor": 20},
        )  # fmt: skip
        self._b = scale * least.x / (scale * least.x).max()
        value, slope, _ = self.log_ratio(a, self._b)
        return -value, -slope * a

    def log_ratio(self, a: Numbers, b: Numbers, *options: Any) -> tuple[float, Numbers, Numbers]:
        """log of Tr(B Q) over the mean distance, and its derivatives with respect to a and b."""
        numerator, top_by_a, top_by_b = self.numerator(a, b)
        square, by_a, by_b = self.squares(a, b, *options)
        slopes = top_by_a / numerator - by_a / square, top_by_b / numerator - by_b / square
        return float(np.log(numerator / square)), *slopes

    def numerator(self, a: Numbers, b: Numbers) -> tuple[float, Numbers, Numbers]:
        """Tr(B Q) = sum a b - sum a b^2 / sum b, and its derivatives with respect to a and b."""
        n, total = self.counts, float(self.counts @ b)
        # The sum of all other b, without a difference, which would vanish by rounding if one b is far above the others.
        others = (n - np.eye(len(n))) @ b
        by_a, by_b = n * b * others / total, n * (a - 2 * a * b / total + n @ (a * b * b) / total**2)
        return float(a @ by_a), by_a, by_b
