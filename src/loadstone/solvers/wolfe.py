"""Which steps a line search accepts, and when it has no digits left: rules of both L-BFGS, compiled and in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float

#: A step must lower the loss by at least this share of what its slope promises, and leave at most this share of it.
_DECREASE, _FLATTER = 1e-4, 0.9
#: The numbers have run out of digits after this many steps along one direction, or after this many directions along
#: which neither the loss nor the length of the gradient got smaller.
MOST_TRIALS, MOST_IDLE = 15, 10

Number = Float[Array, ""] | float


def wolfe(
    start: Number, start_slope: Number, step: Number, loss: Number, slope: Number, noise: Number
) -> tuple[Bool[Array, ""] | bool, Bool[Array, ""] | bool]:
    """Whether a step is not too long, and whether it meets both Wolfe conditions.

    start, start_slope: the loss where the line begins, and its derivative along the line.
    loss, slope: the same after the step.
    noise: how much the loss may change by rounding alone.
    """
    low_enough = loss <= start + _DECREASE * step * start_slope
    # Where the loss itself has no digits left, its slope still decides: it must not have turned steep upwards.
    low_enough |= (loss <= start + noise) & (slope <= -(1 - 2 * _DECREASE) * start_slope)
    return low_enough, low_enough & (slope >= _FLATTER * start_slope)


def rounding_noise(loss: Any, dtype: Any) -> Any:
    """How much a loss may change by rounding alone; not a number before anything was measured."""
    return 8 * float(np.finfo(dtype).eps) * abs(loss)
