"""Numbers as people give them, kept to the last digit for proofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from loadstone.arguments import refuse
from loadstone.problems.arrays import Arrays

#: Whole numbers up to here are float64 numbers.
_MOST_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class Given:
    """An instance as it was given. It takes no part in compiled programs, so to JAX all of them are the same."""

    arrays: Arrays | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given)

    def __hash__(self) -> int:
        return 0


def read_numbers(name: str, value: ArrayLike) -> Float[np.ndarray, "n d"]:
    """One embedding a row, as float32 if that is what was given and as float64 otherwise; nothing is rounded."""
    wanted = "a matrix of real numbers, one embedding a row"
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:  # rows of different lengths, and what no array can hold
        raise refuse(name, type(value).__name__, f"{wanted} ({' '.join(str(error).split())[:120]})") from error
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiu":
        raise refuse(name, f"{array.dtype}{array.shape}", wanted)
    if array.dtype.kind in "iu" and max(abs(int(array.min())), abs(int(array.max()))) > _MOST_EXACT:
        raise refuse(name, "with whole numbers beyond 2^53", "numbers that float64 holds exactly")
    if array.dtype.itemsize > 8:
        raise refuse(f"{name}.dtype", str(array.dtype), "float64 or shorter")
    if not np.isfinite(array).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{row}, {column}] is {array[row, column]}, but every component must be finite.")
    return array if array.dtype == np.float32 else array.astype(np.float64)
