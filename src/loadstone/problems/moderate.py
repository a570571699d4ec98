"""Vectors of any scale in numbers of moderate size.

Neither the length of an input nor the scale of the outputs or of W changes which facts are stored, but products of
numbers such as 1e155 overflow, and those of 1e-163 vanish. Powers of two take that away and change no digit. Vectors of
usual size stay as they are.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int

#: The largest entries are to lie between 2^-30 and 2^30: then even float32 holds sums of squares of products.
_MODERATE = 30
#: Exponents of numbers whose last digits float64 still holds, and of which it holds the sum of a few.
_LEAST, _MOST = -960, 1020


def moderate(
    vectors: Float[np.ndarray, "n d"], axis: int | None = None
) -> tuple[Float[np.ndarray, "n d"], Int[np.ndarray, "*n"]]:
    """The vectors divided by powers of two that make their largest entries moderate, and the exponents of these powers:
    for axis 1 a power for each row, otherwise one for all."""
    tops = np.frexp(np.maximum(vectors.max(axis=axis), -vectors.min(axis=axis)))[1]
    exponents = np.asarray(tops - np.clip(tops, -_MODERATE, _MODERATE))
    if not exponents.any():
        return vectors, exponents
    return np.ldexp(vectors.astype(np.float64), -(exponents if axis is None else exponents[:, None])), exponents


def given_scale(
    scores: Float64[np.ndarray, "n *m"], exponents: Int[np.ndarray, "n"], sizes: Float64[np.ndarray, "n"] | None = None
) -> Float64[np.ndarray, "n *m"]:
    """Scores of moderate vectors as those of the given vectors: each row times a power of two. Where the result would
    leave the range of float64, it is the nearest power that keeps it there, so that signs and ratios stay.

    sizes: how large the numbers of each row are; None: as large as their largest.
    """
    if not exponents.any():
        return scores
    tops = np.frexp(np.abs(scores).max(axis=1) if sizes is None else sizes)[1]
    powers = np.clip(tops + exponents, _LEAST, _MOST) - tops
    return np.ldexp(scores, powers[:, None] if scores.ndim == 2 else powers)
