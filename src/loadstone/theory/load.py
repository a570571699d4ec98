"""The load alpha = p log p / d^2 (natural logarithm) and its inverses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw

from loadstone.arguments import refuse


def load(p: ArrayLike, d: ArrayLike) -> np.ndarray | float:
    """alpha(p, d) = p log p / d^2, for p >= 1 associations in dimension d >= 1."""
    p, d = _at_least(1, p=p), _at_least(1, d=d)
    return _scalar(p * np.log(p) / d**2)


def associations(load: ArrayLike, d: ArrayLike) -> np.ndarray | float:
    """The real p with p log p = load d^2: p = exp(W(load d^2)), W being Lambert's function.

    Exact inverse of `load` in p; defined for every load >= 0 (p = 1 at load 0).
    """
    load, d = _at_least(0, load=load), _at_least(1, d=d)
    return _scalar(np.exp(lambertw(load * d**2).real))


def nearest_associations(load: float, d: int) -> int:
    """The whole number of associations whose load is nearest to `load` in dimension d."""
    return int(round(float(associations(load, d))))


def dimension(load: ArrayLike, p: ArrayLike) -> np.ndarray | float:
    """The real d with p log p / d^2 = load: d = sqrt(p log p / load), for load > 0 and p > 1."""
    load, p = np.asarray(load, float), _at_least(1, p=p)
    if not np.all(np.isfinite(load) & (load > 0)):
        raise refuse("load", _plain(load), "finite and above 0")
    return _scalar(np.sqrt(p * np.log(p) / load))


def _at_least(least: float, **named: ArrayLike) -> np.ndarray:
    ((name, value),) = named.items()
    array = np.asarray(value, float)
    if not np.all(np.isfinite(array) & (array >= least)):
        raise refuse(name, _plain(array), f"finite and at least {least}")
    return array


def _plain(array: np.ndarray) -> object:
    return array.item() if array.ndim == 0 else array.tolist()


def _scalar(array: np.ndarray) -> np.ndarray | float:
    return float(array) if np.ndim(array) == 0 else array
