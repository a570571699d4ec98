"""A book: a memory with its words. It needs no other file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from loadstone.arguments import refuse, whole
from loadstone.books.reading import COLUMNS, Columns
from loadstone.books.spelling import composed, nearest, spellings
from loadstone.books.vectors import Source
from loadstone.books.words import words_from
from loadstone.files import Version
from loadstone.memories.files import read_tensors, write_tensors
from loadstone.problems.numpy_pass import margins_of, rivals_of, scores_of
from loadstone.readable import readable

if TYPE_CHECKING:
    from loadstone.books.budget import BookBudget
    from loadstone.books.editing import Edited

_FORMAT, _FIRST_FORMAT = "loadstone book 2", "loadstone book 1"
_ARRAYS = {"weights": "f", "inputs": "f", "outputs": "f", "targets": "i", "stored": "b"}


@dataclass(frozen=True)
class Recollection:
    """What a book answers.

    answer: in words.
    score: u^T W e.
    margin: by how much it beats the best other answer; negative if it does not.
    """

    answer: str
    score: float
    margin: float

    __repr__ = readable


@dataclass(frozen=True)
class Failure:
    """A fact that is not stored.

    subject, answer: the fact.
    rival: the answer that wins instead.
    margin: by how much the answer loses, as a number that is not positive.
    """

    subject: str
    answer: str
    rival: str
    margin: float

    __repr__ = readable


@dataclass(frozen=True)
class Book:
    """Facts in words, and the memory that holds them.

    weights: W.
    subjects: the subject of each fact.
    answers: every answer once.
    targets: for each fact, the index of its answer.
    inputs, outputs: the vectors of subjects and of answers.
    stored: for each fact, whether W recalls it.
    about: how the book was made, in words and numbers.
    """

    weights: Float[np.ndarray, "d d"]
    subjects: tuple[str, ...]
    answers: tuple[str, ...]
    targets: Int[np.ndarray, "n"]
    inputs: Float[np.ndarray, "n d"]
    outputs: Float[np.ndarray, "m d"]
    stored: Bool[np.ndarray, "n"]
    about: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        proved = " (proved)" if self.about.get("proved") else ""
        stored = f"{int(self.stored.sum())} of {len(self)} facts stored{proved}"
        return f"<Book: {stored}, {len(self.answers)} answers, d = {len(self.weights)}>"

    def __len__(self) -> int:
        return len(self.subjects)

    def recall(self, subject: str, top: int = 1) -> list[Recollection]:
        """The best answers to a subject, the best first."""
        whole("top", top, 1)
        ((_, (scores,)),) = scores_of(self.weights, self, [self.row(subject)])
        order = np.argsort(-scores, kind="stable")
        best, second = scores[order[0]], scores[order[1]]
        return [
            Recollection(self.answers[row], float(scores[row]), float(scores[row] - (best if rank else second)))
            for rank, row in enumerate(order[:top])
        ]

    def row(self, subject: str) -> int:
        """The row of the first fact about a subject, in any usual spelling; an error suggests the nearest known one."""
        for spelling in spellings(subject):
            if spelling in self._rows:
                return self._rows[spelling]
        similar = nearest(subject, self._rows)
        if similar is not None and composed(similar).lower() == composed(subject).lower():
            return self._rows[similar]
        hint = f" (did you mean {similar!r}?)" if similar else ""
        raise KeyError(f"{subject!r} is not in the book{hint}.")

    def conflicts(self) -> list[list[str]]:
        """Groups of facts that cannot all be stored, in words, as far as they were found when the book was made."""
        groups = self.about.get("conflicts", [])
        groups = groups if isinstance(groups, list) else []
        return [list(map(str, names)) for names in groups if isinstance(names, list)]

    def failures(self) -> list[Failure]:
        """The facts that are not stored, each with the answer that wins instead."""
        rows = np.flatnonzero(~self.stored)
        return self.lost(rows, *rivals_of(self.weights, self, rows))

    def lost(
        self, rows: Int[np.ndarray, "k"], rivals: Int[np.ndarray, "k"], margins: Float[np.ndarray, "k"]
    ) -> list[Failure]:
        """The facts of these rows as failures, given the rival and the margin of each."""
        return [
            Failure(self.subjects[row], self.answers[self.targets[row]], self.answers[rival], float(margin))
            for row, rival, margin in zip(rows, rivals, margins)
        ]

    def margins(self) -> Float[np.ndarray, "n"]:
        """The margin of each fact: its answer's score minus the best other score."""
        return margins_of(self.weights, self)

    def budget(
        self,
        more: Any = None,
        vectors: Source | None = None,
        columns: Columns = COLUMNS,
        phrases: str = "mean",
        seconds: float = 60.0,
        shuffles: int = 3,
    ) -> BookBudget:
        """How full the book is, and how many of further facts fit beside those that are stored; see `books/budget.py`.

        more: further facts, as `remember` takes them.
        vectors: their vectors, as `remember` takes them [default: those of the words that the book knows].
        """
        from loadstone.books.budget import budget_of
        from loadstone.books.gathered import gather

        further = None if more is None else gather(more, vectors or self.vectors(), columns, phrases, least_answers=1)
        return budget_of(self, further, seconds, shuffles)

    def edit(
        self,
        changes: Any,
        method: str = "refit",
        vectors: Source | None = None,
        columns: Columns = COLUMNS,
        phrases: str = "mean",
        seconds: float = 60.0,
        old: float | None = None,
    ) -> Edited:
        """Add, change and remove facts: `book.edit({"France": "Lyon"}).book`. This book stays as it is.

        The result holds the new book, which changes were taken, and which old facts were lost; see
        `loadstone.books.editing.edit` for the arguments.
        """
        from loadstone.books.editing import edit

        return edit(self, changes, method, vectors, columns, phrases, seconds=seconds, old=old)

    def vectors(self) -> dict[str, Float[np.ndarray, "d"]]:
        """The vectors of all words that the book knows."""
        return dict(zip(self.answers, self.outputs)) | dict(zip(self.subjects, self.inputs))

    @property
    def family(self) -> str:
        """The family of W."""
        return str(self.about.get("family", "full"))

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {subject: row for row, subject in reversed(list(enumerate(self.subjects)))}

    def save(self, path: str | Path, *, replacing: Version | None = None) -> None:
        """Write the book as one safetensors file, whole or not at all.

        replacing: the version of the file that the book was made from (`files.version_of`); if that has changed since,
            it is left as it is, and the book is not written.
        """
        words = {"subjects": self.subjects, "answers": self.answers, "about": dict(self.about)}
        metadata = {"format": _FORMAT, "words": json.dumps(words, ensure_ascii=True)}
        write_tensors(path, {name: getattr(self, name) for name in _ARRAYS}, metadata=metadata, replacing=replacing)


def open_book(path: str | Path) -> Book:
    """Read a book that `Book.save` wrote.

    Example:
        >>> vectors = {"France": [1, 0, 2], "Peru": [0, 1, 1], "Paris": [1, 1, 0], "Lima": [0, 2, 1]}
        >>> loadstone.remember({"France": "Paris", "Peru": "Lima"}, vectors).save("capitals.safetensors")
        >>> loadstone.open("capitals.safetensors").recall("France")[0].answer
        'Paris'
    """
    metadata, tensors = read_tensors(path, "book", "a file that `loadstone facts store` wrote", _FORMAT)
    file_format = metadata.get("format", "")
    if file_format not in (_FORMAT, _FIRST_FORMAT):
        later = file_format.startswith("loadstone book ")
        what = f"one of this version ({file_format!r} is of a later one)" if later else "a book, which this file is not"
        raise refuse("book", str(path), what)
    try:
        words = words_from(metadata["words"])
        book = Book(subjects=tuple(words["subjects"]), answers=tuple(words["answers"]), about=words["about"], **tensors)
        _check(book)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise refuse("book", str(path), f"undamaged ({' '.join(str(error).split())[:200]})") from error
    return book if file_format == _FORMAT else _measured(book)


def _measured(book: Book) -> Book:
    """A book whose file has no checksum: what it says to be stored is measured, and it has proved nothing."""
    return replace(book, stored=book.margins() > 0, about={**book.about, "proved": False})


def _check(book: Book) -> None:
    n, m, d = len(book.subjects), len(book.answers), book.weights.shape[-1]
    shapes = {"weights": (d, d), "inputs": (n, d), "outputs": (m, d), "targets": (n,), "stored": (n,)}
    for name, shape in shapes.items():
        array = getattr(book, name)
        if array.shape != shape or array.dtype.kind != _ARRAYS[name]:
            raise ValueError(f"{name} is {array.dtype}{array.shape} instead of {shape}")
        if _ARRAYS[name] == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has numbers that are not finite")
    if n < 1 or m < 2 or book.targets.min() < 0 or book.targets.max() >= m:
        raise ValueError("a target is not one of the answers")
