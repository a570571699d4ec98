"""Bisection over whole numbers."""

from __future__ import annotations

from collections.abc import Callable


def largest(holds: Callable[[int], bool], low: int, high: int | None = None) -> int:
    """The largest whole number for which `holds` is true, if it is true from `low` to this number and false above.

    high: a number for which it is false. If left out, it is found by doubling: `holds` is then called with numbers up
    to twice the answer, and has to raise an error for those that are too large if it may be true for all.
    """
    if high is None:
        high = max(2 * low, low + 1)
        while holds(high):
            low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
