"""Tests of inequalities: that a number lies on one side of a bound, or that it rises or falls.

'The norm stays bounded' or 'the scatter is far smaller' are not predictions of a number. A measurement agrees with such
a statement if it lies on the right side of the bound by more than chance explains, differs from it if it lies on the
wrong side by as much, and otherwise cannot tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from loadstone.studies.kit.comparison import CHANCE, Comparison, Judgement, short_number, with_error

BELOW, ABOVE = "below", "above"


@dataclass(frozen=True)
class BoundComparison(Comparison):
    """A measured number that is said to lie on one side of a bound, `predicted`."""

    #: The side on which it is said to lie, 'below' or 'above'.
    side: str = BELOW
    #: The test is one-sided.
    sides: ClassVar[int] = 1

    @property
    def excess(self) -> float:
        """By how much it lies on the right side; negative on the wrong one."""
        return self.difference if self.side == ABOVE else -self.difference

    @property
    def within(self) -> float:
        """Infinite: a bound does not limit how far from it the number lies."""
        return math.inf

    @property
    def verdict(self) -> Judgement:
        """What the comparison shows; two streams never agree with anything, as elsewhere."""
        if self.p_value >= self.level:
            return Judgement.CANNOT_TELL
        if self.excess < 0:
            return Judgement.DIFFERS
        return Judgement.AGREES if self.dof > 1 else Judgement.CANNOT_TELL

    def in_words(self) -> str:
        """The verdict with its numbers."""
        sign = "<" if self.side == BELOW else ">"
        number, bound = with_error(self.measured, self.error).removeprefix("+"), f"{sign} {self.predicted:.3g}"
        if self.verdict == Judgement.AGREES:
            return f"holds: {number} {bound}"
        if self.verdict == Judgement.DIFFERS:
            return f"does not hold: {number} is not {bound}"
        least = short_number(self.min_detectable)
        return f"cannot tell whether {number} {bound}: less than {least} from it would not have been seen"


def trend(
    what: str, sizes: ArrayLike, values: ArrayLike, errors: ArrayLike, *, side: str = BELOW, dof: float = math.inf
) -> BoundComparison | None:
    """The exponent with which positive values change with the size, as a power law, compared with zero; None with fewer
    than three sizes.

    The exponent is fitted by least squares with the errors as weights. Where the values scatter about the power law
    by more than their errors explain, the error of the exponent is larger by as much, and known from that scatter only.
    dof: degrees of freedom behind the errors.
    """
    x, y, error = (np.asarray(numbers, float) for numbers in (sizes, values, errors))
    if len(x) < 3 or (y <= 0).any() or (error <= 0).any():
        return None
    weights = (y / error) ** 2
    centred = np.log(x) - np.average(np.log(x), weights=weights)
    information = float((weights * centred**2).sum())
    slope = float((weights * centred * np.log(y)).sum()) / information
    left = np.log(y) - np.average(np.log(y), weights=weights) - slope * centred
    chi_square, rest = float((weights * left**2).sum()), len(x) - 2
    scatter = 1.0
    if chdtrc(rest, chi_square) < CHANCE:
        scatter, dof = math.sqrt(chi_square / rest), float(rest)
    error_of_slope = scatter / math.sqrt(information)
    return BoundComparison(what, 0.0, slope, error_of_slope, dof, family=what, side=side)
