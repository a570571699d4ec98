"""How full a book is: by the law, by a shuffled control, and exactly for facts that someone would like to add.

This is the one file of the room that asks the theory. It sets the law beside what is measured, and begins searches with
it; what these find is proved, whatever they begin with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadstone.arguments import positive, whole
from loadstone.books.further import Beside, facts_beside
from loadstone.books.gathered import Gathered
from loadstone.books.largest import Fitting
from loadstone.books.shuffled import Control, shuffled_control
from loadstone.books.span import dimensions
from loadstone.theory.given_facts import Law, given_facts_law

if TYPE_CHECKING:
    from loadstone.books.book import Book

#: Further facts may take this share of the time, and the shuffled control has the rest.
_FOR_MORE = 0.6


@dataclass(frozen=True)
class BookBudget:
    """How full a book is.

    facts, stored: how many facts it has, and how many of them W recalls.
    law: how many random facts like these fit, by the law.
    shuffled: how many of its own facts fit when their answers are shuffled; None if it was not asked for.
    more: how many of further facts fit; None if there are none.
    seconds: time taken.
    """

    facts: int
    stored: int
    law: Law
    shuffled: Control | None
    more: Beside | None
    seconds: float

    def described(self) -> dict[str, object]:
        """All of it for JSON."""
        law = asdict(self.law) | {"caveats": list(self.law.caveats)}
        shuffled = None if self.shuffled is None else _control(self.shuffled, self.stored == self.facts)
        more = None if self.more is None else _beside(self.more)
        numbers = {"facts": self.facts, "stored": self.stored}
        return numbers | {"law": law, "shuffled": shuffled, "more": more, "seconds": self.seconds}


def budget_of(
    book: Book,
    more: Gathered | None = None,
    seconds: float = 60.0,
    shuffles: int = 3,
    tell: Callable[[str], None] = lambda what: None,
) -> BookBudget:
    """How full a book is.

    more: further facts.
    seconds: most time, about; what is not decided by then is left open between two proved bounds.
    shuffles: how many shuffles to follow; 0 leaves the control out.
    tell: called with what is being done, in words.
    """
    seconds, shuffles = positive("seconds", seconds), whole("shuffles", shuffles, 0)
    began = time.perf_counter()
    law = _law(book)
    stored = int(book.stored.sum())
    # A verdict that facts fit takes less time than one that they do not, so the search begins below a mere bound.
    room = (law.capacity or 2 * book.weights.shape[0]) * (0.5 if law.is_bound or law.capacity is None else 1.0)
    beside = None
    if more is not None:
        tell(f"how many of {len(more)} further facts fit")
        beside = facts_beside(book, more, max(1.0, room - stored), began + _FOR_MORE * seconds, book.family)
    control = shuffled_control(book, shuffles, room, began + seconds, book.family, tell) if shuffles else None
    return BookBudget(len(book), stored, law, control, beside, time.perf_counter() - began)


def _law(book: Book) -> Law:
    """The law for as many facts as are stored."""
    m, d = len(book.answers), book.weights.shape[0]
    counts = np.bincount(book.targets[book.stored], minlength=m)
    outputs = dimensions(book.outputs, min(d, m - 1), centred=True)
    return given_facts_law(counts, d, dimensions(book.inputs, d), outputs, book.family)


def _control(control: Control, all_stored: bool) -> dict[str, object]:
    least, most = control.structure
    return {
        "facts": control.facts,
        "fits": control.fits,
        "most": control.most,
        "decided": control.is_decided,
        "shuffles": [_fitting(one) for one in control.shuffles],
        "structure_least": least,
        "structure_most": most,
        "more_may_fit": all_stored,
    }


def _beside(beside: Beside) -> dict[str, object]:
    rest: dict[str, object] = {"first_out": beside.first_out, "known": beside.known, "new_answers": beside.new_answers}
    rest |= {"conflict": list(beside.conflict), "conflict_minimal": beside.conflict_minimal}
    return _fitting(beside.fitting) | rest | {"proved": beside.proved and beside.fitting.is_exact}


def _fitting(one: Fitting) -> dict[str, object]:
    return asdict(one) | {"most": one.most, "all_fit": one.fits == one.count, "exact": one.is_exact}
