"""Facts in words, with their vectors: what a problem is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from loadstone.arguments import choice
from loadstone.books.reading import COLUMNS, Columns, Pair, pairs_of
from loadstone.books.spelling import spellings, words_of
from loadstone.books.vectors import Source, Vector, Watch, read_vectors
from loadstone.problems.arrays import Arrays
from loadstone.problems.facts import Facts, facts_of

PHRASES = ("mean", "exact")


@dataclass(frozen=True)
class Gathered:
    """Facts whose subject and answer both have a vector.

    subjects: the subject of each fact.
    answers: every answer once, in the order in which they appear.
    targets: for each fact, the index of its answer.
    inputs, outputs: the vectors of subjects and of answers.
    repeated: how many facts were there more than once; each is kept once.
    averaged: names whose vector is the mean of the vectors of their words.
    missing: names that have no vector, with the words that are unknown; their facts are left out.
    left_out: these facts.
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

    def __len__(self) -> int:
        return len(self.subjects)

    def name(self, fact: int) -> str:
        """A fact in words."""
        return f"{self.subjects[fact]} -> {self.answers[self.targets[fact]]}"

    def arrays(self, rows: Collection[int] | None = None) -> Arrays:
        """All facts, or those of some rows, with every answer competing."""
        chosen = slice(None) if rows is None else np.fromiter(rows, int, len(rows))
        return Arrays(self.inputs[chosen], self.outputs, self.targets[chosen])

    def problem(self, rows: Collection[int] | None = None) -> Facts:
        """The same as a problem for JAX."""
        return facts_of(self.arrays(rows))


def gather(
    source: Any,
    vectors: Source,
    columns: Columns = COLUMNS,
    phrases: str = "mean",
    words: str | Path | None = None,
    least_answers: int = 2,
    watch: Watch = lambda done, total: None,
) -> Gathered:
    """Read facts and look up their vectors.

    phrases: 'mean' takes the mean of the words of a name that has no vector of its own, 'exact' leaves it out.
    least_answers: refuse facts with fewer answers than this; facts beside others need one only.
    See `pairs_of` and `read_vectors` for the rest.
    """
    choice("phrases", phrases, PHRASES)
    read = list(pairs_of(source, columns))
    first: dict[tuple[str, str], Pair] = {}
    for pair in read:
        first.setdefault((pair.subject, pair.answer), pair)
    pairs = list(first.values())
    found = look_up(dict.fromkeys(name for pair in pairs for name in pair[:2]), vectors, phrases, words, watch)
    kept = [pair for pair in pairs if pair.subject in found.vectors and pair.answer in found.vectors]
    if not kept:
        raise ValueError(_nothing_left(len(pairs), found.missing))
    answers = {answer: index for index, answer in enumerate(dict.fromkeys(pair.answer for pair in kept))}
    if len(answers) < least_answers:
        raise ValueError(f"every fact has the answer {next(iter(answers))!r}: there is nothing to tell apart.")
    left_out = set(pairs).difference(kept)
    return Gathered(
        tuple(pair.subject for pair in kept),
        tuple(answers),
        np.array([answers[pair.answer] for pair in kept]),
        np.stack([found.vectors[pair.subject] for pair in kept]),
        np.stack([found.vectors[answer] for answer in answers]),
        len(read) - len(pairs),
        tuple(found.averaged),
        tuple(found.missing.items()),
        tuple(pair for pair in pairs if pair in left_out),
    )


class Found(NamedTuple):
    """vectors: of the names that have one; averaged: those that are a mean; missing: the others, and which of their
    words are unknown."""

    vectors: dict[str, Vector]
    averaged: list[str]
    missing: dict[str, tuple[str, ...]]


def look_up(
    names: Collection[str],
    vectors: Source,
    phrases: str,
    words: str | Path | None,
    watch: Watch = lambda done, total: None,
) -> Found:
    parts = {name: words_of(name) if phrases == "mean" else [] for name in names}
    wanted = {spelling for name in names for word in (name, *parts[name]) for spelling in spellings(word)}
    known = read_vectors(vectors, wanted, words, watch)

    def vector_of(word: str) -> Vector | None:
        return next((known[spelling] for spelling in spellings(word) if spelling in known), None)

    found = Found({}, [], {})
    for name in names:
        vector, of_words = vector_of(name), [vector_of(word) for word in parts[name]]
        there = [one for one in of_words if one is not None]
        if vector is not None:
            found.vectors[name] = vector
        elif there and len(there) == len(of_words):
            found.vectors[name] = np.mean(there, axis=0, dtype=np.float64).astype(there[0].dtype)
            found.averaged.append(name)
        else:
            unknown = [word for word, one in zip(parts[name], of_words) if one is None]
            found.missing[name] = tuple(unknown) or (name,)
    return found


def _nothing_left(count: int, missing: Mapping[str, tuple[str, ...]]) -> str:
    if not count:
        return "there is no fact: the file or the list is empty."
    shown = ", ".join(map(repr, list(missing)[:5]))
    return f"none of the {count} facts has vectors on both sides; without one are, for example, {shown}."
