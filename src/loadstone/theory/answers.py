"""One law: N facts with M answers each fit into a family of memories up to N D(M) = delta.

D(M) is what one fact costs (codimension.py), delta the room that the family has (families.py). Random targets, inputs
and outputs of an isotropic law; at capacity an instance is storable with probability one half.
"""

from __future__ import annotations

from loadstone.arguments import true_or_false, whole
from loadstone.theory.alone import half_storable
from loadstone.theory.capacity import MOST_DIMENSION, facts_that_fit
from loadstone.theory.codimension import checked_margin, codimension
from loadstone.theory.cone import MOST
from loadstone.theory.families import StatisticalDimension, directions_shown, statistical_dimension
from loadstone.theory.margin import margin_capacity


def memories_seen(family: str, d: int, *, answers: int, decoupled: bool = False) -> StatisticalDimension:
    """The statistical dimension of a family of d x d memories, seen through M outputs.

    Example:
        >>> from loadstone.theory.answers import memories_seen
        >>> memories_seen("full", 20, answers=8).delta
        140
    """
    answers, d = whole("answers", answers, 2, MOST), whole("d", d, 1, MOST_DIMENSION)
    decoupled = true_or_false("decoupled", decoupled)
    return statistical_dimension(family, d, directions=directions_shown(d, answers, decoupled))


def facts_capacity(
    family: str, d: int, *, answers: int | None = None, decoupled: bool = False, margin: float = 0.0
) -> float:
    """How many facts fit: delta / D(M) with M answers; the N with N D(N) = delta if every fact brings its own answer.

    Where single facts are impossible (alone.py) it is less: the N at which half of all instances are storable.
    An upper bound if the family is not convex (`StatisticalDimension.bound`).

    Example:
        >>> from loadstone.theory.answers import facts_capacity
        >>> round(facts_capacity("symmetric", 20, answers=8), 2)
        67.64
    """
    d, decoupled = whole("d", d, 1, MOST_DIMENSION), true_or_false("decoupled", decoupled)
    margin = checked_margin(margin)
    if answers is not None:
        room = memories_seen(family, d, answers=answers, decoupled=decoupled)
        fitting = half_storable(answers, room)
        return min(fitting, room.delta / codimension(answers, margin)) if margin else fitting
    everything = statistical_dimension(family, d)
    if margin:
        return float(margin_capacity(everything.delta, None, margin=margin))
    fitting = facts_that_fit(lambda facts: everything.delta)
    if decoupled or fitting > d + 1:
        return fitting
    # So few facts that their outputs do not show all directions of a query.
    return facts_that_fit(lambda facts: memories_seen(family, d, answers=facts).delta)
