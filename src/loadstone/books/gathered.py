"""Facts in words, with their vectors, from which problems are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from loadstone.arguments import choice
from loadstone.books.book import Book
from loadstone.books.reading import COLUMNS, Columns, Pair, pairs_of
from loadstone.books.spelling import spellings, words_of
from loadstone.books.vectors import Source, Vector, read_vectors
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.problems.facts import Facts, facts_of
from loadstone.problems.moderate import moderate
from loadstone.progress import Progress, silent
from loadstone.proofs.conditioned import Conditioned
from loadstone.readable import readable

PHRASES = ("mean", "exact")


@dataclass(frozen=True)
class Gathered:
    """Facts whose subject and answer both have a vector.

    subjects: the subject of each fact.
    answers: every answer once, in the order in which they appear.
    targets: for each fact, the index of its answer.
    inputs, outputs: the vectors of subjects and of answers.
    repeated: how many repetitions of facts were dropped.
    averaged: names whose vector is the mean of the vectors of their words.
    missing: names that have no vector, with their unknown words; the facts of these names are left out.
    left_out: the facts that are left out.
    """

    subjects: tuple[str, ...]
    answers: tuple[str, ...]
    targets: Int[np.ndarray, "n"]
    inputs: Float[np.ndarray, "n d"]
    outputs: Float[np.ndarray, "m d"]
    repeated: int = 0
    averaged: tuple[str, ...] = ()
    missing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    left_out: tuple[Pair, ...] = ()

    __repr__ = readable

    def __len__(self) -> int:
        return len(self.subjects)

    def name(self, fact: int) -> str:
        """A fact in words."""
        return f"{self.subjects[fact]} -> {self.answers[self.targets[fact]]}"

    def names(self, facts: Iterable[int]) -> list[str]:
        """Facts in words."""
        return [self.name(fact) for fact in facts]

    def arrays(self, rows: Collection[int] | None = None) -> Arrays:
        """All facts, or those of some rows, with every answer competing."""
        index = slice(None) if rows is None else np.fromiter(rows, int, len(rows))
        return Arrays(self.inputs[index], self.outputs, self.targets[index])

    def moderate(self) -> Gathered:
        """The same facts for a search: vectors whose numbers are far too large or small for products, times powers of
        two. What stores these facts stores those as they were given."""
        return replace(self, inputs=moderate(self.inputs, axis=1)[0], outputs=moderate(self.outputs)[0])

    def problem(self, rows: Collection[int] | None = None) -> Facts:
        """The same facts as a problem for JAX."""
        return facts_of(self.arrays(rows))

    def are_stored(self, rows: Collection[int], weights: Float[np.ndarray, "d d"], subspace: Subspace | None) -> bool:
        """Whether W, of this linear family, is proved to store the facts of these rows despite rounding."""
        return not len(rows) or Conditioned(self.arrays(rows), subspace).witness(weights) is not None

    def book(
        self, weights: Float[np.ndarray, "d d"], stored: Bool[np.ndarray, "n"], about: Mapping[str, object]
    ) -> Book:
        """The book of these facts with a W that recalls those marked in `stored`."""
        return Book(weights, self.subjects, self.answers, self.targets, self.inputs, self.outputs, stored, about)


def gather(
    source: Any,
    vectors: Source,
    columns: Columns = COLUMNS,
    phrases: str = "mean",
    words: str | Path | None = None,
    least_answers: int = 2,
    progress: Progress = silent,
) -> Gathered:
    """Read facts and look up their vectors.

    phrases: 'mean' takes the mean of the words of a name that has no vector of its own, 'exact' leaves it out.
    least_answers: refuse facts with fewer answers than this; facts to be added to others need only one.
    See `pairs_of` and `read_vectors` for the rest.
    """
    choice("phrases", phrases, PHRASES)
    read = list(pairs_of(source, columns))
    first: dict[tuple[str, str], Pair] = {}
    for pair in read:
        first.setdefault((pair.subject, pair.answer), pair)
    pairs = list(first.values())
    names = dict.fromkeys(name for pair in pairs for name in pair[:2])
    known = look_up(names, vectors, phrases, words, progress)
    kept = [pair for pair in pairs if pair.subject in known.vectors and pair.answer in known.vectors]
    if not kept:
        raise ValueError(_nothing_left(len(pairs), known.missing))
    answers = {answer: index for index, answer in enumerate(dict.fromkeys(pair.answer for pair in kept))}
    if len(answers) < least_answers:
        raise ValueError(f"every fact has the answer {next(iter(answers))!r}: there is nothing to tell apart.")
    left_out = set(pairs).difference(kept)
    return Gathered(
        tuple(pair.subject for pair in kept),
        tuple(answers),
        np.array([answers[pair.answer] for pair in kept]),
        np.stack([known.vectors[pair.subject] for pair in kept]),
        np.stack([known.vectors[answer] for answer in answers]),
        len(read) - len(pairs),
        tuple(known.averaged),
        tuple(known.missing.items()),
        tuple(pair for pair in pairs if pair in left_out),
    )


class Known(NamedTuple):
    """The vectors of names, and the names that have none.

    vectors: of the names that have one.
    averaged: those of them whose vector is the mean of the vectors of their words.
    missing: the other names, and which of their words are unknown.
    """

    vectors: dict[str, Vector]
    averaged: list[str]
    missing: dict[str, tuple[str, ...]]


def look_up(
    names: Collection[str],
    vectors: Source,
    phrases: str,
    words: str | Path | None,
    progress: Progress = silent,
) -> Known:
    """Look up the vectors of names; see `gather` for the arguments."""
    parts = {name: words_of(name) if phrases == "mean" else [] for name in names}
    wanted = {spelling for name in names for word in (name, *parts[name]) for spelling in spellings(word)}
    by_word = read_vectors(vectors, wanted, words, progress)

    def vector_of(word: str) -> Vector | None:
        return next((by_word[spelling] for spelling in spellings(word) if spelling in by_word), None)

    known = Known({}, [], {})
    for name in names:
        vector, of_words = vector_of(name), [vector_of(word) for word in parts[name]]
        present = [each for each in of_words if each is not None]
        if vector is not None:
            known.vectors[name] = vector
        elif present and len(present) == len(of_words):
            known.vectors[name] = np.mean(present, axis=0, dtype=np.float64).astype(np.result_type(*present))
            known.averaged.append(name)
        else:
            unknown = [word for word, its_vector in zip(parts[name], of_words) if its_vector is None]
            known.missing[name] = tuple(unknown) or (name,)
    return known


def _nothing_left(count: int, missing: Mapping[str, tuple[str, ...]]) -> str:
    if not count:
        return "there is no fact: the file or the list is empty."
    shown = ", ".join(map(repr, list(missing)[:5]))
    return f"none of the {count} facts has vectors on both sides; without one are, for example, {shown}."
