"""Store facts in a book: all of them if any W can, with proof; otherwise as many as a search stores.

If not all can be stored, the facts that a search leaves out are put aside until the others are stored. Each is then
tried again beside these. What stays out is proved not to fit beside the rest, if time allows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

import loadstone
from loadstone.arguments import positive
from loadstone.books.book import Book, Failure
from loadstone.books.gathered import Gathered, gather
from loadstone.books.reading import COLUMNS, Columns
from loadstone.books.screening import Obstruction, obstructions
from loadstone.books.searching import Search
from loadstone.books.vectors import Source
from loadstone.problems.numpy_pass import margins_of
from loadstone.progress import Progress, silent
from loadstone.proofs.verdict import Outcome
from loadstone.readable import readable
from loadstone.solvers.conflict import Conflict, conflict_in

#: A conflict is reduced, and simple reasons are looked for, for at most these shares of the time.
_FOR_CONFLICT, _FOR_SCREENING = 0.25, 0.1
#: A search for a W that stores everything takes about this many passes, to a factor of two. Without time for them, it
#: is not tried.
_USUAL_PASSES = 60
#: A search in fewer passes than this is not worth while.
_FEWEST_PASSES = 10
#: Shares of the time for a search that stores everything, and for one that stores as many facts as possible.
_FOR_ALL, _FOR_MOST = 0.4, 0.5
#: A search for as many facts as possible leaves this many times the expected time of checking which ones it stored.
_FOR_RIVALS = 1.3
#: At most this many violated facts are put aside all together; of more, only the worse half.
_FEW = 8


@dataclass(frozen=True)
class Stored:
    """The result of storing facts.

    book: the book.
    proved: whether every fact is proved to be stored, or not to fit beside those that are.
    impossible: rows of the facts that are proved not to fit.
    obstructions: what screening found.
    conflict: facts that cannot be stored together, if not everything fits and time allowed to find them.
    failures: the facts that are not stored, each with the answer that wins instead.
    seconds: time taken.
    """

    book: Book
    proved: bool
    impossible: tuple[int, ...]
    obstructions: tuple[Obstruction, ...]
    conflict: Conflict | None
    failures: tuple[Failure, ...]
    seconds: float

    __repr__ = readable


def store(gathered: Gathered, seconds: float = 60.0, family: str = "full", progress: Progress = silent) -> Stored:
    """Store facts in a W of a linear family.

    seconds: most time, about. When it is up, the best W so far is kept, and nothing more is proved.
    progress: called with how many facts are stored so far, and what is being done.
    """
    return _Storing(Search(gathered, family, positive("seconds", seconds)), progress).done()


def remember(
    pairs: Any,
    vectors: Source,
    *,
    columns: Columns = COLUMNS,
    phrases: str = "mean",
    seconds: float = 60.0,
    family: str = "full",
) -> Book:
    """A book of facts: as many as fit, with proof.

    pairs: a file (CSV, TSV, JSON lines, Parquet), a table of pandas or polars, a mapping, or pairs of words.
    vectors: a file (GloVe or word2vec, .npz, .npy, .safetensors), a mapping from words to vectors, or a function.
    columns: of a file or a table, where subjects and answers are.
    phrases: 'mean' gives a name without a vector the mean of the vectors of its words, 'exact' leaves it out.
    seconds: most time, about.
    family: linear family of W, such as 'symmetric'.

    Example:
        >>> vectors = {"France": [1, 0, 2], "Peru": [0, 1, 1], "Paris": [1, 1, 0], "Lima": [0, 2, 1]}
        >>> book = loadstone.remember({"France": "Paris", "Peru": "Lima"}, vectors)
        >>> book
        <Book: 2 of 2 facts stored (proved), 2 answers, d = 3>
        >>> book.recall("Peru")[0].answer
        'Lima'
    """
    return store(gather(pairs, vectors, columns, phrases), seconds, family).book


class _Storing:
    """The storing of facts in a book. `kept` are the rows that W stores, or is to store; `is_proved` says whether it is
    proved to store them."""

    def __init__(self, search: Search, progress: Progress) -> None:
        self.search, self.gathered, self.deadline = search, search.gathered, search.deadline
        self.progress = progress
        self.obstructions = obstructions(self.gathered)
        self.left_out = sorted({row for reason in self.obstructions for row in reason.left_out})
        self.kept = np.delete(np.arange(len(self.gathered)), self.left_out).tolist()
        self.is_proved = False
        self.impossible: list[int] = []

    def done(self) -> Stored:
        self.search.foresee(len(self.kept))
        self.progress(0, self._forecast())
        aside = self._by_verdicts() if self.search.is_small(self.kept) else self._by_rounds()
        self._try_again([*self.left_out, *aside])
        rivals, margins = self.search.rivals()
        lost = np.flatnonzero(~(stored := margins > 0))
        proved = (self.is_proved or not self.kept) and {*lost.tolist()} <= {*self.impossible}
        conflict, g = self._conflict(), self.gathered
        taken = self.deadline.taken
        reasons = (*(reason for reason in self.obstructions if not reason.to_rounding), conflict)
        about = {
            "loadstone": loadstone.__version__, "family": self.search.family, "seconds": round(taken, 3),
            "proved": proved, "repeated": g.repeated, "averaged": list(g.averaged),
            "out_of_vocabulary": [name for name, _ in g.missing], "impossible": g.names(self.impossible),
            "conflicts": [g.names(reason.facts) for reason in reasons if reason],
        }  # fmt: skip
        book = g.book(self.search.weights, stored, about)
        failures = tuple(book.lost(lost, rivals[lost], margins[lost]))
        return Stored(book, proved, tuple(self.impossible), tuple(self.obstructions), conflict, failures, taken)

    def _forecast(self) -> str:
        """A sentence on what will be done, and how long it takes."""
        facts, each, seconds = f"storing {len(self.kept)} facts", self.search.pass_seconds, self.deadline.seconds
        if not each:
            return facts
        if not self._has_time_for_all():
            return (
                f"{facts}: a pass over them takes {each:.2g} s, so {seconds:g} s are too few to look "
                "for a W that stores all; as many as possible will be stored"
            )
        return f"{facts}: about {min(seconds, _USUAL_PASSES * each):.2g} s if all can be stored, at most {seconds:g} s"

    def _has_time_for_all(self) -> bool:
        return _USUAL_PASSES * self.search.pass_seconds < self.deadline.seconds

    def _has_time_for_more(self) -> bool:
        return self.deadline.left > _FEWEST_PASSES * self.search.pass_seconds

    def _by_verdicts(self) -> list[int]:
        """Put facts aside until a verdict says that the rest is stored. Returns them, the least violated first.

        Far above capacity the minimum of the loss recalls much less than could be stored, so only the worse half of the
        violated facts is put aside at a time.
        """
        aside: list[int] = []
        while self.kept:
            self.is_proved = self.search.tried(self.kept) == Outcome.STORABLE
            if self.is_proved or self.deadline.is_over:
                break
            margins = dict(zip(self.kept, margins_of(self.search.weights, self.gathered, self.kept)))
            worst_first = sorted(self.kept, key=margins.__getitem__)
            violated = [row for row in worst_first if margins[row] <= 0]
            if not aside:
                self.obstructions = obstructions(self.gathered, violated, _FOR_SCREENING * self.deadline.seconds)
            # None is violated if the least margin is within rounding of zero: then that fact has to go.
            worst = violated[: len(violated) // 2] if len(violated) > _FEW else violated or worst_first[:1]
            aside = worst[::-1] + aside
            self.kept = sorted({*self.kept} - {*worst})
        return aside

    def _by_rounds(self) -> list[int]:
        """Store everything by a search, or else as much as possible. Returns the rest, the least violated first."""
        has_time, seconds = self._has_time_for_all(), self.deadline.seconds
        if has_time and self.search.tried(self.kept, _FOR_ALL * seconds) == Outcome.STORABLE:
            self.is_proved = True
            return []
        left = self.deadline.left - _FOR_RIVALS * self.search.rivals_seconds
        self.search.store_most(self.kept, min(left, _FOR_MOST * seconds) if has_time else left, self.progress)
        margins = self.search.rivals()[1]
        best_first = sorted(self.kept, key=lambda row: -margins[row])
        stored = int((margins[self.kept] > 0).sum())
        self.kept, aside = best_first[:stored], best_first[stored:]
        if not self.deadline.is_over:
            seconds = min(self.deadline.left, _FOR_SCREENING * seconds)
            self.obstructions = obstructions(self.gathered, aside, seconds)
        if self.kept and self._has_time_for_more():
            self.is_proved = self.search.is_proved(self.kept) or self.search.tried(self.kept) == Outcome.STORABLE
        return aside

    def _try_again(self, aside: list[int]) -> None:
        """Add facts to those that are kept, as many at a time as fit; what does not fit alone is impossible. Where none
        is kept, as if the minimum of the loss is W = 0, there is nothing to prove."""
        self.is_proved = self.is_proved or not self.kept
        waiting = deque([[row for row in aside if not self._is_obstructed(row)]])
        while waiting and self.is_proved and self._has_time_for_more():
            group = waiting.popleft()
            if not group:
                continue
            self.progress(len(self.kept), f"{len(self.kept)} facts are stored; trying {len(group)} more")
            before, rows = self.search.weights, [*self.kept, *group]
            outcome = self.search.tried(rows)
            if outcome == Outcome.UNDECIDED and len(group) == 1 and not self.search.is_small(rows):
                self.search.weights = before
                outcome = self.search.tried(rows, by_verdict=True)
            if outcome == Outcome.STORABLE:
                self.kept = rows
                continue
            self.search.weights = before
            if len(group) > 1:
                half = len(group) // 2
                waiting.extendleft([group[half:], group[:half]])
            elif outcome == Outcome.NOT_STORABLE:
                self.impossible += group

    def _is_obstructed(self, row: int) -> bool:
        """Whether a known obstruction proves that a fact does not fit beside those that are kept."""
        reasons = [] if self.deadline.is_over else [reason for reason in self.obstructions if row in reason.facts]
        if any(reason.is_proved(self.gathered, {*self.kept, row}) for reason in reasons):
            self.impossible.append(row)
            return True
        return False

    def _conflict(self) -> Conflict | None:
        """The conflict of the first impossible fact that no obstruction explains."""
        simple = {row for reason in self.obstructions for row in reason.facts}
        row = next((row for row in self.impossible if row not in simple), None)
        if row is None:
            return None
        rows, seconds = [*self.kept, row], min(self.deadline.left, _FOR_CONFLICT * self.deadline.seconds)
        self.progress(len(self.kept), f"looking for the facts that leave no room for {self.gathered.name(row)}")
        part = conflict_in(self.gathered.arrays(rows), seconds=max(1e-3, seconds), family=self.search.family)
        return part and Conflict(tuple(rows[fact] for fact in part.facts), part.proof, part.minimal)
