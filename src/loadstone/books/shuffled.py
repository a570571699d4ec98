"""The shuffled control: how many facts fit if the answers are permuted, which removes any structure in the facts.

Facts are taken in random order and their answers dealt out at random, each as often as before. All answers of the book
compete for every fact. The number of shuffled facts that can be stored is proved, so the control differs from the facts
themselves only in which answer belongs to which subject.

The control has the facts that are stored, but only one for each direction of a subject: with different answers, facts
with the same direction would exclude each other, which says nothing about room. Nor do directions that differ by
rounding, so those count as the same: which facts are shuffled is a choice, and claims nothing about the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float64, Int

from loadstone.books.largest import Fitting, largest_fitting
from loadstone.deadline import Deadline
from loadstone.problems.arrays import Arrays
from loadstone.problems.moderate import moderate
from loadstone.progress import Progress
from loadstone.readable import readable

if TYPE_CHECKING:
    from loadstone.books.book import Book

#: Stop once the bounds of a shuffle are this close, relative to what fits: shuffles differ by a few per cent.
WIDTH = 0.05
#: Directions that differ by less are the same to float32, in which most vectors were made.
_SAME_DIRECTION = 1e-6


@dataclass(frozen=True)
class Control:
    """How many facts fit if their answers are shuffled.

    facts: how many there are to shuffle: those that are stored, one for each direction of a subject.
    shuffles: how many fit, for each shuffle that was tried.
    """

    facts: int
    shuffles: tuple[Fitting, ...]

    __repr__ = readable

    @property
    def counted(self) -> tuple[Fitting, ...]:
        """The shuffles with bounds closer than WIDTH; if time was up before, only the one with the closest bounds."""
        ended = tuple(shuffle for shuffle in self.shuffles if shuffle.is_within(WIDTH))
        return ended or tuple(sorted(self.shuffles, key=lambda shuffle: shuffle.most - shuffle.fits)[:1])

    @property
    def is_decided(self) -> bool:
        """Whether the bounds of at least one shuffle are closer than WIDTH."""
        return all(shuffle.is_within(WIDTH) for shuffle in self.counted)

    @property
    def fits(self) -> float:
        """The lower bound on how many fit, on average over shuffles."""
        return float(np.mean([shuffle.fits for shuffle in self.counted]))

    @property
    def most(self) -> float | None:
        """The upper bound on how many fit, on average over shuffles; None if all facts of a shuffle may fit."""
        if any(shuffle.fails is None for shuffle in self.counted):
            return None
        return float(np.mean([shuffle.most for shuffle in self.counted]))

    @property
    def structure(self) -> tuple[float | None, float | None]:
        """Bounds on the number of stored facts over the number of shuffled ones that fit; None where there is none."""
        least = None if not self.most else self.facts / self.most
        return least, self.facts / self.fits if self.fits else None


def shuffled_control(
    book: Book, shuffles: int, guess: float, deadline: Deadline, family: str, progress: Progress
) -> Control | None:
    """How many facts fit in each shuffle, for as many shuffles as time allows; None if no fact is stored.

    guess: about how many facts fit.
    progress: called with the number of shuffles that are done, and what is being done.
    """
    rows = distinct_rows(book)
    if not len(rows):
        return None
    fittings: list[Fitting] = []
    for seed in range(shuffles):
        if fittings and deadline.is_over:
            break
        progress(seed, f"shuffle {seed + 1} of {shuffles}: how many of {len(rows)} facts fit")
        random = np.random.default_rng(seed)
        order, targets = random.permutation(rows), random.permutation(book.targets[rows])
        first = lambda k: Arrays(book.inputs[order[:k]], book.outputs, targets[:k])  # noqa: B023, E731
        fittings.append(largest_fitting(first, len(rows), guess, deadline, family, WIDTH))
        guess = Control(len(rows), tuple(fittings)).fits or guess
    return Control(len(rows), tuple(fittings))


def distinct_rows(book: Book) -> Int[np.ndarray, "k"]:
    """Rows of the stored facts; of those whose subjects have the same direction, only the first."""
    stored = np.flatnonzero(book.stored)
    groups = alike(book.inputs[stored]) if len(stored) else []
    return np.delete(stored, [row for group in groups for row in group[1:]])


def alike(vectors: Float[np.ndarray, "n d"]) -> list[list[int]]:
    """Groups of rows with the same direction to rounding. Sorted by their component along a random axis, such rows lie
    next to each other, so each is compared with the few before it only."""
    inputs = moderate(vectors, axis=1)[0].astype(np.float64)
    directions: Float64[np.ndarray, "n d"] = inputs / np.linalg.norm(inputs, axis=1, keepdims=True)
    axis = np.random.default_rng(0).standard_normal(directions.shape[1])
    along, window = directions @ axis, _SAME_DIRECTION * float(np.linalg.norm(axis))
    groups: list[list[int]] = []
    for row in map(int, np.argsort(along, kind="stable")):
        for group in reversed(groups):
            if along[row] - along[group[0]] > window:
                groups.append([row])
                break
            if np.linalg.norm(directions[row] - directions[group[0]]) < _SAME_DIRECTION:
                group.append(row)
                break
        else:
            groups.append([row])
    return [sorted(group) for group in groups if len(group) > 1]
