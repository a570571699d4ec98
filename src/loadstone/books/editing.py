"""Edit a book: add, change and remove facts, and report which old facts are lost.

'refit' searches for a new W from the old one: old facts come first, then the edits in their order, and what is left out
is proved not to fit. 'rank-one' and 'batch' are the updates of ROME and MEMIT without their model, which know old facts
only through the second moment of the inputs (solvers/updates.py). Removing a fact changes nothing in W by itself: the
fact is merely no longer required.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

import loadstone
from loadstone.arguments import choice, positive, refuse
from loadstone.books.book import Book, Failure
from loadstone.books.draft import Change, changes_of, drafted
from loadstone.books.reading import COLUMNS, Columns
from loadstone.books.screening import Obstruction, obstructions
from loadstone.books.vectors import Source
from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of
from loadstone.problems.arrays import Arrays
from loadstone.problems.numpy_pass import margins_of, rivals_of, scores_of
from loadstone.progress import Progress, silent
from loadstone.readable import readable
from loadstone.solvers.refitting import Refitted, refit
from loadstone.solvers.updates import all_at_once, one_at_a_time
from loadstone.threads import one_thread

METHODS = ("refit", "rank-one", "batch")
#: Reasons why an edit does not fit are looked for during at most this share of the time.
_FOR_REASONS = 0.1


@dataclass(frozen=True)
class Edited:
    """The result of editing a book.

    book: the new book. The old one is as it was.
    method: how it was edited.
    taken: the changes that hold now, each with its action.
    missed: those whose fact is in the book, but not stored.
    left_out: those that were not applied, because a name has no vector; `missing` has these names.
    lost: old facts that were stored before, and are not now, each with the answer that wins instead.
    kept: how many old facts were stored before and still are.
    gained: old facts that were not stored before, and are now, in words.
    impossible: facts that are proved not to fit beside those that come before them, in words; 'refit' alone proves it.
    obstructions: simple reasons why they do not.
    proved: whether every fact that is said to be stored is proved to be and, with 'refit', every other not to fit.
    averaged: new names whose vector is the mean of the vectors of their words.
    missing: names that have no vector.
    seconds: time taken.
    """

    book: Book
    method: str
    taken: tuple[Change, ...]
    missed: tuple[Change, ...]
    left_out: tuple[Change, ...]
    lost: tuple[Failure, ...]
    kept: int
    gained: tuple[str, ...]
    impossible: tuple[str, ...]
    obstructions: tuple[Obstruction, ...]
    proved: bool
    averaged: tuple[str, ...]
    missing: tuple[str, ...]
    seconds: float

    __repr__ = readable


def edit(
    book: Book,
    changes: Any,
    method: str = "refit",
    vectors: Source | None = None,
    columns: Columns = COLUMNS,
    phrases: str = "mean",
    words: str | Path | None = None,
    seconds: float = 60.0,
    old: float | None = None,
    progress: Progress = silent,
) -> Edited:
    """Make changes in a book, which stays as it is, and return a new one with what was lost.

    changes: as for `remember`, with an optional third column `change` or `action`: add, change or remove. Without it
        a subject that is in the book gets the new answer, and one that is not is added.
    method: 'refit', 'rank-one' or 'batch'.
    vectors: of names that the book does not hold.
    seconds: most time of a refit, about.
    old: the weight of an old fact beside that of an edit, for 'batch' (lambda in solvers/updates.py); None: such that
        an edit alone gets 90 % of the change that it asks for.
    progress: called with how many facts a refit has kept so far, and what it is doing.
    """
    choice("method", method, METHODS)
    positive("seconds", seconds)
    if old is not None and method != "batch":
        raise refuse("old", old, f"left out for the method {method}: it is for batch")
    old = None if old is None else positive("old", old)
    family = book.family
    if method != "refit" and family != "full":
        raise refuse("method", method, f"refit for a book of the family {family}, which the updates leave")
    clock = Deadline()
    draft = drafted(book, changes_of(changes, columns), vectors, phrases, words)
    facts, edits, stayed, regained = draft.facts, draft.asked(), draft.stayed(book.stored), draft.stayed(~book.stored)
    if method == "refit":
        refitted = refit(facts.arrays(), [*stayed, *edits, *regained], book.weights, seconds, family, progress)
    else:
        refitted = _updated(book, facts.arrays(), edits, method, old)
    weights, impossible = refitted.weights, refitted.impossible
    rivals, margins = rivals_of(weights, facts)
    stored = margins > 0
    subspace = subspace_of(family, len(weights))
    proved = not refitted.undecided and facts.are_stored(np.flatnonzero(stored), weights, subspace)
    seen = obstructions(facts, impossible, _FOR_REASONS * seconds) if impossible else []
    reasons = [reason for reason in seen if {*reason.facts} & {*impossible}]
    holds = [row is None or bool(stored[row]) for row in draft.rows]
    lost = np.array([row for row in stayed if not stored[row]], int)
    after = facts.book(weights, stored, {})
    edited = Edited(
        book=after,
        method=method,
        taken=tuple(compress(draft.changes, holds)),
        missed=tuple(change for change, taken in zip(draft.changes, holds) if not taken),
        left_out=draft.left_out,
        lost=tuple(after.lost(lost, rivals[lost], margins[lost])),
        kept=len(stayed) - len(lost),
        gained=tuple(facts.name(row) for row in regained if stored[row]),
        impossible=tuple(facts.names(impossible)),
        obstructions=tuple(reasons),
        proved=proved,
        averaged=facts.averaged,
        missing=tuple(name for name, _ in facts.missing),
        seconds=clock.taken,
    )
    conflicts = [facts.names(reason.facts) for reason in reasons if not reason.to_rounding]
    about = _about(book, edited, conflicts, proved and (method == "refit" or bool(stored.all())))
    return replace(edited, book=replace(after, about=about))


def _updated(book: Book, facts: Arrays, edits: list[int], method: str, old: float | None) -> Refitted:
    """W after a rank-one or batch update, which proves nothing about the facts that it does not store."""
    margin = typical_margin(book)
    with one_thread():
        if method == "batch":
            weights = all_at_once(book.weights, facts, edits, margin, old)
        else:
            weights = one_at_a_time(book.weights, facts, edits, margin)
    return Refitted(weights, (), (), ())


def typical_margin(book: Book) -> float:
    """The median margin of the stored facts; if there are none, the standard deviation of scores, or 1 for W = 0."""
    if book.stored.any():
        return float(np.median(margins_of(book.weights, book, np.flatnonzero(book.stored))))
    ((_, scores),) = scores_of(book.weights, book, [0])
    return float(scores.std()) or 1.0


def _about(book: Book, edited: Edited, conflicts: list[list[str]], proved: bool) -> dict[str, object]:
    """The book's `about` with one more edit. What was proved of the old facts is not proved of the new ones."""
    before = book.about.get("edits")
    edit = {
        "method": edited.method, "seconds": round(edited.seconds, 3), "taken": [*map(str, edited.taken)],
        "missed": [*map(str, edited.missed)], "lost": [f"{fact.subject} -> {fact.answer}" for fact in edited.lost],
    }  # fmt: skip
    return dict(book.about) | {
        "loadstone": loadstone.__version__, "proved": proved, "impossible": list(edited.impossible),
        "conflicts": conflicts, "edits": [*(before if isinstance(before, list) else []), edit],
    }  # fmt: skip
