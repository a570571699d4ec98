"""Shares that count independent cases, such as facts recalled: their law is binomial, however rare failures are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, bdtri

from loadstone.bisect import largest
from loadstone.studies.kit.comparison import CHANCE, POWER, Comparison


@dataclass(frozen=True)
class CountComparison(Comparison):
    """A predicted and a counted share. `error` is that of the predicted law, and not used for the verdict."""

    #: How many cases there were.
    cases: int = 1

    @property
    def p_value(self) -> float:
        """Twice the probability of a count at least as far out on its side."""
        count = round(self.measured * self.cases)
        # Both sides include what was counted, so their sum is above one and the smaller may be above a half.
        low, high = _at_most(count, self.cases, self.predicted), _at_least(count, self.cases, self.predicted)
        return min(1.0, 2 * min(low, high))

    @property
    def min_detectable(self) -> float:
        """The smallest difference that would have been seen on whichever side it is. On a side where nothing would be
        seen, this is the largest difference that a share can have there."""
        share, cases, down, up = self.predicted, self.cases, self.predicted, 1 - self.predicted
        # The largest count that is called too small, and the share that gives one as small often enough.
        most = largest(lambda count: 2 * _at_most(count, cases, share) < self.level, -1, cases + 1)
        if most >= 0:
            down = share - float(bdtri(most, cases, POWER))
        fewest = 1 + largest(lambda count: 2 * _at_least(count, cases, share) >= self.level, -1, cases + 1)
        if fewest <= cases:
            up = float(brentq(lambda truth: _at_least(fewest, cases, truth) - POWER, share, 1.0)) - share
        return max(down, up)

    @property
    def within(self) -> float:
        """The largest difference that is left possible, in per cent, by the exact limits of Clopper and Pearson."""
        count, cases = round(self.measured * self.cases), self.cases
        low = 1 - float(bdtri(cases - count, cases, CHANCE / 2)) if count else 0.0
        high = float(bdtri(count, cases, CHANCE / 2)) if count < cases else 1.0
        return max(high - self.predicted, self.predicted - low) / self.percent if self.percent else math.inf


def count_comparison(
    what: str, predicted: float, count: int, cases: int, note: str = "", family: str = "", streams: str = ""
) -> CountComparison:
    """The comparison of a share of `count` in `cases` with a predicted share."""
    error = math.sqrt(max(predicted * (1 - predicted), 0.0) / cases)
    return CountComparison(what, predicted, count / cases, error, math.inf, note, family, streams, cases=cases)


def _at_most(count: int, cases: int, share: float) -> float:
    return float(bdtr(count, cases, share)) if count >= 0 else 0.0


def _at_least(count: int, cases: int, share: float) -> float:
    return float(bdtrc(count - 1, cases, share)) if count >= 1 else 1.0
