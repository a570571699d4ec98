"""The linear map after which vectors extend as far in every direction."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from loadstone.threads import one_thread

#: Directions in which vectors extend less than this, relative to the largest, are taken for rounding.
_SMALLEST = 1e-12


def root_of_inverse(
    vectors: Float64[np.ndarray, "n d"],
) -> tuple[Float64[np.ndarray, "d d"], Float64[np.ndarray, "d d"]]:
    """The symmetric matrix that gives rows of this kind a second moment of one in every direction in which they extend,
    and its inverse there. Both are zero elsewhere."""
    n, d = vectors.shape
    # The triangle has the same second moment, and its singular values keep the digits that a covariance would lose.
    with one_thread():  # on a busy machine two threads wait for each other, and take ten times as long
        triangle = np.linalg.qr(vectors, mode="r") if n > d else vectors
        _, sizes, axes = np.linalg.svd(triangle, full_matrices=False)
    kept = sizes > _SMALLEST * max(sizes.max(initial=0.0), np.finfo(float).tiny)
    axes, sizes = axes[kept], sizes[kept] / np.sqrt(n)
    return (axes.T / sizes) @ axes, (axes.T * sizes) @ axes
