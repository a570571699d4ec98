"""What the one law says about N facts, M answers and a family of memories: the answer of `loadstone predict`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loadstone.arguments import refuse, whole
from loadstone.frequencies import Frequencies, shares_of
from loadstone.theory.alone import query_dimension, winning_queries
from loadstone.theory.answers import codimension, facts_capacity, memories_seen
from loadstone.theory.capacity import MOST_DIMENSION
from loadstone.theory.caveats import far_off_words
from loadstone.theory.cone import MOST
from loadstone.theory.families import StatisticalDimension
from loadstone.theory.skew import skewed_capacity
from loadstone.theory.storable import probability_facts_storable

#: More facts than this, on average, that are impossible alone are worth a sentence.
WORTH_SAYING = 0.05
#: Numbers that are equal but for rounding may differ by this share.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FactsPrediction:
    """How many facts fit into a family of d x d memories, and whether these do."""

    #: Dimension of inputs and outputs.
    d: int
    #: Number of facts.
    facts: int
    #: Number of answers that compete for each fact.
    answers: int
    #: The family of memories.
    family: str
    #: Whether each input has its own answers instead of sharing them with all others.
    decoupled: bool
    #: Margin by which each fact must be stored, in units of |W|.
    margin: float
    #: How often each answer is a target.
    frequencies: Frequencies
    #: 'd' or 'facts' if that one was not given but set to the capacity, else None.
    filled_in: str | None
    #: Statistical dimension of the family, seen through the answers.
    delta: float
    #: Whether the capacity is only an upper bound.
    bound: bool
    #: What one fact costs, D(M).
    D: float
    #: Capacity: the number of facts with N D = delta; less where answers are unequally frequent, or so many that single
    #: facts become impossible.
    facts_c: float
    #: How well the capacity is known where many different frequencies are taken together, else 0.
    facts_c_error: float
    #: Probability that an instance of this size is storable; None where it is not known.
    probability_storable: float | None
    #: Share of facts that can be stored alone: their output is a corner of the hull of all outputs.
    share_alone: float
    #: How many of the facts are impossible even alone, on average.
    impossible: float
    #: What to keep in mind, in words.
    caveats: tuple[str, ...]


def predict_facts(
    d: int | None = None,
    facts: int | None = None,
    answers: int | None = None,
    family: str = "full",
    decoupled: bool = False,
    margin: float = 0.0,
    frequencies: Frequencies = "uniform",
) -> FactsPrediction:
    """The prediction for N facts and M answers in d dimensions.

    Without `answers` there are as many as facts. Without `facts` they are set to the capacity; without `d` it is set to
    the least dimension that holds them.
    """
    facts = None if facts is None else whole("facts", facts, 1 if answers else 2, MOST)
    answers = None if answers is None else whole("answers", answers, 2, MOST)
    filled_in = None
    if d is None:
        if facts is None:
            raise ValueError("The size is not determined: give a dimension d, a number of facts, or both.")
        needed = facts * codimension(answers or facts, margin)
        d, filled_in = _least_dimension(needed, family, answers or facts, decoupled), "d"
        while answers is not None and facts_capacity(family, d, answers, decoupled, margin) < facts * (1 - _ROUNDING):
            d += 1  # a few more, because single facts are impossible
    d = whole("d", d, 1, MOST_DIMENSION)
    fitting, error = facts_capacity(family, d, answers, decoupled, margin), 0.0
    equal = frequencies in ("uniform", "balanced") or decoupled
    known = equal or _skew_is_known(family, d, answers, margin)
    if answers is not None and known and not equal:
        fitting, error = skewed_capacity(d, shares_of(answers, frequencies))
    if facts is None:
        facts, filled_in = max(1 if answers else 2, math.floor(fitting * (1 + _ROUNDING))), "facts"
    m = answers or facts
    room = memories_seen(family, d, m, decoupled)
    one = winning_queries(m, query_dimension(room))
    return FactsPrediction(
        d=d,
        facts=facts,
        answers=m,
        family=family,
        decoupled=decoupled,
        margin=margin,
        frequencies=frequencies,
        filled_in=filled_in,
        delta=room.delta,
        bound=room.bound or not known or (margin > 0 and facts * one.impossible > WORTH_SAYING),
        D=codimension(m, margin),
        facts_c=fitting,
        facts_c_error=error,
        # The kinematic formula is about cones, and about facts that all cost the same.
        probability_storable=probability_facts_storable(facts, m, room) if margin == 0 and equal else None,
        share_alone=one.alone,
        impossible=facts * one.impossible,
        caveats=(
            *_caveats(room, m, decoupled, frequencies),
            *_further_caveats(margin, equal, known, error),
            *impossible_words(facts * one.impossible, margin, paired=answers is None),
            *(far_off_words(m, room, fitting) if answers is not None and margin == 0 and equal else ()),
        ),
    )


def _skew_is_known(family: str, d: int, answers: int | None, margin: float) -> bool:
    """Where there is a formula for unequal frequencies (skew.py)."""
    return family == "full" and margin == 0 and answers is not None and answers <= d + 1


def _least_dimension(needed: float, family: str, answers: int, decoupled: bool) -> int:
    """The least d in which the family has this much room."""
    fits = lambda d: memories_seen(family, d, answers, decoupled).delta >= needed * (1 - _ROUNDING)  # noqa: E731
    _, _, parameter = family.partition(":")
    # rank:K and blocks:K need a d of at least K.
    low = int(parameter) - 1 if parameter.isdigit() else 0
    high = low + 1
    while not fits(high):
        low, high = high, 2 * high
        if not decoupled and low < answers - 1 < high:
            high = answers - 1  # the largest d whose directions are all shown: beyond it some families are not known
        if high > MOST_DIMENSION:
            raise refuse("facts", f"such that delta is {needed:g}", f"few enough to fit in d = {MOST_DIMENSION:g}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _caveats(room: StatisticalDimension, answers: int, decoupled: bool, frequencies: Frequencies) -> list[str]:
    found = ["Embeddings are random, with no special direction; at capacity half of all instances are storable."]
    if room.bound:
        found.append("The family is not convex: its capacity is an upper bound.")
    if decoupled:
        found.append("Decoupled: each input has its own answers.")
    else:
        found.append("Shared answers: the law is derived for decoupled ones, and holds to a few per cent at small d.")
        if room.directions < room.d:
            found.append(f"{answers} answers show only {room.directions} of the {room.d} directions of a query.")
        if frequencies == "uniform" and room.d // 4 <= answers - 1 < 2 * room.d:
            found.append(
                "Targets drawn at random are not equally frequent, which costs up to a tenth where there are about as "
                "many answers as dimensions; balanced targets reach the law."
            )
        if room.family == "psd" and answers < 10 * room.d:
            found.append("Positive semidefinite memories hold more while there are not far more answers than d.")
        if room.family == "nonnegative" and answers < 10 * room.d:
            found.append("While there are not far more answers than d, the threshold is less sharp than this says.")
    if room.faces is None and room.variance is None:
        found.append("The probability of being storable is not known for this family.")
    return found


def impossible_words(count: float, margin: float = 0.0, paired: bool = False) -> list[str]:
    """What to say about so many facts, on average, that are impossible alone; `paired`: each has its own answer."""
    if count <= WORTH_SAYING:
        return []
    known = "the probability takes into account, but the capacity does not"
    if not paired:
        known = "the capacity and the probability take into account"
    found = [
        f"{count:.2g} of the facts, on average, cannot be stored even alone: their output lies between the others, "
        f"where it never wins. One such fact is enough, and they are not storable together, which {known}."
    ]
    if margin > 0:
        found.append("With a margin more facts than these are impossible, so the capacity is an upper bound.")
    return found


def _further_caveats(margin: float, equal: bool, known: bool, error: float) -> list[str]:
    found = []
    if margin > 0:
        found.append("With a margin the law is a limit of large d; at d = 24 margins are some 20 % smaller.")
    if not known:
        found.append(
            "How much unequal answers cost is known for full memories without a margin and at most d + 1 answers; here "
            "the capacity is that of equally frequent ones, an upper bound."
        )
    elif not equal:
        found.append("Unequal answers: replica-symmetric, for facts with exactly these frequencies.")
        if error > 0:
            found.append(f"Similar frequencies are taken together, which may shift the capacity by {error:.2g} facts.")
    return found
