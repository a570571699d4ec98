"""Checks of the arguments of formulas, numbers or arrays: a refusal states name, value and allowed range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from loadstone.arguments import refuse
from loadstone.given_arrays import array_of

#: Sizes and loads lie between these, so that no product, square or quotient of two of them leaves float64's range.
SMALLEST, LARGEST = 1e-100, 1e100


def at_least(name: str, value: ArrayLike, least: float) -> np.ndarray:
    """`value` as an array of numbers in [least, 1e100], or a refusal."""
    allowed = f"at least {least:g} and at most {LARGEST:g}"
    return checked(name, value, allowed, lambda array: (array >= least) & (array <= LARGEST))


def finite(name: str, value: ArrayLike) -> np.ndarray:
    """`value` as an array of numbers in [-1e100, 1e100], or a refusal."""
    return at_least(name, value, -LARGEST)


def positives(name: str, value: ArrayLike) -> np.ndarray:
    """`value` as an array of numbers in [1e-100, 1e100], or a refusal."""
    return at_least(name, value, SMALLEST)


def whole_numbers(name: str, value: ArrayLike, least: int, most: int) -> np.ndarray:
    """`value` as an array of whole numbers in [least, most], or a refusal."""
    allowed = f"whole, at least {least} and at most {most:g}"
    return checked(name, value, allowed, lambda array: (array >= least) & (array <= most) & (array == np.floor(array)))


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """`value` as one whole number in [least, most], or a refusal."""
    return int(whole_numbers(name, single(name, value), least, most))


def in_half_open(name: str, value: ArrayLike, low: float, high: float) -> np.ndarray:
    """`value` as an array of numbers in [low, high), or a refusal."""
    return checked(name, value, f"in [{low}, {high})", lambda array: (array >= low) & (array < high))


def fractions(name: str, value: ArrayLike) -> np.ndarray:
    """`value` as an array of numbers in (0, 1], or a refusal."""
    return checked(name, value, "a number in (0, 1]", lambda array: (array > 0) & (array <= 1))


def checked(name: str, value: ArrayLike, allowed: str, good: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """`value` as an array of floats that are all good, or a refusal."""
    array = numbers(name, value, allowed)
    if not np.all(good(array)):
        raise refuse(name, plain(array), allowed)
    return array


def single(name: str, value: Any) -> Any:
    """`value` if it is a single number and not an array or a list, or a refusal."""
    if isinstance(value, list | tuple) or np.ndim(value):
        raise refuse(name, value, "one number, not an array")
    return value


def each(function: Callable[..., float], *values: ArrayLike) -> np.ndarray | float:
    """`function` of every element (of broadcast arrays); a number for numbers."""
    if all(np.ndim(value) == 0 for value in values):
        return float(function(*values))
    return np.vectorize(function, otypes=[float])(*values)


def scalar(array: np.ndarray | float) -> np.ndarray | float:
    """A float where the arguments were numbers, an array where they were arrays."""
    return float(array) if np.ndim(array) == 0 else array


def plain(array: np.ndarray) -> object:
    """The contents of an array as Python numbers and lists, to be shown in a message."""
    return array.item() if array.ndim == 0 else array.tolist()


def numbers(name: str, value: ArrayLike, allowed: str) -> np.ndarray:
    """`value` as an array of floats of any size, or a refusal."""
    array = array_of(name, value, allowed)
    if array.dtype.kind not in "iuf":
        raise refuse(name, value, allowed)
    return array.astype(float)
