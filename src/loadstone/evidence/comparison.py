"""One predicted number beside the measured one: their difference in standard errors, and a verdict.

Each prediction is made without looking at the measurement. If it is for large sizes, or for a memory that training does
not reach, the note says so: a difference is then a finding and not a failure.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from scipy.special import stdtrit

#: Theory and measurement disagree if chance alone gives a larger difference with less than this probability: beyond 2.6
#: standard errors if these are known exactly.
CHANCE = 0.01
#: With fewer values no standard error can be estimated, because they show no scatter.
FEWEST = 2
LARGE_D = "the law is for large d"


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
    freedom: float = math.inf
    #: Why theory and measurement may differ, or ''.
    note: str = ""

    @property
    def deviations(self) -> float:
        """The difference in standard errors; infinite if there is a difference but the standard error is zero."""
        difference = self.measured - self.predicted
        if self.error > 0:
            return difference / self.error
        return math.copysign(math.inf, difference) if difference else 0.0

    @property
    def agrees(self) -> bool:
        """Whether chance could explain the difference; with few degrees of freedom Student's law allows more."""
        return bool(abs(self.deviations) <= stdtrit(self.freedom, 1 - CHANCE / 2))

    def as_row(self) -> dict[str, object]:
        """All fields as JSON can hold them: None stands for infinity."""
        row = asdict(self) | {"deviations": self.deviations, "agrees": self.agrees}
        return row | {name: None for name in ("freedom", "deviations") if math.isinf(row[name])}
