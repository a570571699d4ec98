"""Laws by which an excess falls with size, fitted by least squares, and how unlikely they are by chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import curve_fit
from scipy.special import chdtrc, ndtri

#: Standard deviations beyond which chance alone is rarer than 1 %.
_EXCLUDED = 2.58


def as_deviations(chi_square: float, dof: int) -> float:
    """How many standard deviations of a normal number are as unlikely as a chi-square beyond this one."""
    # Far out the probability is 0 in floating point.
    return float(-ndtri(max(chdtrc(dof, chi_square), 1e-300) / 2))


def judged(deviations: float) -> str:
    """Whether a law so far from the points is excluded, in words."""
    return f"{'excluded' if deviations > _EXCLUDED else 'not excluded'} ({deviations:.1f} standard deviations)"


@dataclass(frozen=True)
class Fit:
    """A law c size^-x, fitted by least squares with the errors of the points as weights."""

    #: In words.
    law: str
    c: float
    x: float
    #: Standard error of x; 0 where x is given.
    x_error: float
    chi_square: float
    #: Points less free parameters.
    dof: int

    @property
    def deviations(self) -> float:
        """How many standard deviations of a normal number are as unlikely as a chi-square beyond this one."""
        return as_deviations(self.chi_square, self.dof)


#: What the excess is a power of, and the power if it is given.
LAWS: dict[str, tuple[Callable[[dict], float], float | None]] = {
    "c / log p": (lambda point: math.log(point["predicted"]), 1.0),
    "c / (log p)^2": (lambda point: math.log(point["predicted"]), 2.0),
    "c d^-x": (lambda point: point["d"], None),
}


def fitted_laws(points: list[dict], excess: str = "excess") -> list[Fit]:
    """Each law fitted to this number of the points, if there are more points than parameters."""
    fits = [_fitted(law, points, excess) for law, (_, x) in LAWS.items() if len(points) > (1 if x else 2)]
    return [fit for fit in fits if fit is not None]


def _fitted(law: str, points: list[dict], excess: str) -> Fit | None:
    size_of, given = LAWS[law]
    size = np.array([size_of(point) for point in points])
    y, error = (np.array([point[name] for point in points]) for name in (excess, "error"))

    def best_c(x: float) -> float:
        shape = size**-x
        return float((shape * y / error**2).sum() / (shape / error).dot(shape / error))

    x, x_error = given, 0.0
    if x is None:
        start = (best_c(0.5), 0.5)
        try:
            best, covariance = curve_fit(lambda s, c, x: c * s**-x, size, y, start, error, absolute_sigma=True)
        except RuntimeError:  # no least sum of squares: the points do not fall at all
            return None
        x, x_error = float(best[1]), float(np.sqrt(covariance[1, 1]))
    c = best_c(x)
    chi_square = float((((y - c * size**-x) / error) ** 2).sum())
    return Fit(law, c, x, x_error, chi_square, len(points) - (1 if given else 2))
