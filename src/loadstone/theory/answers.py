"""One law: N facts with M answers each fit into a family of memories up to N D(M) = delta.

D(M) is what one fact costs (cone.py), delta the room that the family has (families.py). Random targets, inputs and
outputs of an isotropic law; at capacity an instance is storable with probability one half.
"""

from __future__ import annotations

from loadstone.arguments import refuse, whole
from loadstone.theory.capacity import facts_that_fit
from loadstone.theory.cone import MOST, mean_merged
from loadstone.theory.families import StatisticalDimension, directions_shown, statistical_dimension

Frequencies = str | tuple[float, ...]


def codimension(answers: int, margin: float = 0.0, frequencies: Frequencies = "uniform") -> float:
    """What one fact with M answers costs: D(M). The one place where a margin or unequal answers would enter."""
    answers = whole("answers", answers, 2, MOST)
    if margin != 0:
        raise refuse("margin", margin, "0, because the capacity with a margin is not known here yet")
    if frequencies not in ("uniform", "balanced"):
        allowed = "uniform or balanced, because the capacity with unequal answers is not known here yet"
        raise refuse("frequencies", frequencies, allowed)
    return float(mean_merged(answers))


def memories_seen(family: str, d: int, answers: int, decoupled: bool = False) -> StatisticalDimension:
    """The statistical dimension of a family of d x d memories, seen through M outputs."""
    answers = whole("answers", answers, 2, MOST)
    return statistical_dimension(family, d, directions_shown(d, answers, decoupled))


def facts_capacity(
    family: str,
    d: int,
    answers: int | None = None,
    decoupled: bool = False,
    margin: float = 0.0,
    frequencies: Frequencies = "uniform",
) -> float:
    """N_c: how many facts fit. delta / D(M) with M answers; the N with N D(N) = delta if every fact brings its own.

    An upper bound if the family is not convex (`StatisticalDimension.bound`).
    """
    if answers is not None:
        return memories_seen(family, d, answers, decoupled).delta / codimension(answers, margin, frequencies)
    codimension(2, margin, frequencies)  # refuses what it does not know
    everything = statistical_dimension(family, d)
    found = facts_that_fit(lambda facts: everything.delta)
    if decoupled or found > d + 1:
        return found
    # So few facts that their outputs do not show all directions of a query.
    return facts_that_fit(lambda facts: memories_seen(family, d, facts).delta)
