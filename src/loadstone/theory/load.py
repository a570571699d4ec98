"""The load alpha = p log p / d^2 (natural logarithm) and its inverses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from loadstone.arguments import refuse
from loadstone.loads import associations_of, load_of
from loadstone.theory.checks import at_least, positives, scalar, single
from loadstone.theory.cone import MOST


def load(p: ArrayLike, d: ArrayLike) -> np.ndarray | float:
    """The load alpha = p log p / d^2 of p >= 1 associations in dimension d >= 1."""
    p, d = at_least("p", p, 1), at_least("d", d, 1)
    return scalar(load_of(p, d))


def associations(load: ArrayLike, d: ArrayLike) -> np.ndarray | float:
    """The real number of associations with this load: p = exp(W(load d^2)), W being Lambert's function.

    Exact inverse of `load` in p; defined for every load >= 0 (p = 1 at load 0).

    Example:
        >>> from loadstone.theory.load import associations
        >>> round(associations(0.5, 100), 1)
        754.6
    """
    load, d = at_least("load", load, 0), at_least("d", d, 1)
    return scalar(associations_of(load, d))


def nearest_associations(load: float, d: int) -> int:
    """The whole number of associations whose load is nearest to `load` in dimension d, of at most 10^15.

    Example:
        >>> from loadstone.theory.load import nearest_associations
        >>> nearest_associations(0.5, 100)
        755
    """
    nearest = round(float(associations(single("load", load), single("d", d))))
    if nearest > MOST:
        raise refuse("load", load, f"small enough for at most {MOST:g} associations at d = {d}")
    return nearest


def dimension(load: ArrayLike, p: ArrayLike) -> np.ndarray | float:
    """The real dimension in which p associations have this load: d = sqrt(p log p / load), for load > 0 and p >= 1.

    Example:
        >>> from loadstone.theory.load import dimension
        >>> round(dimension(0.5, 100), 2)
        30.35
    """
    load, p = positives("load", load), at_least("p", p, 1)
    return scalar(np.sqrt(p * np.log(p) / load))


def nearest_dimension(load: float, p: int) -> int:
    """The whole dimension, at least 1, in which the load of p associations is nearest to `load`, on the scale of d.

    Example:
        >>> from loadstone.theory.load import nearest_dimension
        >>> nearest_dimension(0.5, 100)
        30
    """
    return max(1, round(float(dimension(single("load", load), single("p", p)))))
