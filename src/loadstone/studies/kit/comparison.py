"""A predicted and a measured number: how far apart they are, what would have been seen, and a verdict.

Each prediction is made without looking at the measurement. If it is for large sizes, or for a memory that training does
not reach, the note says so: a difference is then a finding and not a failure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from scipy.special import nctdtrinc, ndtri, stdtr, stdtrit

#: Theory and measurement differ if chance alone gives a larger difference with less than this probability: beyond 2.6
#: standard errors if these are known exactly.
CHANCE = 0.01
#: A difference counts as one that would have been seen if it is seen with this probability.
POWER = 0.8
#: Theory and measurement agree only if a difference of this share of the prediction would have been seen, and if the
#: measurement leaves no larger one possible.
MATTERS = 0.05
#: With fewer values no standard error can be estimated, because they show no scatter.
FEWEST = 2
LARGE_D = "the law is for large d"
STORES_MORE = "the original problem can store a little more at small d"


class Judgement(StrEnum):
    """What a comparison shows."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Comparison:
    """One number, predicted and measured."""

    #: Which number, in words; the same words mean the same number in every figure.
    what: str
    #: The prediction of theory, without a free parameter.
    predicted: float
    #: The value measured from the records.
    measured: float
    #: The standard error of measured - predicted.
    error: float
    #: Degrees of freedom behind `error`; infinite where it is known and not estimated.
    dof: float = math.inf
    #: Why theory and measurement may differ, or ''.
    note: str = ""
    #: Comparisons of one family ask the same question at several sizes: see `studies/kit/multiple_tests.py`.
    family: str = ""
    #: Which streams were used. Within a family, only comparisons with different streams are independent.
    streams: str = ""
    #: What 100 % is; None for the prediction itself. A prediction of zero needs it.
    scale: float | None = None
    #: The probability at which chance alone is called a difference; below CHANCE for one comparison of many.
    level: float = CHANCE
    #: On how many sides of the prediction a difference counts.
    sides: ClassVar[int] = 2

    @classmethod
    def of(
        cls, family: str, point: Mapping[str, Any], predicted: float, measured: float, error: float, note: str = "",
        where: str = "", dof: float | None = None, **further: Any,
    ) -> Self:  # fmt: skip
        """A number of a family at one point of a study.

        point: its dimension d, and how many streams or seeds it has. where: the point, in words after those of the
        family; by default its d. dof: by default one less than there are streams.
        """
        streams = f"d = {point['d']}"
        if dof is None:
            dof = point["streams" if "streams" in point else "seeds"] - 1
        what = f"{family}, {where or streams}"
        return cls(what, predicted, measured, error, dof, note, family, streams, **further)

    @property
    def difference(self) -> float:
        """measured - predicted."""
        return self.measured - self.predicted

    @property
    def deviations(self) -> float:
        """The difference in standard errors; infinite if there is a difference but the standard error is zero."""
        if self.error > 0:
            return self.difference / self.error
        return math.copysign(math.inf, self.difference) if self.difference else 0.0

    @property
    def p_value(self) -> float:
        """The probability that chance alone gives a larger difference; few degrees of freedom make it larger."""
        return float(self.sides * stdtr(self.dof, -abs(self.deviations)))

    @property
    def min_detectable(self) -> float:
        """The smallest true difference that would have been seen with probability POWER."""
        bound = stdtrit(self.dof, 1 - self.level / self.sides)
        if math.isinf(self.dof):
            return float(self.error * (bound + ndtri(POWER)))
        return float(self.error * nctdtrinc(self.dof, 1 - POWER, bound))

    @property
    def percent(self) -> float:
        """One per cent, in the units of the measurement."""
        return abs(self.predicted if self.scale is None else self.scale) / 100

    @property
    def within(self) -> float:
        """The largest difference that the measurement leaves possible, in per cent, at the level CHANCE."""
        most = abs(self.difference) + self.error * float(stdtrit(self.dof, 1 - CHANCE / 2))
        return most / self.percent if self.percent else math.inf

    @property
    def verdict(self) -> Judgement:
        """What the comparison shows; two streams never agree with anything (see `dof_of`)."""
        if self.p_value < self.level:
            return Judgement.DIFFERS
        most = 100 * MATTERS
        enough = self.dof > FEWEST - 1 and self.min_detectable <= most * self.percent and self.within <= most
        return Judgement.AGREES if enough else Judgement.CANNOT_TELL

    def in_words(self) -> str:
        """The verdict with its numbers: how well it agrees, by how much it differs, or what would have been seen."""
        if self.verdict == Judgement.AGREES:
            return f"agrees within {short_number(self.within)} %"
        if self.verdict == Judgement.DIFFERS:
            return f"differs by {self.difference_in_words()}"
        least = short_number(self.min_detectable / (self.percent or 1.0)) + (" %" if self.percent else "")
        return f"cannot tell: {self.difference_in_words()}, and less than {least} would not have been seen"

    def difference_in_words(self) -> str:
        """The difference and its error, in per cent if there is something of which to take them."""
        unit, sign = (self.percent, " %") if self.percent else (1.0, "")
        return f"{with_error(self.difference / unit, self.error / unit)}{sign}"

    def as_row(self) -> dict[str, object]:
        """All fields, and what follows from them, as JSON can hold them: None stands for infinity."""
        fields = {"freedom" if name == "dof" else name: value for name, value in asdict(self).items()}
        row = fields | {"difference": self.difference, "deviations": self.deviations, "chance": self.p_value}
        row |= {"detectable": self.min_detectable, "within": self.within, "verdict": self.verdict}
        row["in_words"] = self.in_words()
        return {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in row.items()}


def dof_of(streams: int, error: float = 1.0, spread: float = 0.0) -> float:
    """Degrees of freedom of an error of which only the part `spread` is estimated from the scatter of the streams.

    Satterthwaite's formula; infinite if nothing is estimated. Two streams have one degree of freedom in any case:
    nobody should trust an agreement of two.
    """
    if streams <= FEWEST:
        return 1.0
    return (streams - 1) * (error / spread) ** 4 if spread > 0 else math.inf


def short_number(number: float) -> str:
    """Two digits, or whole from 100 on."""
    return f"{number:.2g}" if number < 100 else f"{number:.0f}"


def with_error(value: float, error: float) -> str:
    """A signed number with the error of its last digit in brackets: +1.2(3), -15(4)."""
    if not (math.isfinite(value) and math.isfinite(error)) or error <= 0:
        return f"{value:+.3g}"
    digits = -math.floor(math.log10(error))
    if round(error * 10**digits) == 10:  # 0.96 is 1, which has one digit less
        digits -= 1
    if digits > 0:
        return f"{value:+.{digits}f}({round(error * 10**digits)})"
    unit = 10**-digits
    return f"{round(value / unit) * unit:+d}({round(error / unit) * unit})"
