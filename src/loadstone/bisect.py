"""Bisection over whole numbers."""

from __future__ import annotations

from collections.abc import Callable


def largest(holds: Callable[[int], bool], low: int, high: int | None = None) -> int:
    """The largest whole number for which something holds, if it holds for `low` and for all numbers up to some one.

    high: a number for which it does not hold. If left out, it is found by doubling, and `holds` is asked about numbers
    up to twice the answer: one that can hold for every number must refuse those that are too large.
    """
    if high is None:
        high = max(2 * low, low + 1)
        while holds(high):
            low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
