"""How often each of M answers is the target of a fact, in words or numbers.

Frequencies are 'uniform' (each fact's target is any answer, independently), 'balanced' (each block of M facts has every
answer once, in random order), 'zipf:s' (answer y = 1, 2, ... has a frequency proportional to y^-s), or one number for
each answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from loadstone.arguments import refuse, whole
from loadstone.given_arrays import real_array

Frequencies = str | tuple[float, ...]

_ALLOWED = "uniform, balanced, zipf:s with a finite s of at least 0, or one number for each answer"
#: Most answers: their indices are 32-bit numbers.
MOST_ANSWERS = 2**31 - 1


def check_answers(answers: object, frequencies: object) -> tuple[int | None, Frequencies]:
    """Both in canonical form ('zipf:1.0' as 'zipf:1', a list as a tuple), or a refusal. Without answers every input
    has a target of its own, and there are no frequencies to choose."""
    if answers is None:
        if not isinstance(frequencies, str) or frequencies != "uniform":
            raise refuse("frequencies", frequencies, "uniform unless a number of answers is given")
        return None, "uniform"
    count = whole("answers", answers, 2, MOST_ANSWERS)
    if isinstance(frequencies, str):
        return count, _word(frequencies)
    return count, _numbers(frequencies, count)


def shares_of(answers: int, frequencies: Frequencies) -> np.ndarray:
    """For each answer, the share of the facts that have it, from checked frequencies."""
    if isinstance(frequencies, str):
        _, _, exponent = frequencies.partition(":")
        weights = np.arange(1.0, answers + 1) ** -float(exponent or 0)
    else:
        weights = np.asarray(frequencies)
        with np.errstate(over="ignore"):
            # Scaled only where the sum is too large for a float, so that all others keep their last digit.
            weights = weights if np.isfinite(weights.sum()) else weights / weights.max()
    return weights / weights.sum()


def read_frequencies(text: str) -> Frequencies:
    """A word of this module as it is; otherwise the numbers in the file of this name, separated by blanks or commas."""
    if text.partition(":")[0] in ("uniform", "balanced", "zipf"):
        return text
    if not Path(text).is_file():
        raise refuse("frequencies", text, "uniform, balanced, zipf:s, or a file with one number for each answer")
    try:
        return tuple(float(word) for word in Path(text).read_text().replace(",", " ").split())
    except ValueError as error:
        raise ValueError(f"{text} cannot be read as frequencies: it must hold numbers only ({error}).") from error


def _word(text: str) -> str:
    if text in ("uniform", "balanced"):
        return text
    name, _, exponent = text.partition(":")
    try:
        value = float(exponent) if name == "zipf" else math.nan
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise refuse("frequencies", text, _ALLOWED)
    return f"zipf:{int(value) if value.is_integer() else value!r}"


def _numbers(values: object, answers: int) -> tuple[float, ...]:
    if not isinstance(values, Sequence | np.ndarray) or any(isinstance(one, bool) for one in values):
        raise refuse("frequencies", values, _ALLOWED)
    numbers = real_array("frequencies", values, _ALLOWED)
    if numbers.ndim != 1 or not numbers.size:
        raise refuse("frequencies", values, _ALLOWED)
    if len(numbers) != answers:
        raise ValueError(f"frequencies has {len(numbers)} numbers, but must have {answers}, one for each answer.")
    shares = tuple(map(float, numbers))
    if not all(0 <= share < math.inf for share in shares) or not any(shares):
        raise refuse("frequencies", shares, "finite numbers, none negative, that sum to something above 0")
    return shares
