"""Sentences for arguments that cannot be used: which one, its value, what is allowed."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any, TypeVar

Value = TypeVar("Value")

#: A value is shown with at most this many characters.
_MOST_SHOWN = 300


def refuse(name: str, value: object, allowed: str) -> ValueError:
    """The error to raise when `value` cannot be used for the argument `name`."""
    return ValueError(f"{name} is {_shown(value)}, but must be {allowed}.")


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """`value` as an int in [least, most], or a refusal."""
    upper = "" if most is None else f" and at most {most}"
    allowed = f"a whole number of at least {least}{upper}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise refuse(name, value, allowed)
    number = int(value)
    if number < least or (most is not None and number > most):
        raise refuse(name, number, allowed)
    return number


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero, or a refusal."""
    number = _number(value)
    if not (math.isfinite(number) and number > 0):
        raise refuse(name, value, "a finite number above 0")
    return number


def rank_fraction(name: str, value: object) -> float:
    """`value` as a float in (0, 1], or a refusal."""
    number = _number(value)
    if not 0 < number <= 1:
        raise refuse(name, value, "a number in (0, 1]")
    return number


def rank_of(kappa: float, d: int) -> int:
    """m = round(kappa d), at least 1."""
    return max(1, round(rank_fraction("kappa", kappa) * d))


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """`value` if it is one of the words in `allowed`, or a refusal."""
    if not isinstance(value, str) or value not in allowed:
        raise refuse(name, value, "one of " + ", ".join(allowed))
    return str(value)


def instance_of(name: str, value: Value, kinds: type | tuple[type, ...], allowed: str) -> Value:
    """`value` if it is of this class, or of one of these, or a refusal."""
    if not isinstance(value, kinds):
        raise refuse(name, value, allowed)
    return value


def true_or_false(name: str, value: Any) -> bool:
    """`value` as True or False, of Python or of NumPy, or a refusal."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise refuse(name, value, "True or False")
    return bool(value)


def path_of(name: str, value: Value) -> Value:
    """`value` if it can be the path of a file, or a refusal."""
    return instance_of(name, value, (str, os.PathLike), "the name of a file")


def file_name(name: str, value: str) -> str:
    """`value` if a file can have this name, or a refusal. Whether the file can be written is checked in `files`."""
    if not value.strip() or "\0" in value:
        raise refuse(name, value, "the name of a file")
    return value


def set_as(frozen: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass in `__post_init__` to its checked value, in plain type: 3, not NumPy's 3."""
    object.__setattr__(frozen, name, value)


def _number(value: object) -> float:
    """`value` as a float: NaN if it is not a number, infinity if it is too large for a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: object) -> str:
    """The value as Python writes it, shortened if it is very long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write out whole numbers of thousands of digits
        return "a number of thousands of digits"
    text = " ".join(text.split()) if "\n" in text else text  # one line, also of an array
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text)} characters)"
