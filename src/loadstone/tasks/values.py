"""Kinds of values that a field of a record may have: whole numbers, shares, lists, tables of these.

A `Field` says whether a value is possible in a record of a given size. What JSON cannot hold is never possible, and
True is no number.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Size(NamedTuple):
    """What bounds the values of a record: the p and the d of its spec, and whether its search diverged."""

    p: float = math.inf
    d: float = math.inf
    diverged: bool = False


Field = Callable[[object, Size], bool]
#: A bound, or a function that computes it from the size of a record.
Bound = float | Callable[[Size], float]

#: Rounding in float32 may take sums and quotients out of their range by this much.
ROUNDING = 1e-6
#: How a record writes the numbers that JSON cannot hold. Only a run that diverged has them.
_NOT_FINITE = ("nan", "inf", "-inf")


def number(low: float = -math.inf, high: float = math.inf, if_it_converged: bool = False) -> Field:
    """A finite number in [low, high]. With `if_it_converged`, a search that diverged may have one that is not finite,
    which is then written as a word."""

    def possible(value: object, size: Size) -> bool:
        if if_it_converged and size.diverged and value in _NOT_FINITE:
            return True
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return abs(value) <= sys.float_info.max and low <= value <= high

    return possible


def whole(low: int, high: Bound = 2**63) -> Field:
    """A whole number in [low, high]."""
    return lambda value, size: (
        isinstance(value, int) and not isinstance(value, bool) and low <= value <= _bound(high, size)
    )


def or_none(field: Field) -> Field:
    return lambda value, size: value is None or field(value, size)


def listed(field: Field, most: Bound = math.inf) -> Field:
    """A list of at most `most` such values."""
    return lambda value, size: (
        isinstance(value, list) and len(value) <= _bound(most, size) and all(field(item, size) for item in value)
    )


def row(*fields: Field) -> Field:
    """A list of item value of each of these kinds."""
    return lambda value, size: (
        isinstance(value, list)
        and len(value) == len(fields)
        and all(field(item, size) for field, item in zip(fields, value))
    )


def table(fields: Mapping[str, Field]) -> Field:
    """A dictionary whose values under known names are possible; other names are not checked."""
    return lambda value, size: (
        isinstance(value, dict) and all(field(value[name], size) for name, field in fields.items() if name in value)
    )


def word(value: object, size: Size) -> bool:
    return isinstance(value, str)


def yes_or_no(value: object, size: Size) -> bool:
    return isinstance(value, bool)


def _bound(bound: Bound, size: Size) -> float:
    return bound(size) if callable(bound) else bound
