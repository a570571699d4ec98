"""The load p log p / d^2 (natural logarithm), by which the sizes of problems are compared, and its inverse in p.

A definition, not theory: grids of runs are given in loads too. Callers check the arguments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw


def load_of(p: ArrayLike, d: ArrayLike) -> np.ndarray:
    """The load of p >= 1 associations in dimension d >= 1."""
    return p * np.log(p) / np.square(d)


def associations_of(load: ArrayLike, d: ArrayLike) -> np.ndarray:
    """The real p with p log p = load d^2: p = exp(W(load d^2)), where W is Lambert's function. At load 0 it is 1."""
    return np.exp(lambertw(load * np.square(d)).real)


def nearest_associations(load: float, d: int) -> int:
    """The whole number of associations whose load is nearest to `load` in dimension d."""
    return round(float(associations_of(float(load), float(d))))
