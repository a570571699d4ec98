"""Changes of a book, and its draft: the facts after these changes, for which a memory is yet to be found.

Changes are read from the same files and tables as facts."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from loadstone.arguments import choice, refuse
from loadstone.books.book import Book
from loadstone.books.gathered import PHRASES, Gathered, Known, look_up
from loadstone.books.reading import COLUMNS, Columns, is_empty, rows_of, text_of
from loadstone.books.spelling import nearest, spellings
from loadstone.books.vectors import Source

ACTIONS = ("add", "change", "remove")
#: Names of the optional third column, which says what is to be done.
_ACTION_COLUMNS = ("change", "action")
#: This many words of the book are looked up, to check that the vectors are those that it was made with.
_COMPARED = 20
#: Relative tolerance: a book may hold fewer digits of a vector than its source.
_SAME = 1e-3


class Change(NamedTuple):
    """One change.

    subject: whose fact it is.
    answer: the new one; to remove a fact it may be left out.
    action: one of ACTIONS; None: a subject that is in the book gets this answer, one that is not is added.
    where: where it was read, in words.
    """

    subject: str
    answer: str | None
    action: str | None
    where: str = "changes"

    def __str__(self) -> str:
        fact = self.subject if self.answer is None else f"{self.subject} -> {self.answer}"
        return f"{self.action} {fact}" if self.action else fact


def changes_of(source: Any, columns: Columns = COLUMNS) -> list[Change]:
    """The changes in a file, a table, a mapping, or any pairs; a third column `change` or `action` is optional, and so
    is a third member of a pair."""
    names = tuple(name for name in _ACTION_COLUMNS if name not in columns)
    changes = [_change(where, row) for where, row in rows_of(source, columns, names)]
    if not changes:
        raise ValueError("there is no change: the file or the list is empty.")
    return changes


def _change(where: str, row: tuple[Any, ...]) -> Change:
    _, subject, answer, *cells = row
    actions = [str(cell).strip().lower() for cell in cells if not is_empty(cell)]
    action = actions[0] if actions else None
    if len(set(actions)) > 1 or (action is not None and action not in ACTIONS):
        shown = " and ".join(map(repr, actions))
        raise ValueError(f"{where} says {shown}, but must say add, change or remove, or nothing.")
    if action == "remove" and is_empty(answer):
        return Change(text_of(where, "subject", subject), None, action, where)
    return Change(text_of(where, "subject", subject), text_of(where, "answer", answer), action, where)


@dataclass(frozen=True)
class Line:
    """A fact of the draft.

    row: its row in the book; None if it is new.
    asked: whether a change asks for it; otherwise it is to stay as it is.
    """

    subject: str
    answer: str
    row: int | None = None
    asked: bool = False


@dataclass(frozen=True)
class Draft:
    """The facts after the changes.

    facts: with their vectors, and the names that have none.
    lines: one for each fact.
    changes: those that are applied, each with its action: 'add', 'change' or 'remove'.
    rows: for each change the row of its fact; None if it removes one.
    left_out: the changes that are not applied, because a name has no vector.
    """

    facts: Gathered
    lines: tuple[Line, ...]
    changes: tuple[Change, ...]
    rows: tuple[int | None, ...]
    left_out: tuple[Change, ...]

    def asked(self) -> list[int]:
        """Rows of the facts that are new or changed, in the order of the changes."""
        return [row for row in self.rows if row is not None and self.lines[row].asked]

    def stayed(self, stored: Bool[np.ndarray, "n"]) -> list[int]:
        """Rows of the facts that are to stay as they are, of those that `stored` marks in the book."""
        rows = [(row, line.row) for row, line in enumerate(self.lines) if not line.asked]
        return [row for row, before in rows if before is not None and stored[before]]


def drafted(
    book: Book,
    changes: Sequence[Change],
    vectors: Source | None = None,
    phrases: str = "mean",
    words: str | Path | None = None,
) -> Draft:
    """The draft after changes in this order. Words of the book have their vectors from it, others from `vectors`."""
    choice("phrases", phrases, PHRASES)
    names = _Names(book, changes, vectors, phrases, words)
    if not names.complete:
        shown = ", ".join(repr(name) for name, _ in names.missing[:5])
        raise ValueError(f"none of the changes has vectors for its new words; without one are, for example, {shown}.")
    facts: dict[str, list[Line]] = {}
    for row, subject in enumerate(book.subjects):
        facts.setdefault(subject, []).append(Line(subject, book.answers[book.targets[row]], row))
    applied = [_make(facts, change, book) for change in _each_once(map(names.spelled, names.complete))]
    lines = [line for of_subject in facts.values() for line in of_subject]
    present = dict.fromkeys(line.answer for line in lines)
    new_answers = [answer for answer in present if answer not in names.answers]
    answers = [*(answer for answer in book.answers if answer in present), *new_answers]
    if len(answers) < 2:
        left = f"every fact would have the answer {answers[0]!r}" if answers else "no fact would be left"
        raise ValueError(f"{left}: a book needs facts with two different answers.")
    targets = {answer: index for index, answer in enumerate(answers)}
    gathered = Gathered(
        tuple(line.subject for line in lines),
        tuple(answers),
        np.array([targets[line.answer] for line in lines]),
        np.stack([names.inputs[line.subject] if line.row is None else book.inputs[line.row] for line in lines]),
        np.stack([names.outputs[answer] for answer in answers]),
        averaged=names.averaged,
        missing=names.missing,
    )
    rows = {line.subject: row for row, line in enumerate(lines)}
    at = [None if change.action == "remove" else rows[change.subject] for change in applied]
    return Draft(gathered, tuple(lines), tuple(applied), tuple(at), names.left_out)


def _each_once(changes: Iterable[Change]) -> list[Change]:
    """The changes without repetitions. Two that contradict each other are refused."""
    by_subject: dict[str, list[Change]] = {}
    for change in changes:
        earlier = by_subject.setdefault(change.subject, [])
        if any(change[:3] == other[:3] for other in earlier):
            continue
        if earlier and not (change.action == earlier[0].action == "remove"):
            raise ValueError(f"{change.where}: {change} comes after {earlier[0]}: keep one change for each subject.")
        earlier.append(change)
    return [change for of_subject in by_subject.values() for change in of_subject]


def _make(facts: dict[str, list[Line]], change: Change, book: Book) -> Change:
    """Apply a change to the lines of each subject, and return it with its action."""
    lines = facts.get(change.subject, [])
    if change.action == "remove":
        left = [line for line in lines if change.answer not in (None, line.answer)]
        if len(left) == len(lines):
            raise _impossible(facts, change)
        facts[change.subject] = left
        if not left:
            del facts[change.subject]
        return change
    assert change.answer is not None
    if change.action == "change" and not lines:
        raise _impossible(facts, change)
    unchanged = [line.answer for line in lines] == [change.answer]
    if change.action == "add" and lines and not unchanged:
        what = f"{lines[0].subject} -> {lines[0].answer}, and a subject has one answer: say change instead of add"
        raise ValueError(f"{change.where}: cannot {change}, because the book has {what}.")
    if unchanged and lines[0].row is not None and book.stored[lines[0].row]:
        return change._replace(action=change.action or "change")  # it only has to stay
    row = lines[0].row if unchanged else None
    facts[change.subject] = [Line(change.subject, change.answer, row, asked=True)]
    return change._replace(action=change.action or ("change" if lines else "add"))


def _impossible(facts: Mapping[str, list[Line]], change: Change) -> ValueError:
    if change.subject in facts:
        has = f"the book has {change.subject} -> {facts[change.subject][0].answer}"
    else:
        similar = nearest(change.subject, facts)
        has = f"{change.subject!r} is not in the book" + (f" (did you mean {similar!r}?)" if similar else "")
    return ValueError(f"{change.where}: cannot {change}, because {has}.")


class _Names:
    """The vectors of all names, and the changes whose names have one.

    inputs, outputs: vectors by name, of subjects and of answers.
    averaged: names whose vector is the mean of the vectors of their words.
    missing: names that have no vector, with the words that are unknown.
    complete, left_out: the changes whose names all have vectors, and the others.
    """

    def __init__(
        self, book: Book, changes: Sequence[Change], vectors: Source | None, phrases: str, words: str | Path | None
    ) -> None:
        inputs, outputs = dict(zip(book.subjects, book.inputs)), dict(zip(book.answers, book.outputs))
        self.new: dict[str, Float[np.ndarray, "d"]] = {}
        self.inputs, self.outputs = ChainMap(inputs, outputs, self.new), ChainMap(outputs, inputs, self.new)
        self.answers = {answer: answer for answer in book.answers}
        # To add a subject, its name is taken as it is written.
        exact = (change.subject for change in changes if change.action == "add")
        in_small_letters = {name.lower(): name for name in reversed(book.subjects)}
        self.subjects = in_small_letters | {name: name for name in (*book.subjects, *exact)}
        kept = [change for change in map(self.spelled, changes) if change.action != "remove"]
        names = dict.fromkeys([name for change in kept for name in (change.subject, change.answer or "") if name])
        wanted = [name for name in names if name not in self.inputs]
        known = self._looked_up(book, wanted, vectors, phrases, words) if wanted else Known({}, [], {})
        self.new |= {name: known.vectors[name] for name in wanted if name in known.vectors}
        self.averaged = tuple(name for name in known.averaged if name in self.new)
        self.missing = tuple((name, known.missing[name]) for name in wanted if name in known.missing)
        lacking = {name for name, _ in self.missing}
        without = [bool({*self.spelled(change)[:2]} & lacking) and change.action != "remove" for change in changes]
        self.left_out = tuple(change for change, lacks in zip(changes, without) if lacks)
        self.complete = tuple(change for change, lacks in zip(changes, without) if not lacks)

    def spelled(self, change: Change) -> Change:
        """The change in the spelling of the book."""
        answer = None if change.answer is None else _spelled(change.answer, self.answers)
        return change._replace(subject=_spelled(change.subject, self.subjects), answer=answer)

    def _looked_up(
        self, book: Book, wanted: list[str], vectors: Source | None, phrases: str, words: str | Path | None
    ) -> Known:
        """The vectors of these names; refused if `vectors` are not those that the book was made with."""
        d = book.inputs.shape[1]
        if vectors is None:
            shown = ", ".join(map(repr, wanted[:5])) + (f" and {len(wanted) - 5} more" if len(wanted) > 5 else "")
            raise refuse("vectors", None, f"given, because the book has no vector for {shown}")
        compared = list(dict.fromkeys(book.subjects[:_COMPARED]))
        known = look_up([*wanted, *compared], vectors, phrases, words)
        for name, vector in known.vectors.items():
            if len(vector) != d:
                raise ValueError(f"the vector of {name!r} has {len(vector)} numbers, but those of the book have {d}.")
        averaged = book.about.get("averaged")
        means = {*known.averaged, *map(str, averaged if isinstance(averaged, list) else [])}
        for name in (name for name in compared if name in known.vectors and name not in means):
            ours, theirs = self.inputs[name], known.vectors[name]
            if np.abs(theirs - ours).max() > _SAME * np.abs(ours).max():
                made_with = "use the vectors that the book was made with"
                raise ValueError(f"the vector of {name!r} is not the one that the book has: {made_with}.")
        return known


def _spelled(name: str, known: Mapping[str, str]) -> str:
    """The name as the book spells it, or as it is if the book has none of its spellings."""
    return next((known[spelling] for spelling in spellings(name) if spelling in known), name)
