"""What a prediction is asked for: some facts, their answers and a family of memories; a missing size is filled in."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from loadstone.arguments import positive, rank_fraction, rank_of, refuse, true_or_false, whole
from loadstone.bisect import largest
from loadstone.frequencies import Frequencies, check_answers, shares_of
from loadstone.theory.answers import facts_capacity, memories_seen
from loadstone.theory.capacity import MOST_DIMENSION, capacity, capacity_associations
from loadstone.theory.checks import whole_number
from loadstone.theory.codimension import checked_margin, codimension
from loadstone.theory.cone import MOST, merge_law
from loadstone.theory.families import StatisticalDimension, smallest_dimension, statistical_dimension
from loadstone.theory.load import nearest_associations, nearest_dimension
from loadstone.theory.skew import skewed_capacity

#: Numbers that are equal but for rounding may differ by this share.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Question:
    """What a prediction is asked for, except the size."""

    #: How many answers compete for each fact; None if each fact has one of its own.
    answers: int | None
    family: str
    #: Rank fraction of the memories, in the paper's setting; 1 where the family says all.
    kappa: float
    decoupled: bool
    margin: float
    frequencies: Frequencies

    @property
    def is_paper_setting(self) -> bool:
        return self.answers is None and self.family == "full" and self.margin == 0 and self.equal

    @property
    def equal(self) -> bool:
        """Whether all answers are asked for equally often, or it does not matter how often they are."""
        return self.frequencies in ("uniform", "balanced") or self.decoupled

    def is_known(self, d: int) -> bool:
        """Whether the cost of unequal frequencies is known (skew.py)."""
        known = self.answers is not None and self.answers <= d + 1 and self.family == "full" and self.margin == 0
        return self.equal or known

    def room(self, d: int, answers: int) -> StatisticalDimension:
        """The statistical dimension of the memories, as far as this many answers show it."""
        if not self.is_paper_setting:
            return memories_seen(self.family, d, answers=answers, decoupled=self.decoupled)
        if self.kappa == 1:
            # So few facts that their outputs hide a direction are storable anyway.
            return statistical_dimension("full", d)
        return StatisticalDimension(
            f"rank:{rank_of(self.kappa, d)}", d, d, 2 * float(capacity(self.kappa)) * d**2, bound=True
        )

    def capacity(self, d: int) -> tuple[float, float]:
        """How many facts fit, and the error of that number."""
        if self.kappa < 1:
            return float(capacity_associations(d, self.kappa)), 0.0
        if self.answers is not None and not self.equal and self.is_known(d):
            return skewed_capacity(d, shares_of(self.answers, self.frequencies))
        return self._fit(d), 0.0

    def _fit(self, d: int) -> float:
        """How many facts fit if all answers are equally frequent."""
        return facts_capacity(self.family, d, answers=self.answers, decoupled=self.decoupled, margin=self.margin)

    def size(self, d: int | None, facts: int | None, load: float | None) -> tuple[int, int, str | None]:
        """d, the number of facts, and which of them was not given but set to the capacity."""
        if d is not None and facts is not None and load is not None:
            raise ValueError("The size is overdetermined: give at most two of d, the number of facts and the load.")
        d = None if d is None else whole("d", d, 1, MOST_DIMENSION)
        fewest = 2 if self.answers is None else 1
        facts = None if facts is None else whole("facts", facts, fewest, MOST)
        if load is not None:
            return *_size_of_load(d, facts, positive("load", load)), None
        if d is not None and facts is not None:
            return d, facts, None
        if d is not None:
            return d, max(fewest, whole_part(self.capacity(d)[0])), "facts"
        if facts is not None:
            return self._least_dimension(facts), facts, "d"
        raise ValueError("The size is not determined: give a dimension d, a number of facts, or both.")

    def _least_dimension(self, facts: int) -> int:
        """The least d in which this many facts fit."""
        if self.is_paper_setting:
            d = least_dimension(facts, self.kappa)
            if d > MOST_DIMENSION:
                raise _too_many(facts)
            return d
        answers = self.answers or facts
        needed = facts * codimension(answers, self.margin) * (1 - _ROUNDING)

        def too_small(d: int) -> bool:
            if d > MOST_DIMENSION:
                raise _too_many(facts)
            return self.room(d, answers).delta < needed

        low = smallest_dimension(self.family) - 1
        # The largest d whose directions are all shown: beyond it some families are not known.
        edge = min(answers - 1, MOST_DIMENSION)
        if self.decoupled or low >= edge:
            d = largest(too_small, low) + 1
        elif too_small(edge):
            d = largest(too_small, edge) + 1
        else:
            d = largest(too_small, low, edge) + 1
        while self.answers is not None and self._fit(d) < facts * (1 - _ROUNDING):
            d += 1  # a few more, because single facts are impossible
        return d


def question_of(
    d: int | None,
    load: float | None,
    kappa: float,
    answers: int | None,
    family: str,
    decoupled: bool,
    margin: float,
    frequencies: Frequencies,
) -> Question:
    """The question with its arguments checked, or a refusal of those that do not go together."""
    if not isinstance(frequencies, str) or frequencies != "uniform":
        answers, frequencies = check_answers(answers, frequencies)
    answers = None if answers is None else whole("answers", answers, 2, MOST)
    decoupled, margin = true_or_false("decoupled", decoupled), checked_margin(margin)
    question = Question(answers, family, kappa, decoupled, margin, frequencies)
    if question.is_paper_setting:
        return question
    if load is not None:
        allowed = "left out where answers, a family, a margin or frequencies are given: give the number of facts"
        raise refuse("load", load, allowed)
    if question.kappa == 1:
        return question
    if family != "full" or d is None:
        allowed = "1 with a family of memories" if family != "full" else "1 unless d is given too"
        raise refuse("kappa", kappa, f"{allowed}: ask for the family rank:m")
    rank = rank_of(question.kappa, whole("d", d, 1, MOST_DIMENSION))
    return replace(question, family=f"rank:{rank}", kappa=1.0)


def least_dimension(facts: int, kappa: float = 1.0) -> int:
    """The least whole d in which this many facts fit, each with its own answer: 2 alpha_c(kappa) d^2 >= p D(p)."""
    # Subtracting 1e-9 accepts a d for which p D(p) = d^2 holds exactly but for rounding (p = 2, d = 1).
    facts, kappa = whole_number("facts", facts, 2, MOST), rank_fraction("kappa", kappa)
    needed, room = facts * merge_law(facts).mean, 2 * float(capacity(kappa))
    return max(1, math.ceil(math.sqrt(needed) / math.sqrt(room) - 1e-9))  # needed / room may overflow


def whole_part(capacity: float) -> int:
    """The largest whole number that is at most this capacity, but for rounding: two facts just fit into d = 1."""
    nearest = round(capacity)
    return nearest if abs(capacity - nearest) <= min(1e-9 + 1e-13 * capacity, 1e-3) else math.floor(capacity)


def _size_of_load(d: int | None, facts: int | None, load: float) -> tuple[int, int]:
    """d and facts, of which one is given, such that their load is as near to `load` as whole numbers allow."""
    if facts is not None:
        d = nearest_dimension(load, facts)
        if d > MOST_DIMENSION:
            raise refuse("load", load, f"large enough for {facts} facts to have it at d = {MOST_DIMENSION:g} or below")
        return d, facts
    if d is None:
        raise ValueError("The size is not determined: give a dimension d or a number of facts with the load.")
    facts = nearest_associations(load, d)
    if facts < 2:
        raise refuse("load", load, f"large enough for two facts at d = {d}")
    return d, facts


def _too_many(facts: int) -> ValueError:
    return refuse("facts", facts, f"few enough to fit in d = {MOST_DIMENSION:g}")
