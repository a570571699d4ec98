"""One predicted number beside the measured one: their difference in standard errors, and a verdict.

Each prediction is made without looking at the measurement. Where it is one for large sizes, or for a memory that
training does not reach, the note says so: a difference is then a finding and not a failure.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from scipy.stats import t as student

#: A difference counts as one if chance alone would exceed it less often than this: beyond 2.6 standard errors if these
#: are known exactly.
CHANCE = 0.01
#: Fewer values show no scatter, so no standard error can be estimated from them.
FEWEST = 2
LARGE_D = "the law is that of large d"


@dataclass(frozen=True)
class Comparison:
    """One number."""

    #: Which number, in words; the same words mean the same number in every figure.
    what: str
    #: What theory says, without a free parameter.
    predicted: float
    #: What the records say.
    measured: float
    #: The standard error of measured - predicted.
    error: float
    #: Degrees of freedom behind `error`; infinite where it is known and not estimated.
    freedom: float = math.inf
    #: Why theory and measurement may differ, or ''.
    note: str = ""

    @property
    def deviations(self) -> float:
        """The difference in standard errors; infinite if there is one where no error was possible."""
        difference = self.measured - self.predicted
        if self.error > 0:
            return difference / self.error
        return math.copysign(math.inf, difference) if difference else 0.0

    @property
    def agrees(self) -> bool:
        """Whether chance could explain the difference; with few degrees of freedom Student's law allows more."""
        return bool(abs(self.deviations) <= student.ppf(1 - CHANCE / 2, self.freedom))

    def as_row(self) -> dict[str, object]:
        """All of it as JSON can hold it: None stands for infinity."""
        row = asdict(self) | {"deviations": self.deviations, "agrees": self.agrees}
        return row | {name: None for name in ("freedom", "deviations") if math.isinf(row[name])}
