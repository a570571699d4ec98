"""Numbers brought to a moderate size by powers of two, which changes no digit. NumPy only.

Storability does not change when an input, or all outputs that compete for it, are multiplied by a positive number.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int


def scaled(array: np.ndarray, axis: int | tuple[int, ...] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The array times powers of two that bring the largest entries along `axis` into [1/2, 1), and their exponents."""
    exponent = exponent_of(array, axis)
    return times_power(array, -(exponent if axis is None else np.expand_dims(exponent, axis))), exponent


def exponent_of(array: np.ndarray, axis: int | tuple[int, ...] | None) -> np.ndarray:
    return np.frexp(np.maximum(array.max(axis=axis), -array.min(axis=axis)))[1]


def times_power(array: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """array 2^exponent as float64, in two steps because the power itself may overflow."""
    half = exponent // 2
    result = array.astype(np.float64)
    result *= np.ldexp(1.0, half)
    result *= np.ldexp(1.0, exponent - half)
    return result


def multipliers_of_scaled(
    multipliers: Float64[np.ndarray, "n m"], exponents: Int[np.ndarray, "n"]
) -> Float64[np.ndarray, "n m"]:
    """The multipliers that prove the same for scaled vectors, themselves scaled to a largest entry in [1/2, 1).

    Underflow here is no error: the bound is about the rounded multipliers.
    """
    tops = multipliers.max(axis=1)
    most = (np.frexp(tops)[1] + exponents)[tops > 0].max()
    return np.ldexp(multipliers, (exponents - most)[:, None])
