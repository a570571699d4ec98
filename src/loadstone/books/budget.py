"""How full a book is: by the law, by a shuffled control, and exactly for facts that someone would like to add.

Only this file of the room uses the theory: the law stands beside what is measured, and tells searches where to begin.
What these find is proved, wherever they begin.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from loadstone.arguments import positive, whole
from loadstone.books.further import FurtherFacts, fit_further
from loadstone.books.gathered import Gathered
from loadstone.books.largest import Fitting
from loadstone.books.shuffled import Control, shuffled_control
from loadstone.deadline import Deadline
from loadstone.problems.moderate import moderate
from loadstone.progress import Progress, silent
from loadstone.readable import readable
from loadstone.theory.given_facts import Law, given_facts_law

if TYPE_CHECKING:
    from loadstone.books.book import Book

#: Further facts may take this share of the time, and the shuffled control has the rest.
_FOR_MORE = 0.6
#: Rounding makes singular values of about eps (sqrt n + sqrt d) times the numbers; those larger by this factor count.
_ABOVE_ROUNDING = 4.0


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
    more: FurtherFacts | None
    seconds: float

    __repr__ = readable

    def described(self) -> dict[str, object]:
        """The budget as JSON holds it."""
        law = asdict(self.law) | {"caveats": list(self.law.caveats)}
        shuffled = None if self.shuffled is None else _control(self.shuffled, self.stored == self.facts)
        more = None if self.more is None else _further(self.more)
        numbers = {"facts": self.facts, "stored": self.stored}
        return numbers | {"law": law, "shuffled": shuffled, "more": more, "seconds": self.seconds}


def budget_of(
    book: Book,
    more: Gathered | None = None,
    seconds: float = 60.0,
    shuffles: int = 3,
    progress: Progress = silent,
) -> BookBudget:
    """How full a book is, as a `BookBudget`.

    more: further facts.
    seconds: most time, about; what is not decided by then is left open between two proved bounds.
    shuffles: how many shuffles to try; 0 leaves the control out.
    progress: called with how many shuffles are done, and what is being done.
    """
    seconds, shuffles = positive("seconds", seconds), whole("shuffles", shuffles, 0)
    deadline = Deadline(seconds)
    law = _law(book)
    stored = int(book.stored.sum())
    # A verdict that facts fit takes less time than one that they do not, so the search begins below a mere bound.
    room = (law.capacity or 2 * book.weights.shape[0]) * (0.5 if law.is_bound or law.capacity is None else 1.0)
    further = None
    if more is not None:
        progress(0, f"how many of {len(more)} further facts fit")
        part = Deadline(_FOR_MORE * seconds - deadline.taken)
        further = fit_further(book, more, max(1.0, room - stored), part, book.family)
    control = shuffled_control(book, shuffles, room, deadline, book.family, progress) if shuffles else None
    return BookBudget(len(book), stored, law, control, further, deadline.taken)


def _law(book: Book) -> Law:
    """The law for facts like those that are stored."""
    m, d = len(book.answers), book.weights.shape[0]
    counts = np.bincount(book.targets[book.stored], minlength=m)
    outputs = dimensions(book.outputs, min(d, m - 1), centred=True)
    return given_facts_law(counts, d, dimensions(book.inputs, d), outputs, book.family)


def dimensions(vectors: Float[np.ndarray, "n d"], most: int, centred: bool = False) -> int:
    """How many directions, at most `most`, vectors span beyond rounding; `centred` means about their mean. If there are
    too few vectors to tell, it is `most`."""
    doubles, (n, d) = moderate(vectors)[0].astype(np.float64), vectors.shape
    sizes = np.linalg.svd(doubles - doubles.mean(axis=0) if centred else doubles, compute_uv=False)
    # Of the numbers themselves, and of the computation in float64.
    relative = np.finfo(vectors.dtype).eps * (np.sqrt(n) + np.sqrt(d)) + np.finfo(np.float64).eps * np.sqrt(n * d)
    rounding = relative * np.sqrt(np.mean(doubles**2))
    dimension = max(1, int((sizes > _ABOVE_ROUNDING * rounding).sum()))
    return most if dimension >= min(most, len(np.unique(doubles, axis=0)) - centred) else dimension


def _control(control: Control, all_stored: bool) -> dict[str, object]:
    least, most = control.structure
    return {
        "facts": control.facts,
        "fits": control.fits,
        "most": control.most,
        "decided": control.is_decided,
        "shuffles": [_fitting(shuffle) for shuffle in control.shuffles],
        "structure_least": least,
        "structure_most": most,
        "more_may_fit": all_stored,
    }


def _further(further: FurtherFacts) -> dict[str, object]:
    names = ("first_out", "known", "new_answers", "conflict", "conflict_minimal")
    rest = {name: getattr(further, name) for name in names} | {"conflict": list(further.conflict)}
    return _fitting(further.fitting) | rest | {"proved": further.proved and further.fitting.is_exact}


def _fitting(fitting: Fitting) -> dict[str, object]:
    return asdict(fitting) | {"most": fitting.most, "all_fit": fitting.fits == fitting.count, "exact": fitting.is_exact}
