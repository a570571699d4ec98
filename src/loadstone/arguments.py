"""Sentences for arguments that cannot be used: which one, its value, what is allowed."""

from __future__ import annotations

import math
from numbers import Integral, Real


def refuse(name: str, value: object, allowed: str) -> ValueError:
    """The error to raise when `value` cannot be used for the argument `name`."""
    return ValueError(f"{name} is {value!r}, but must be {allowed}.")


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
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value) or value <= 0:
        raise refuse(name, value, "a finite number above 0")
    return float(value)


def rank_fraction(name: str, value: object) -> float:
    """`value` as a float in (0, 1], or a refusal."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value <= 1:  # type: ignore[operator]
        raise refuse(name, value, "a number in (0, 1]")
    return float(value)


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """`value` if it is one of the words in `allowed`, or a refusal."""
    if value not in allowed:
        raise refuse(name, value, "one of " + ", ".join(allowed))
    return str(value)


def set_as(frozen: object, name: str, value: object) -> None:
    """Put a checked value into a frozen dataclass while it is made, in its plain type: 3, not NumPy's 3."""
    object.__setattr__(frozen, name, value)
