"""Of how many dimensions the vectors of a book are."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

#: Rounding makes singular values of about eps (sqrt n + sqrt d) times the numbers; so much larger ones are real.
_ABOVE_ROUNDING = 4.0


def dimensions(vectors: Float[np.ndarray, "n d"], most: int, centred: bool = False) -> int:
    """Of how many dimensions, at most so many, vectors are (about their mean): the directions that they span beyond
    rounding. Vectors that are too few to span more say nothing about it."""
    given, (n, d) = vectors.astype(np.float64), vectors.shape
    sizes = np.linalg.svd(given - given.mean(axis=0) if centred else given, compute_uv=False)
    # Of the numbers themselves, and of the computation in float64.
    relative = np.finfo(vectors.dtype).eps * (np.sqrt(n) + np.sqrt(d)) + np.finfo(np.float64).eps * np.sqrt(n * d)
    rounding = relative * np.sqrt(np.mean(given**2))
    span = max(1, int((sizes > _ABOVE_ROUNDING * rounding).sum()))
    return most if span >= min(most, len(np.unique(given, axis=0)) - centred) else span
