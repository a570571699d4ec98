"""What the law says about given facts: how many random ones with the same dimensions, answers and frequencies fit.

The law is about vectors with no special direction, and words' vectors have many. But an invertible linear map of the
inputs, or of the outputs, changes nothing about what can be stored in a full memory, so only the number of directions
counts that each side spans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from loadstone.bisect import largest
from loadstone.readable import readable
from loadstone.theory.alone import half_storable, query_dimension, winning_queries
from loadstone.theory.answers import memories_seen
from loadstone.theory.caveats import words_of_impossible_facts
from loadstone.theory.codimension import codimension
from loadstone.theory.families import StatisticalDimension, rectangular
from loadstone.theory.skew import skewed_capacity
from loadstone.theory.storable import probability_facts_storable

#: Answers whose numbers of facts differ by less than this factor are counted as equally frequent: ten times as fast,
#: and the capacity changes by less than its error.
_SIMILAR = 2.0
#: How many numbers are sampled for the capacity of unequal answers: some seconds.
_SAMPLED = 200_000


@dataclass(frozen=True)
class Law:
    """How many random facts like the given ones fit, by the law N D(M) = delta.

    answers: M, how many answers compete.
    input_dimensions, output_dimensions: how many dimensions subjects and answers span.
    capacity: how many facts fit; None where no law is known.
    capacity_error: its standard error, if it is sampled.
    is_bound: whether the capacity is only an upper bound.
    delta: statistical dimension of the memories, as far as these vectors show them.
    cost: D(M), what one fact costs.
    load: the number of facts over the capacity.
    probability: that as many random facts can be stored; None where it is not known.
    with_new_answers: how many fit if every further fact has an answer of its own; None where it is not known.
    caveats: what to keep in mind, in words.
    """

    answers: int
    input_dimensions: int
    output_dimensions: int
    capacity: float | None
    capacity_error: float
    is_bound: bool
    delta: float | None
    cost: float
    load: float | None
    probability: float | None
    with_new_answers: int | None
    caveats: tuple[str, ...]

    __repr__ = readable


def given_facts_law(
    counts: Int[np.ndarray, "m"], d: int, input_dimensions: int, output_dimensions: int, family: str = "full"
) -> Law:
    """The law for facts of which counts[y] have the answer y, in a family of d x d memories.

    input_dimensions: how many directions the inputs span.
    output_dimensions: how many the outputs span about their mean, at most M - 1.
    """
    m, n, columns, rows = len(counts), int(counts.sum()), input_dimensions, output_dimensions
    try:
        room_for = _room(family, d, rows, columns, m)
        room = room_for(m)
    except ValueError as why:
        sentence = f"No law is known for these facts: {str(why).rstrip('.')}."
        return Law(m, columns, rows, None, 0.0, False, None, codimension(m), None, None, None, (sentence,))
    is_equal, known = np.ptp(counts) <= 1, family == "full" and rows == m - 1
    capacity, error = half_storable(m, room), 0.0
    if known and not is_equal and n:
        capacity, error = _unequal(counts, columns)
    impossible = n * winning_queries(m, query_dimension(room)).impossible
    caveats = [
        *_dimension_words(d, columns, rows, m),
        *_frequency_words(bool(is_equal), known),
        *([] if family == "full" else [_FAMILY_WORDS]),
        *words_of_impossible_facts(impossible),
    ]
    return Law(
        answers=m,
        input_dimensions=columns,
        output_dimensions=rows,
        capacity=capacity,
        capacity_error=error,
        is_bound=room.bound or not (known or is_equal),
        delta=room.delta,
        cost=codimension(m),
        load=n / capacity,
        probability=probability_facts_storable(n, m, memories=room) if is_equal and n else None,
        with_new_answers=_with_new_answers(room_for, n, m) if is_equal and n else None,
        caveats=tuple(caveats),
    )


def _room(family: str, d: int, rows: int, columns: int, answers: int) -> Callable[[int], StatisticalDimension]:
    """The statistical dimension of the memories, as a function of the number of answers."""
    if family == "full":
        deficient = rows < min(d, answers - 1)
        return lambda m: rectangular(rows if deficient else min(d, m - 1), columns)
    if columns < d or rows < min(d, answers - 1):
        raise ValueError("the vectors do not span all dimensions, and the family is not 'full'")
    return lambda m: memories_seen(family, d, answers=m)


def _unequal(counts: Int[np.ndarray, "m"], columns: int) -> tuple[float, float]:
    """The capacity for answers with these numbers of facts, and its error. It is proportional to the dimension of the
    inputs, and `skewed_capacity` asks for one that is not below that of the answers."""
    d = max(columns, len(counts) - 1)
    fitting = skewed_capacity(d, _similar(counts), samples=int(np.clip(_SAMPLED // len(counts), 500, 8000)))
    return fitting.value * columns / d, fitting.error * columns / d


def _similar(counts: Int[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
    """The numbers of facts, with those within a factor of two replaced by their mean."""
    similar, used = counts.astype(float), counts > 0
    level = np.floor(np.log(counts[used] / counts[used].min()) / np.log(_SIMILAR) + 1e-9).astype(int)
    similar[used] = (np.bincount(level, counts[used]) / np.maximum(np.bincount(level), 1))[level]
    return similar


def _with_new_answers(room_for: Callable[[int], StatisticalDimension], n: int, m: int) -> int | None:
    """The largest N >= n that fits if M grows with it; None if n do not fit."""

    def fits(facts: int) -> bool:
        answers = m + facts - n
        return half_storable(answers, room_for(answers)) >= facts

    return largest(fits, n) if fits(n) else None


_FAMILY_WORDS = (
    "Only full memories are blind to the covariance of the vectors; for this family the law is about vectors with no "
    "special direction, which words' vectors are not."
)


def _dimension_words(d: int, columns: int, rows: int, answers: int) -> list[str]:
    words = ["Random facts: which subject has which answer is drawn at random; at capacity half of all draws fit."]
    if columns < d:
        words.append(f"The subjects span only {columns} of {d} dimensions.")
    if rows < min(d, answers - 1):
        words.append(f"The answers span only {rows} of {min(d, answers - 1)} dimensions.")
    return words


def _frequency_words(equal: bool, known: bool) -> list[str]:
    if equal:
        return []
    if known:
        return [
            "Unequal answers: replica-symmetric, sampled, and those within a factor of 2 count as equally frequent."
        ]
    return [
        "What unequal answers cost is known for full memories and at most d + 1 answers; here the capacity is that of "
        "equally frequent ones, an upper bound. The shuffled control measures it."
    ]
