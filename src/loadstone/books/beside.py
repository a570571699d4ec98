"""How many more facts fit beside those that a book has stored: the first k of them, with proof.

The answers that compete are those of the book and those of the first k further facts. A further fact may bring an
answer that no fact had before; it then competes for all the others as well. Both only add inequalities, so if the first
k fit, fewer fit too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from loadstone.books.gathered import Gathered
from loadstone.books.nested import Fitting, largest_fitting
from loadstone.memories.families import subspace_of
from loadstone.problems.arrays import Arrays
from loadstone.proofs.conditioned import Conditioned
from loadstone.solvers.conflict import conflict_in

if TYPE_CHECKING:
    from loadstone.books.book import Book

#: Vectors of one word, from the book and from a file, may differ by this share: float32 keeps seven digits.
_SAME_VECTOR = 1e-6
#: Seconds.
_LEAST_FOR_CONFLICT = 1.0


@dataclass(frozen=True)
class Beside:
    """How many of further facts fit beside the stored ones.

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


def facts_beside(book: Book, more: Gathered, guess: float, end: float, family: str) -> Beside:
    """guess: about how many fit; end: when to stop, by time.perf_counter()."""
    began, row = time.perf_counter(), _Row(book, more)
    present = row.first(0) if book.stored.any() else None
    weights = book.weights.astype(np.float64)
    subspace = subspace_of(family, len(weights))
    proved = present is None or Conditioned(present, subspace).witness(weights) is not None
    start = weights if weights.any() else None
    fitting = largest_fitting(row.first, len(more), guess, end, family, start=start)
    out, conflict = None, None
    if fitting.is_exact and fitting.fits < len(more):
        out, now = more.name(fitting.fits), time.perf_counter()
        # A reason may take as long as the number itself took.
        seconds = max(1e-3, min(end - now, max(_LEAST_FOR_CONFLICT, now - began)))
        conflict = conflict_in(row.first(fitting.fits + 1), None, seconds, family)
    names = tuple(row.name(fact) for fact in conflict.facts) if conflict else ()
    stored = {(book.subjects[fact], book.answers[book.targets[fact]]) for fact in np.flatnonzero(book.stored)}
    known = sum((subject, more.answers[target]) in stored for subject, target in zip(more.subjects, more.targets))
    new_answers, minimal = len(row.outputs) - len(book.answers), conflict is not None and conflict.minimal
    return Beside(fitting, out, names, minimal, known, new_answers, proved or fitting.fits > 0)


class _Row:
    """The stored facts of a book, and others after them. New answers come after the book's, in order of appearance."""

    def __init__(self, book: Book, more: Gathered) -> None:
        _check_same_vectors(book, more)
        known = {answer: index for index, answer in enumerate(book.answers)}
        new = [index for index, answer in enumerate(more.answers) if answer not in known]
        index = {answer: len(known) + place for place, answer in enumerate(more.answers[one] for one in new)} | known
        rows = np.flatnonzero(book.stored)
        self.book, self.more, self.rows = book, more, rows
        self.present, self.rivals = len(rows), len(known)
        self.inputs = np.concatenate([_double(book.inputs[rows]), _double(more.inputs)])
        self.outputs = np.concatenate([_double(book.outputs), _double(more.outputs[new])])
        further = np.array([index[more.answers[target]] for target in more.targets], int)
        self.targets = np.concatenate([book.targets[rows].astype(int), further])

    def name(self, fact: int) -> str:
        """A fact in words."""
        if fact >= self.present:
            return self.more.name(fact - self.present)
        row = self.rows[fact]
        return f"{self.book.subjects[row]} -> {self.book.answers[self.book.targets[row]]}"

    def first(self, k: int) -> Arrays:
        """What is stored and k facts more, with the answers that these have."""
        count = self.present + k
        targets = self.targets[:count]
        answers = max(self.rivals, int(targets.max(initial=0)) + 1)
        return Arrays(self.inputs[:count], self.outputs[:answers], targets)


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
