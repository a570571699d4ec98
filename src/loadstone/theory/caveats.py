"""What to keep in mind about a prediction, in words: where it is an approximation, a bound, a limit or far off."""

from __future__ import annotations

from loadstone.arguments import rank_of
from loadstone.frequencies import Frequencies
from loadstone.theory.alone import query_dimension, winning_queries
from loadstone.theory.cone import merge_law
from loadstone.theory.families import StatisticalDimension
from loadstone.theory.storable import mean_facts

#: More facts than this, on average, that are impossible alone are worth a sentence.
WORTH_SAYING = 0.05
#: A law that is off by more than this share, because of facts that are impossible alone, is far off.
FAR_OFF = 0.05
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


def words_of_pairs(d: int, kappa: float, decoupled: bool) -> list[str]:
    """What to keep in mind where each fact has an answer of its own, in dimension d at rank fraction kappa."""
    words = [_RANDOM]
    if not decoupled:
        words.append(_SHARED)
    if kappa == 1 and d < SMALL:
        words.append(_SMALL)
    if kappa < 1:
        words.append(_BOUND)
        rank = rank_of(kappa, d)
        if abs(rank / d - kappa) > 1e-9:
            words.append(
                f"A memory of this d has rank {rank}, which is kappa = {rank / d:.4g}; the numbers are for {kappa:g}."
            )
    return words


def words_of_families(room: StatisticalDimension, answers: int, decoupled: bool, frequencies: Frequencies) -> list[str]:
    """What to keep in mind about a family of memories and M answers."""
    words = [_RANDOM]
    if room.bound:
        words.append("The family is not convex: its capacity is an upper bound.")
    if decoupled:
        words.append("Decoupled: each input has its own answers.")
    else:
        words.append("Shared answers: the law is derived for decoupled ones, and holds to a few per cent at small d.")
        if room.directions < room.d:
            words.append(f"{answers} answers show only {room.directions} of the {room.d} directions of a query.")
        if frequencies == "uniform" and room.d // 4 <= answers - 1 < 2 * room.d:
            words.append(
                "Targets drawn at random are not equally frequent, which costs up to a tenth where there are about as "
                "many answers as dimensions; balanced targets reach the law."
            )
        if room.family == "psd" and answers < 10 * room.d:
            words.append("Positive semidefinite memories hold more while there are not far more answers than d.")
        if room.family == "nonnegative" and answers < 10 * room.d:
            words.append("While there are not far more answers than d, the threshold is less sharp than this says.")
    if room.faces is None and room.variance is None:
        words.append("The probability of being storable is not known for this family.")
    return words


def words_of_a_margin(margin: float) -> list[str]:
    """What to keep in mind about facts that must have a margin."""
    if margin == 0:
        return []
    return ["With a margin the law is a limit of large d; at d = 24 margins are some 20 % smaller."]


def words_of_frequencies(equal: bool, known: bool, error: float) -> list[str]:
    """What to keep in mind about answers that are not equally frequent, where their cost is known and where not.

    error: of the capacity, because similar frequencies are taken together.
    """
    if not known:
        return [
            "How much unequal answers cost is known for full memories without a margin and at most d + 1 answers; here "
            "the capacity is that of equally frequent ones, an upper bound."
        ]
    if equal:
        return []
    words = ["Unequal answers: replica-symmetric, for facts with exactly these frequencies."]
    if error > 0:
        words.append(f"Similar frequencies are taken together, which may shift the capacity by {error:.2g} facts.")
    return words


def words_of_impossible_facts(count: float, margin: float = 0.0, paired: bool = False) -> list[str]:
    """What to keep in mind about facts that are impossible alone.

    count: how many there are on average.
    paired: whether each fact has an answer of its own.
    """
    if count <= WORTH_SAYING:
        return []
    known = "the probability takes into account, but the capacity does not"
    if not paired:
        known = "the capacity and the probability take into account"
    words = [
        f"{count:.2g} of the facts, on average, cannot be stored even alone: their output lies between the others, "
        f"where it never wins. One such fact is enough, and they are not storable together, which {known}."
    ]
    if margin > 0:
        words.append("With a margin more facts than these are impossible, so the capacity is an upper bound.")
    return words


def words_of_a_law_far_off(answers: int, memories: StatisticalDimension, half: float) -> list[str]:
    """What to keep in mind where single facts are impossible so often that N D(M) = delta is far off.

    half: how many facts half of all streams hold.
    """
    cost = merge_law(answers).mean
    law, queries = memories.delta / cost, winning_queries(answers, query_dimension(memories))
    if law * queries.impossible < FAR_OFF / 2:  # at most one stream in forty ends early, half full on average
        return []
    mean = mean_facts(answers, memories)
    # A capacity is a whole number, on average 1/2 below the real number at which the law holds.
    if mean is None or mean + 0.5 > (1 - FAR_OFF) * law:
        return []
    return [
        f"N D(M) = delta is far off here: it gives {law:.1f} facts, but a stream holds {mean:.1f} on average, because "
        f"it ends at the first fact that is impossible alone; half of all streams hold {half:.1f}. One fact costs "
        f"D(M) = {cost:.1f} of the {query_dimension(memories)} dimensions of its query, which is too near."
    ]
