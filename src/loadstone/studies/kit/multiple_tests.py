"""Many comparisons that ask one question: chance has many occasions, and small differences may all have one sign.

The more numbers are compared, the more of them differ by chance. Holm's correction keeps the probability that chance
alone is called a difference anywhere in the family at CHANCE. And where no single number differs, all of them together
may: thirty of thirty-one below the prediction are a finding. Comparisons that share their streams are not independent,
so that they count as one there.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from itertools import groupby

import numpy as np
from scipy.special import bdtrc, ndtr, ndtri, stdtr

from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import CHANCE, Comparison, with_error


@dataclass(frozen=True)
class FamilyTest:
    """What the comparisons of one family show together.

    family: what they ask, in words.
    comparisons: how many comparisons there are.
    above, below: how many of them lie above and below their prediction; those that meet it exactly are on neither side.
    groups: how many sets of streams they come from; those with the same streams count as one from here on.
    groups_above: how many sets lie above their predictions on average.
    shift: mean of (measured - predicted) in per cent over the sets.
    shift_error: its standard error.
    sign_chance: probability that chance alone puts as many sets on one side.
    pooled_chance: probability that chance alone gives as large a mean difference in standard errors.
    """

    family: str
    comparisons: int
    above: int
    below: int
    groups: int
    groups_above: int
    shift: float
    shift_error: float
    sign_chance: float
    pooled_chance: float

    @property
    def p_value(self) -> float:
        """Probability that one of the two tests shows as much by chance alone."""
        return min(1.0, 2 * min(self.sign_chance, self.pooled_chance))

    @property
    def systematic(self) -> bool:
        """Whether the family differs from its predictions as a whole."""
        return self.p_value < CHANCE

    @property
    def most(self) -> tuple[int, str]:
        """How many lie on the side where most of them are, and which side that is."""
        return (self.above, "above") if self.above >= self.below else (self.below, "below")

    def in_words(self) -> str:
        """One sentence."""
        many, side = self.most
        outcome = "a systematic difference" if self.systematic else "no systematic difference is seen"
        return (
            f"{self.family}: {many} of {self.comparisons} lie {side} the prediction, the mean difference is "
            f"{with_error(self.shift, self.shift_error)} %, and chance gives as much with probability "
            f"{self.p_value:.1g}: {outcome}."
        )

    def as_row(self) -> dict[str, object]:
        """All fields and what follows from them, as JSON can hold them."""
        return asdict(self) | {"chance": self.p_value, "systematic": self.systematic, "in_words": self.in_words()}


def corrected(comparisons: list[Comparison]) -> list[Comparison]:
    """The same comparisons, each with the level that Holm's correction gives it within its family."""
    levels: dict[int, float] = {}
    for _, family in _families(comparisons):
        ordered = sorted(family, key=lambda index: comparisons[index].p_value)
        # The rarest is tested at CHANCE / n, the next at CHANCE / (n - 1), ..., up to the first that is no difference;
        # all that follow stay at its level.
        level, is_difference = CHANCE, True
        for rank, index in enumerate(ordered):
            if is_difference:
                level = CHANCE / (len(ordered) - rank)
                is_difference = comparisons[index].p_value < level
            levels[index] = level
    return [replace(comparison, level=levels[index]) for index, comparison in enumerate(comparisons)]


def family_tests(comparisons: list[Comparison]) -> list[FamilyTest]:
    """The tests of families that are measured on at least two sets of streams, without inequalities."""
    tests = []
    for name, family in _families(comparisons):
        members = [comparisons[index] for index in family if comparisons[index].percent > 0]
        members = [one for one in members if not isinstance(one, BoundComparison)]
        sets = [list(group) for _, group in groupby(sorted(members, key=_streams), _streams)]
        if not name or len(sets) < 2:
            continue
        shifts = np.array([np.mean([one.difference / one.percent for one in group]) for group in sets])
        # The mean of correlated normal numbers scatters at most as much as one of them.
        pooled = float(np.mean([np.mean([_normal(one) for one in group]) for group in sets])) * math.sqrt(len(sets))
        above, below = int((shifts > 0).sum()), int((shifts < 0).sum())  # no difference at all is on neither side
        tests.append(
            FamilyTest(
                name,
                len(members),
                sum(bool(one.difference > 0) for one in members),
                sum(bool(one.difference < 0) for one in members),
                len(sets),
                above,
                float(shifts.mean()),
                float(shifts.std(ddof=1) / math.sqrt(len(sets))),
                _sign_chance(above, above + below),
                float(2 * ndtr(-abs(pooled))),
            )  # fmt: skip
        )
    return tests


def _families(comparisons: list[Comparison]) -> list[tuple[str, list[int]]]:
    """The indices of the comparisons of each family, in the order in which families appear."""
    members: dict[str, list[int]] = {}
    for index, comparison in enumerate(comparisons):
        members.setdefault(comparison.family, []).append(index)
    return list(members.items())


def _streams(comparison: Comparison) -> str:
    return comparison.streams or comparison.what


def _normal(comparison: Comparison) -> float:
    """The normal deviation that is as rare as this difference is by Student's law; 38 at most."""
    rare = max(float(stdtr(comparison.dof, -abs(comparison.deviations))), 1e-300)
    return math.copysign(-float(ndtri(rare)), comparison.difference)


def _sign_chance(above: int, count: int) -> float:
    """How often a fair coin thrown `count` times shows one side at least as often as was seen."""
    most = max(above, count - above)
    return min(1.0, 2 * float(bdtrc(most - 1, count, 0.5)) if most else 1.0)
