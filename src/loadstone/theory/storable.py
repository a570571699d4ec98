"""Probability that a decoupled instance is storable at full rank, by the conic kinematic formula: no free parameter.

The scores of all associations form the vector (W -> scores) in R^(p^2): a random subspace of d^2 dimensions. The
instance is storable when that subspace meets K_p x ... x K_p. With N the sum of p independent numbers k, each with the
law v_k(p) of the projection onto K_p (cone.py), that happens with probability

    P(storable) = 2 [ P(N = d^2 - 1) + P(N = d^2 - 3) + ... ].

It is exact for a uniformly random subspace, and scores of Gaussian embeddings behave like one already at d = 12. The
original problem, whose outputs are shared, can store a little more at small d. alone.py adds that a fact can be
impossible even alone, and that a query has only d components.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft
from scipy.special import ndtr

from loadstone.arguments import instance_of, refuse
from loadstone.bisect import largest
from loadstone.theory.alone import WinningQueries, log_all_alone, query_dimension, winning_queries
from loadstone.theory.checks import each, whole_number, whole_numbers
from loadstone.theory.cone import MOST
from loadstone.theory.families import StatisticalDimension

#: Longest Fourier transform for the law of N; beyond it N is closer to a Gaussian than any measurement could tell.
_LONGEST = 2**22
#: The tail of a capacity is summed until it is smaller than this.
_NEGLIGIBLE = 1e-9
_COIN = np.array([0.5, 0.5])
#: The law of N is computed on a window of this many deviations; beyond it the tails are negligible.
_WINDOW = 40


def probability_storable(p: ArrayLike, d: ArrayLike) -> np.ndarray | float:
    """The probability that p random associations are storable in d dimensions, each with its own answer.

    For whole p in 2..10^15 and whole d >= 1; exact up to about p = 10^8, then Gaussian.

    Example:
        >>> from loadstone.theory.storable import probability_storable
        >>> round(probability_storable(85, 20), 3)
        0.711
    """
    p, d = whole_numbers("p", p, 2, MOST), whole_numbers("d", d, 1, 10**9)
    return each(lambda p, d: _probability(int(p), int(d)), p, d)


def storable_interval(d: int, share: float = 0.95) -> tuple[int, int]:
    """Least and largest p of an interval that holds a stream's exact capacity with at least this probability.

    A stream's capacity is at least p exactly when its first p associations are storable, so its law has the tail
    probability_storable(p, d).

    Example:
        >>> from loadstone.theory.storable import storable_interval
        >>> storable_interval(20)
        (80, 93)
    """
    d = whole_number("d", d, 1, 10**6)
    return _interval(lambda p: _probability(p, d), share, 1)


def capacity_moments(d: int) -> tuple[float, float]:
    """Mean and deviation of the exact capacity of a stream, for d up to 300: sums over its tail P(capacity >= p)."""
    d = whole_number("d", d, 1, 300)
    low, high = storable_interval(d, 1 - 1e-9)
    p = np.arange(low, high + 2)
    tail = np.array([_probability(int(one), d) if one > 1 else 1.0 for one in p])
    # Up to `low` the tail is 1 to nine digits: E c = low + sum over p > low, E c^2 likewise with weights 2 p - 1.
    mean = low + tail[1:].sum()
    square = low**2 + ((2 * p[1:] - 1) * tail[1:]).sum()
    return float(mean), float(np.sqrt(square - mean**2))


def probability_facts_storable(facts: int, answers: int, *, memories: StatisticalDimension) -> float | None:
    """The probability that random facts are storable with M answers each in a family, 2 P(J - N in {1, 3, 5, ...}).

    J is the dimension of the face of the family that a projection lands on (families.py), N the sum of `facts` numbers
    k of the law of one fact; all this times the probability that each fact can be stored alone (alone.py). Exact for a
    uniformly random position; Gaussian where only the variance of J is known, and None where not even that is.

    Example:
        >>> from loadstone.theory.answers import memories_seen
        >>> from loadstone.theory.storable import probability_facts_storable
        >>> round(probability_facts_storable(80, 8, memories=memories_seen("full", 20, answers=8)), 3)
        0.474
    """
    facts, answers = whole_number("facts", facts, 1, MOST), whole_number("answers", answers, 2, MOST)
    _require(memories)
    queries = winning_queries(answers, query_dimension(memories))
    if memories.faces is not None:
        return _met(facts, queries, memories.faces.fixed, memories.faces.coins)
    if memories.variance is None or memories.bound:
        return None
    return _normal(facts, queries, memories.delta, memories.variance)


def facts_interval(answers: int, memories: StatisticalDimension, *, share: float = 0.95) -> tuple[int, int]:
    """Least and largest number of facts of an interval that holds a stream's exact capacity with this probability.

    Example:
        >>> from loadstone.theory.answers import memories_seen
        >>> from loadstone.theory.storable import facts_interval
        >>> facts_interval(8, memories_seen("full", 20, answers=8))
        (69, 91)
    """
    answers = whole_number("answers", answers, 2, MOST)
    _require(memories)
    if memories.faces is None:
        raise refuse("family", memories.family, f"one whose law of J is known for {answers} answers")
    room, queries = memories.faces, winning_queries(answers, query_dimension(memories))
    return _interval(lambda facts: _met(facts, queries, room.fixed, room.coins), share, 0)


def _require(memories: StatisticalDimension) -> None:
    instance_of("memories", memories, StatisticalDimension, "a StatisticalDimension, as memories_seen(...) gives")


def mean_facts(answers: int, memories: StatisticalDimension) -> float | None:
    """Mean number of facts that a stream holds: the sum over N of P(storable); None where it is not known."""
    total, facts = 0.0, 1
    while (probability := probability_facts_storable(facts, answers, memories=memories)) is not None:
        total, facts = total + probability, facts + 1
        if probability < _NEGLIGIBLE:
            return total
    return None


def _interval(probability: Callable[[int], float], share: float, certain: int) -> tuple[int, int]:
    """The largest numbers of facts that are storable with more than the probabilities (1 +- share) / 2; `certain`
    facts always are."""
    if not isinstance(share, float) or not 0 < share < 1:
        raise refuse("share", share, "a number in (0, 1)")
    rest = (1 - share) / 2
    return largest(lambda n: probability(n) > 1 - rest, certain), largest(lambda n: probability(n) > rest, certain)


def _probability(p: int, d: int) -> float:
    return _met(p, winning_queries(p, d), d * d, 0)


def _normal(facts: int, queries: WinningQueries, delta: float, variance: float) -> float:
    all_meet = ndtr((delta - facts * queries.mean) / math.sqrt(facts * queries.variance + variance))
    return math.exp(log_all_alone(facts, queries)) * float(all_meet)


def _met(facts: int, queries: WinningQueries, fixed: int, coins: int) -> float:
    """P(storable) with J = fixed + the heads of this many fair coins.

    With the tails, T = coins - heads, it is 2 P(N + T in {fixed + coins - 1, fixed + coins - 3, ...}).
    """
    mean = facts * queries.mean + coins / 2
    deviation = math.sqrt(facts * queries.variance + coins / 4)
    length = 2 ** math.ceil(math.log2(_WINDOW * deviation + len(queries.probabilities)))
    if length > _LONGEST:
        return _normal(facts, queries, fixed + coins / 2, coins / 4)
    all_alone = math.exp(log_all_alone(facts, queries))
    first = round(mean) - length // 2
    last = fixed + coins - 1
    if last < first:
        return 0.0
    if last >= first + length:
        return all_alone
    parts = [(queries.probabilities, facts)] + ([(_COIN, coins)] if coins else [])
    terms = _law_of_sum(parts, length, first)[last - first :: -2]
    return all_alone * float(np.clip(2 * terms.sum(), 0, 1))


def _law_of_sum(parts: Sequence[tuple[np.ndarray, int]], length: int, first: int) -> np.ndarray:
    """P(S = first), ..., P(S = first + length - 1) for S a sum of independent numbers: for each part, a law and how
    many numbers follow it.

    Powers of the characteristic functions, at `length` frequencies, give the law modulo `length`; the window holds all
    of it.
    """
    logarithm, phase = np.zeros(length // 2 + 1), np.zeros(length // 2 + 1)
    for probabilities, count in parts:
        characteristic = np.fft.rfft(probabilities / probabilities.sum(), length)
        logarithm = logarithm + count * np.log(np.maximum(np.abs(characteristic), 1e-300))
        phase = phase + count * np.angle(characteristic)
    shift = np.mod(np.arange(length // 2 + 1) * first, length) / length
    return irfft(np.exp(logarithm) * np.exp(1j * (phase + 2 * np.pi * shift)), length)
