"""How far sums and products computed in float64 can be from the true ones. NumPy only.

A sum or inner product of n terms that is computed in float64, in any order, with or without fused operations, differs
from the true one by at most gamma(n) times the sum of the absolute values of its terms, gamma(n) = n u / (1 - n u),
u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3). Those sums of absolute values are themselves
computed, with a relative error far below one per cent, which SLACK covers. We assume IEEE arithmetic and matrix
products that multiply and add (no Strassen).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

UNIT = 2.0**-53
SLACK = 1.01
#: More than everything that underflows in a sum of fewer than 10^15 numbers below 1.
TINY = 1e-290


def norm_above(matrix: Float64[np.ndarray, "..."]) -> float:
    """A close upper bound on the Euclidean norm of all entries, free of under- and overflow."""
    top = float(np.abs(matrix).max())
    if not (np.isfinite(top) and top > 0):
        return top
    norm = float(np.linalg.norm(matrix / top)) * (1 + SLACK * gamma(matrix.size + 8)) + 1e-150
    return float(np.nextafter(top * norm, np.inf))


def gamma(n: int, unit: float = UNIT) -> float:
    """n u / (1 - n u), the relative error of n rounded operations."""
    return n * unit / (1 - n * unit)
