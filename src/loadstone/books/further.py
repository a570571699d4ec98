"""How many further facts fit beside those that a book stores: the first k of them, with proof.

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
from loadstone.proofs.conditioned import Conditioned
from loadstone.readable import readable
from loadstone.solvers.conflict import conflict_in

if TYPE_CHECKING:
    from loadstone.books.book import Book

#: Vectors of one word, from the book and from a file, may differ by this share: float32 keeps seven digits.
_SAME_VECTOR = 1e-6
#: A search for a conflict may take this many seconds in any case, if they are left.
_LEAST_FOR_CONFLICT = 1.0


@dataclass(frozen=True)
class FurtherFacts:
    """How many further facts fit beside those that a book stores.

    fitting: how many of them, taken in their order.
    first_out: the fact after the last that fits, in words; None if all fit or the number is not exact.
    conflict: facts with which it cannot be stored, in words; empty if time was up before they were found.
    conflict_minimal: whether each of them is needed for the conflict.
    known: how many of them the book has stored already.
    new_answers: how many answers they have that the book has not.
    proved: whether the book is proved to store what it claims to store, on which a result of 0 rests.
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
    began, facts = deadline.taken, _together(book, more)
    present, rivals, weights = int(book.stored.sum()), len(book.answers), book.weights.astype(np.float64)
    first = lambda k: first_facts(facts, present + k, rivals)  # noqa: E731
    obstacle, obstructed = first_obstacle(facts, present, rivals)
    start = weights if weights.any() else None
    fitting = largest_fitting(first, len(more), guess, deadline, family, start=start, fails=obstacle)
    first_out, minimal, in_conflict = None, False, tuple[int, ...]()
    if fitting.is_exact and fitting.fits < len(more):
        first_out = more.name(fitting.fits)
        # A reason that has to be searched for may take as long as the number itself took.
        seconds = max(1e-3, min(deadline.left, max(_LEAST_FOR_CONFLICT, deadline.taken - began)))
        if fitting.fails == obstacle:
            in_conflict = obstructed
        elif conflict := conflict_in(first(fitting.fits + 1), seconds=seconds, family=family):
            in_conflict, minimal = conflict.facts, conflict.minimal
    stored = {(facts.subjects[fact], facts.answers[facts.targets[fact]]) for fact in range(present)}
    known = stored & {(subject, more.answers[target]) for subject, target in zip(more.subjects, more.targets)}
    proved = fitting.fits > 0 or not present
    if not proved:  # then it rests on the book's own W
        proved = Conditioned(first(0), subspace_of(family, len(weights))).witness(weights) is not None
    names, new_answers = tuple(facts.names(in_conflict)), len(facts.answers) - rivals
    return FurtherFacts(fitting, first_out, names, minimal, len(known), new_answers, proved)


def _together(book: Book, more: Gathered) -> Gathered:
    """The stored facts of a book, then the further ones. New answers follow the book's, in order of appearance. Words
    of the book have their vectors from it, whose last digits may differ from those of a file."""
    _check_same_vectors(book, more)
    known = {answer: index for index, answer in enumerate(book.answers)}
    new = [index for index, answer in enumerate(more.answers) if answer not in known]
    index = {more.answers[row]: len(known) + place for place, row in enumerate(new)} | known
    rows, in_book = np.flatnonzero(book.stored), dict(zip(book.subjects, book.inputs))
    inputs = [_double(in_book.get(subject, vector)) for subject, vector in zip(more.subjects, more.inputs)]
    return Gathered(
        (*(book.subjects[row] for row in rows), *more.subjects),
        (*book.answers, *(more.answers[row] for row in new)),
        np.array([*book.targets[rows], *(index[more.answers[target]] for target in more.targets)], int),
        np.concatenate([_double(book.inputs[rows]), inputs]),
        np.concatenate([_double(book.outputs), _double(more.outputs[new])]),
    )


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
