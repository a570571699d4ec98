"""How many facts fit if every target must beat its rivals by a margin, or how large that margin can be.

N facts with M answers each and the margin gamma |W|_F fit into memories of statistical dimension delta (d^2 for all W)
while N D_gamma(M) < delta (codimension.py). All this is the limit of large d.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from loadstone.arguments import refuse
from loadstone.theory.capacity import facts_that_fit
from loadstone.theory.checks import each, positives, single, whole_number, whole_numbers
from loadstone.theory.codimension import MOST_MARGIN, checked_margins, codimension
from loadstone.theory.cone import MOST

#: By rounding, facts that just fit may seem not to: two facts with two answers need delta = 1.
_ROUNDING = 1e-12


def margin_capacity(delta: ArrayLike, answers: ArrayLike | None, *, margin: ArrayLike) -> np.ndarray | float:
    """How many facts fit with this margin: N with N D_gamma(M) = delta, for M answers or (None) one answer a fact.

    delta: statistical dimension of the memories, d^2 for all of them. With one answer a fact (M = N, as in the paper) N
    is linear between whole numbers. A margin that not even one fact (with M = N: two) could have is refused.

    Example:
        >>> from loadstone.theory.margin import margin_capacity
        >>> round(margin_capacity(20**2, None, margin=0.5), 2)
        66.26
    """
    delta, margin = positives("delta", delta), checked_margins(margin)
    if answers is None:
        return each(lambda room, margin: _paired_capacity(float(room), float(margin)), delta, margin)
    answers = whole_numbers("answers", answers, 2, MOST)
    return each(lambda room, m, margin: _capacity(float(room), int(m), float(margin)), delta, answers, margin)


def largest_margin(delta: float, facts: float, *, answers: int | None = None) -> float:
    """The largest margin with which N = `facts` fit, for |W|_F = 1: the gamma with N D_gamma(M) = delta.

    With `answers` None each fact has an answer of its own, and `facts` is whole. More facts than can be stored at all
    are refused.

    Example:
        >>> from loadstone.theory.margin import largest_margin
        >>> round(largest_margin(20**2, 50), 4)
        1.074
    """
    delta = float(positives("delta", single("delta", delta)))
    paired = answers is None
    if answers is None:
        facts = answers = whole_number("facts", facts, 2, MOST)
    else:
        facts = float(positives("facts", single("facts", facts)))
        answers = whole_number("answers", answers, 2, MOST)
    room = delta / facts
    if room < codimension(answers, 0.0) * (1 - _ROUNDING):
        most = _paired_capacity(delta, 0.0) if paired else _capacity(delta, answers, 0.0)
        raise refuse("facts", facts, f"at most {most:.6g}, because more cannot be stored with any margin")
    # Against one rival alone D_gamma is above margin^2 / 2, and more rivals only add to it.
    above = math.sqrt(2 * room)
    if above > MOST_MARGIN:
        raise refuse("delta / facts", room, f"at most {MOST_MARGIN**2 / 2:g}, so that the margin is at most 1000")
    excess = lambda margin: codimension(answers, margin) - room  # noqa: E731
    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, above, xtol=1e-12, rtol=1e-11))


def _capacity(delta: float, answers: int, margin: float) -> float:
    facts = delta / codimension(answers, margin)
    if facts >= 1:
        return facts
    if delta < (least := codimension(answers, 0.0)):
        raise refuse("delta", delta, f"at least {least:.6g}, because less does not hold a single fact")
    most = largest_margin(delta, 1, answers=answers)
    raise refuse("margin", margin, f"at most {most:.6g}, the largest that a single fact can have")


def _paired_capacity(delta: float, margin: float) -> float:
    """The N with N D_gamma(N) = delta, linear between whole numbers."""
    if delta < 1:
        raise refuse("delta", delta, "at least 1, because less does not hold two facts")
    if 2 * codimension(2, margin) > delta * (1 + _ROUNDING):
        most = largest_margin(delta, 2)
        raise refuse("margin", margin, f"at most {most:.6g}, the largest that two facts can have")
    return facts_that_fit(lambda facts: delta, margin)
