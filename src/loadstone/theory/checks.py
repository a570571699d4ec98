"""Arguments of formulas: numbers or arrays of them, refused by name, value and allowed range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from loadstone.arguments import refuse


def at_least(name: str, value: ArrayLike, least: float) -> np.ndarray:
    """`value` as an array of finite numbers, none below `least`, or a refusal."""
    array = _numbers(name, value, f"finite and at least {least}")
    if not np.all(np.isfinite(array) & (array >= least)):
        raise refuse(name, plain(array), f"finite and at least {least}")
    return array


def above(name: str, value: ArrayLike, bound: float) -> np.ndarray:
    """`value` as an array of finite numbers above `bound`, or a refusal."""
    array = _numbers(name, value, f"finite and above {bound}")
    if not np.all(np.isfinite(array) & (array > bound)):
        raise refuse(name, plain(array), f"finite and above {bound}")
    return array


def whole_numbers(name: str, value: ArrayLike, least: int, most: int) -> np.ndarray:
    """`value` as an array of whole numbers in [least, most], or a refusal."""
    allowed = f"whole, at least {least} and at most {most:g}"
    array = _numbers(name, value, allowed)
    if not np.all((array >= least) & (array <= most) & (array == np.floor(array))):
        raise refuse(name, plain(array), allowed)
    return array


def in_half_open(name: str, value: ArrayLike, low: float, high: float) -> np.ndarray:
    """`value` as an array of numbers in [low, high), or a refusal."""
    array = _numbers(name, value, f"in [{low}, {high})")
    if not np.all((array >= low) & (array < high)):
        raise refuse(name, plain(array), f"in [{low}, {high})")
    return array


def fractions(name: str, value: ArrayLike) -> np.ndarray:
    """`value` as an array of numbers in (0, 1], or a refusal."""
    array = _numbers(name, value, "a number in (0, 1]")
    if not np.all((array > 0) & (array <= 1)):
        raise refuse(name, plain(array), "a number in (0, 1]")
    return array


def each(function: Callable[..., float], *values: ArrayLike) -> np.ndarray | float:
    """`function` of every element (of broadcast arrays); a number for numbers."""
    return scalar(np.vectorize(function, otypes=[float])(*values))


def scalar(array: np.ndarray | float) -> np.ndarray | float:
    """A float where the arguments were numbers, an array where they were arrays."""
    return float(array) if np.ndim(array) == 0 else array


def plain(array: np.ndarray) -> object:
    return array.item() if array.ndim == 0 else array.tolist()


def _numbers(name: str, value: ArrayLike, allowed: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise refuse(name, value, allowed)
    return array.astype(float)
