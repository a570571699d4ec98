"""Arrays that a caller gives, read in one place: what is no array, or has masked entries, is refused by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from loadstone.arguments import refuse


def array_of(name: str, value: ArrayLike, allowed: str) -> np.ndarray:
    """`value` as an array of NumPy, or a refusal. NumPy itself would drop the mask of a masked array."""
    if is_masked(value):
        raise refuse(name, "an array with masked entries", f"{allowed}, none of them masked")
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise refuse(name, f"a {type(value).__name__}", f"{allowed}, in lists of equal length") from error


def real_array(name: str, value: ArrayLike, allowed: str) -> np.ndarray:
    """`value` as an array of real numbers, or a refusal."""
    array = array_of(name, value, allowed)
    if array.dtype.kind not in "iuf":
        raise refuse(name, f"{array.dtype} of shape {array.shape}", allowed)
    return array


def is_masked(value: object) -> bool:
    """Whether an array, or one in a list, has entries that are masked."""
    if isinstance(value, list | tuple):
        return any(map(is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))
