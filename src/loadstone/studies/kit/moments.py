"""Two numbers of a spectrum that do not depend on the scale of the matrix."""

from __future__ import annotations

import math

import numpy as np

FOURTH, TOP = "<s^4>/<s^2>^2", "largest singular value over root mean square"


def moments(singular_values: np.ndarray) -> dict[str, float]:
    """The fourth moment in units of the squared second one, and the largest value in units of the root mean square."""
    squares = np.asarray(singular_values, float) ** 2
    mean = float(squares.mean())
    return {FOURTH: float((squares**2).mean()) / mean**2, TOP: math.sqrt(float(squares.max()) / mean)}
