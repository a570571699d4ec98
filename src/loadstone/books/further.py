"""How many further facts fit beside those that a book has stored: the first k of them, with proof.

The answers that compete are those of the book and those of the first k further facts. A further fact may bring an
answer that no fact had before; it then competes for all the others as well. Both only add inequalities, so if the first
k fit, fewer fit too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from loadstone.books.gathered import Gathered
from loadstone.books.largest import Fitting, largest_fitting
from loadstone.books.prefixes import first_facts, first_obstacle
from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of
from loadstone.problems.arrays import Arrays
from loadstone.proofs.conditioned import Conditioned
from loadstone.readable import readable
from loadstone.solvers.conflict import conflict_in

if TYPE_CHECKING:
    from loadstone.books.book import Book

#: Vectors of one word, from the book and from a file, may differ by this share: float32 keeps seven digits.
_SAME_VECTOR = 1e-6
#: Seconds.
_LEAST_FOR_CONFLICT = 1.0


@dataclass(frozen=True)
class FurtherFacts:
    """How many further facts fit beside those that a book has stored.

    fitting: how many of them, taken in their order.
    first_out: the fact after the last that fits, in words; None if all fit or the number is not exact.
    conflict: facts with which it cannot stand together, in words; none if time was up before they were found.
    conflict_minimal: whether each of them is needed for that.
    known: how many of them the book has stored already.
    new_answers: how many answers they have that the book has not.
    proved: whether it is proved that the book stores what it is said to store, on which a number of 0 rests.
    """

    fitting: Fitting
    first_out: str | None
    conflict: tuple[str, ...]
    conflict_minimal: bool
    known: int
    new_answers: int
    proved: bool

    __repr__ = readable


def fit_further(book: Book, more: Gathered, guess: float, deadline: Deadline, family: str) -> FurtherFacts:
    """How many of the further facts `more`, taken in their order, fit beside the stored facts of a book.

    guess: about how many.
    """
    began, sequence = deadline.taken, _Sequence(book, more)
    weights = book.weights.astype(np.float64)
    obstacle, obstructed = first_obstacle(sequence.gathered, sequence.present, sequence.rivals)
    start = weights if weights.any() else None
    fitting = largest_fitting(sequence.first, len(more), guess, deadline, family, start=start, fails=obstacle)
    out: str | None = None
    conflict: tuple[int, ...] = ()
    minimal = False
    if fitting.is_exact and fitting.fits < len(more):
        out = more.name(fitting.fits)
        # A reason that has to be searched for may take as long as the number itself took.
        seconds = max(1e-3, min(deadline.left, max(_LEAST_FOR_CONFLICT, deadline.taken - began)))
        if fitting.fails == obstacle:
            conflict = obstructed
        else:
            conflict, minimal = sequence.conflict(fitting, seconds, family)
    stored = {(book.subjects[fact], book.answers[book.targets[fact]]) for fact in np.flatnonzero(book.stored)}
    known = sum((subject, more.answers[target]) in stored for subject, target in zip(more.subjects, more.targets))
    new_answers = len(sequence.gathered.answers) - len(book.answers)
    proved = fitting.fits > 0 or sequence.is_proved(weights, family)
    names = tuple(sequence.gathered.names(conflict))
    return FurtherFacts(fitting, out, names, minimal, known, new_answers, proved)


class _Sequence:
    """The stored facts of a book, then the further ones. New answers follow the book's, in order of appearance."""

    def __init__(self, book: Book, more: Gathered) -> None:
        _check_same_vectors(book, more)
        known = {answer: index for index, answer in enumerate(book.answers)}
        new = [index for index, answer in enumerate(more.answers) if answer not in known]
        index = {answer: len(known) + place for place, answer in enumerate(more.answers[row] for row in new)} | known
        rows = np.flatnonzero(book.stored)
        self.present, self.rivals = len(rows), len(known)
        further = np.array([index[more.answers[target]] for target in more.targets], int)
        self.gathered = Gathered(
            (*(book.subjects[row] for row in rows), *more.subjects),
            (*book.answers, *(more.answers[row] for row in new)),
            np.concatenate([book.targets[rows].astype(int), further]),
            np.concatenate([_double(book.inputs[rows]), _double(more.inputs)]),
            np.concatenate([_double(book.outputs), _double(more.outputs[new])]),
        )

    def first(self, k: int) -> Arrays:
        """The stored facts and the first k further ones, with the answers that they have."""
        return first_facts(self.gathered, self.present + k, self.rivals)

    def conflict(self, fitting: Fitting, seconds: float, family: str) -> tuple[tuple[int, ...], bool]:
        """The facts that leave no room for the first that does not fit, and whether each of them is needed."""
        conflict = conflict_in(self.first(fitting.fits + 1), None, seconds=seconds, family=family)
        return (conflict.facts, conflict.minimal) if conflict else ((), False)

    def is_proved(self, weights: Float64[np.ndarray, "d d"], family: str) -> bool:
        """Whether W stores what it is said to store, beyond rounding."""
        subspace = subspace_of(family, len(weights))
        return not self.present or Conditioned(self.first(0), subspace).witness(weights) is not None


def _check_same_vectors(book: Book, more: Gathered) -> None:
    if more.inputs.shape[1] != book.inputs.shape[1]:
        numbers = more.inputs.shape[1], book.inputs.shape[1]
        raise ValueError("the vectors of the further facts have {} numbers, but those of the book {}.".format(*numbers))
    pairs = ((book.answers, book.outputs, more.answers, more.outputs),
             (book.subjects, book.inputs, more.subjects, more.inputs))  # fmt: skip
    for names, vectors, others, their_vectors in pairs:
        rows = {name: row for row, name in enumerate(names)}
        for name, theirs in zip(others, their_vectors):
            ours = vectors[rows[name]] if name in rows else theirs
            if np.abs(_double(ours) - _double(theirs)).max() > _SAME_VECTOR * np.abs(ours).max():
                raise ValueError(f"{name!r} has another vector in the book: give the vectors it was made with.")


def _double(vectors: np.ndarray) -> Float64[np.ndarray, "..."]:
    return vectors.astype(np.float64)
