"""Where a prediction is an approximation, a bound, a limit or far off, in words."""

from __future__ import annotations

from loadstone.arguments import rank_of
from loadstone.theory.alone import query_dimension, winning_queries
from loadstone.theory.cone import merge_law
from loadstone.theory.families import StatisticalDimension
from loadstone.theory.storable import mean_facts

#: Below this dimension exact linear programs of Gaussian instances were seen to differ from the kinematic formula.
SMALL = 8
_RANDOM = "Embeddings are random, with no special direction; at capacity half of all instances are storable."
_SHARED = (
    "The formulas are derived for separate outputs (decoupled). With shared outputs a few per cent more can be stored "
    "at small d, and less than 1 % more from d = 200 on; the probability of storing so many is then higher than this."
)
_SMALL = (
    f"Below d = {SMALL} the kinematic formula is an approximation for Gaussian embeddings: the probability is known to "
    "about 0.02."
)
_BOUND = (
    "Below full rank the capacity is the replica-symmetric value: an upper bound for separate outputs in the limit of "
    "large d, not proved to be reached."
)


#: A law that is off by more than this share, because of facts that are impossible alone, is far off.
FAR_OFF = 0.05


def far_off_words(answers: int, memories: StatisticalDimension, half: float) -> list[str]:
    """What to say where single facts are impossible so often that N D(M) = delta is far off; `half` of all streams hold
    so many."""
    cost = merge_law(answers).mean
    law, one = memories.delta / cost, winning_queries(answers, query_dimension(memories))
    if law * one.impossible < FAR_OFF / 2:  # one lost stream in forty costs half as much, on average
        return []
    mean = mean_facts(answers, memories)
    # A capacity is a whole number, on average one half below where it would be if it were not.
    if mean is None or mean + 0.5 > (1 - FAR_OFF) * law:
        return []
    return [
        f"N D(M) = delta is far off here: it gives {law:.1f} facts, but a stream holds {mean:.1f} on average, because "
        f"it ends at the first fact that is impossible alone; half of all streams hold {half:.1f}. One fact costs "
        f"D(M) = {cost:.1f} of the {query_dimension(memories)} dimensions of its query, which is too near."
    ]


def caveats(d: int, kappa: float, decoupled: bool) -> list[str]:
    """What to keep in mind about a capacity and a probability in dimension d at rank fraction kappa."""
    found = [_RANDOM]
    if not decoupled:
        found.append(_SHARED)
    if kappa == 1 and d < SMALL:
        found.append(_SMALL)
    if kappa < 1:
        found.append(_BOUND)
        rank = rank_of(kappa, d)
        if abs(rank / d - kappa) > 1e-9:
            found.append(
                f"A memory of this d has rank {rank}, which is kappa = {rank / d:.4g}; the numbers are for {kappa:g}."
            )
    return found
