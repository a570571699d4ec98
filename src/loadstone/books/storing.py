"""Store facts in a book: all of them if any W can, with proof; otherwise as many as are found.

If not all can be stored, the facts that a search leaves out are put aside until the others are stored. Each is then
tried again beside all that are. What stays out is proved not to fit beside the rest, if time allows.

Arrays go into a search in NumPy, and a proof confirms the W that comes out. Only where passes are so long that
compiling them pays, or on an accelerator, a problem for JAX is made of the arrays.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Float64, Int

import loadstone
from loadstone.arguments import positive
from loadstone.books.book import Book, Failure
from loadstone.books.gathered import Gathered, gather
from loadstone.books.reading import COLUMNS, Columns
from loadstone.books.screening import Obstruction, obstructions
from loadstone.books.vectors import Source
from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of, written_family
from loadstone.memories.full import Full
from loadstone.memories.memory import Memory
from loadstone.memories.projected import Projected
from loadstone.problems.numpy_pass import margins_of, rivals_of, seconds_of_rivals
from loadstone.progress import Progress, silent
from loadstone.proofs.conditioned import Conditioned
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.solvers import lbfgs_numpy
from loadstone.solvers.conflict import Conflict, conflict_in
from loadstone.solvers.decide import decide
from loadstone.solvers.lbfgs_numpy import is_plain
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.solvers.weighted import seconds_a_pass, store_most

#: A conflict is reduced, and simple reasons are looked for, for at most these shares of the time.
_FOR_CONFLICT, _FOR_SCREENING = 0.25, 0.1
#: With fewer products a pass, or at a smaller dimension, verdicts come soon, whatever they say (solvers/decide.py).
_SMALL, _FEW_DIMENSIONS = 10**7, 60
_MOST_PASSES = 1000
#: With fewer products a pass takes less than half a second, and it is not worth while to foresee how long.
_LONG = 10**10
#: A search for a W that stores everything takes so many passes, give or take a factor of two. If time does not allow
#: them, there is no such search.
_USUAL_PASSES = 60
#: A search in fewer passes than this is not worth while.
_FEWEST_PASSES = 10
#: Shares of the time for a search that stores everything, and for one that stores as many facts as possible.
_FOR_ALL, _FOR_MOST = 0.4, 0.5
#: A search for most facts leaves so many times the time that it is expected to take to see which facts it has stored.
_FOR_SCORES = 1.3
#: So many violated facts are put aside at once.
_FEW = 8


@dataclass(frozen=True)
class Stored:
    """What came of storing facts.

    book: the book.
    proved: whether every fact is proved to be stored, or not to fit beside those that are.
    impossible: rows of the facts that are proved not to fit.
    obstructions: what screening found.
    conflict: facts that cannot stand together, if not everything fits and time allowed to find them.
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


def store(gathered: Gathered, seconds: float = 60.0, family: str = "full", progress: Progress = silent) -> Stored:
    """Store facts in a W of a linear family.

    seconds: most time, about. When it is up, the best W so far is kept, and nothing more is proved.
    progress: called with how many facts are stored so far, and what is being done.
    """
    return _Storing(gathered, positive("seconds", seconds), family, progress).done()


def remember(
    pairs: Any,
    vectors: Source,
    *,
    columns: Columns = COLUMNS,
    phrases: str = "mean",
    seconds: float = 60.0,
    family: str = "full",
) -> Book:
    """A book of facts: `remember([("France", "Paris"), ...], vectors).recall("France")`.

    pairs: a file (CSV, TSV, JSON lines, Parquet), a table of pandas or polars, a mapping, or pairs of words.
    vectors: a file (GloVe or word2vec, .npz, .npy, .safetensors), a mapping from words to vectors, or a function.
    See `gather` and `store` for the rest.
    """
    return store(gather(pairs, vectors, columns, phrases), seconds, family).book


class _Storing:
    """Facts on their way into a book. `kept` are the rows that `weights` stores, or is to store; `is_proved` says that
    it does store them, beyond rounding."""

    def __init__(self, gathered: Gathered, seconds: float, family: str, progress: Progress) -> None:
        self.gathered, self.family, self.progress = gathered, written_family(family), progress
        self.deadline = Deadline(seconds)
        d = gathered.inputs.shape[1]
        self.subspace = subspace_of(family, d)  # refuses a family that there is not
        self.weights = np.zeros((d, d))
        self.kept: list[int] = []
        self.is_proved = False
        self.impossible: list[int] = []
        self.obstructions: list[Obstruction] = []
        self.pass_seconds = self.score_seconds = 0.0
        self.scored: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def done(self) -> Stored:
        g = self.gathered
        self.obstructions = obstructions(g)
        out = {row for obstruction in self.obstructions for row in obstruction.left_out}
        self.kept = [row for row in range(len(g)) if row not in out]
        self.progress(0, self._forecast())
        self._try_again(sorted(out) + self._store_most())
        rivals, margins = self._scores()
        stored = margins > 0
        undecided = set(np.flatnonzero(~stored).tolist()) - set(self.impossible)
        proved, conflict = (self.is_proved or not self.kept) and not undecided, self._conflict()
        taken = self.deadline.taken
        about = {
            "loadstone": loadstone.__version__, "family": self.family, "seconds": round(taken, 3), "proved": proved,
            "repeated": g.repeated, "averaged": list(g.averaged), "out_of_vocabulary": [name for name, _ in g.missing],
            "impossible": [g.name(row) for row in self.impossible],
            "conflicts": [[g.name(row) for row in why.facts] for why in (*self.obstructions, conflict) if why],
        }  # fmt: skip
        book = Book(self.weights, g.subjects, g.answers, g.targets, g.inputs, g.outputs, stored, about)
        failures = book.lost(lost := np.flatnonzero(~stored), rivals[lost], margins[lost])
        return Stored(book, proved, tuple(self.impossible), tuple(self.obstructions), conflict, tuple(failures), taken)

    def _forecast(self) -> str:
        """What is going to be done, and how long it takes."""
        facts, seconds = f"storing {len(self.kept)} facts", self.deadline.seconds
        if len(self.kept) * self.gathered.outputs.size < _LONG:
            return facts
        self.pass_seconds = seconds_a_pass(self.gathered.problem())
        self.score_seconds = seconds_of_rivals(np.eye(len(self.weights)), self.gathered)
        if not self._has_time_for_all():
            return (
                f"{facts}: a pass over them takes {self.pass_seconds:.2g} s, so {seconds:g} s are too few to look "
                "for a W that stores all; as many as possible will be stored"
            )
        expected = min(seconds, _USUAL_PASSES * self.pass_seconds)
        return f"{facts}: about {expected:.2g} s if all can be stored, at most {seconds:g} s"

    def _has_time_for_all(self) -> bool:
        return _USUAL_PASSES * self.pass_seconds < self.deadline.seconds

    def _store_most(self) -> list[int]:
        """Store what is kept, or put facts aside until the rest is stored. Returns them, the least violated first."""
        if not self.kept:
            return []
        if self._is_small(self.kept):
            return self._until_stored()
        if self._has_time_for_all() and self._stores(self.kept, _FOR_ALL * self.deadline.seconds):
            return []
        left = self.deadline.left - _FOR_SCORES * self.score_seconds
        seconds = left if not self._has_time_for_all() else min(left, _FOR_MOST * self.deadline.seconds)
        self.weights = self._best_of_rounds(max(1e-3, seconds))
        margins = self._scores()[1]
        best_first = sorted(self.kept, key=lambda row: -margins[row])
        stored = int((margins[self.kept] > 0).sum())
        self.kept, aside = best_first[:stored], best_first[stored:]
        if not self.deadline.is_over:
            seconds = min(self.deadline.left, _FOR_SCREENING * self.deadline.seconds)
            self.obstructions = obstructions(self.gathered, aside, seconds)
        enough = self.deadline.left > _FEWEST_PASSES * self.pass_seconds
        self.is_proved = enough and (self._witnesses(self.kept) or self._stores(self.kept))
        return aside

    def _until_stored(self) -> list[int]:
        """Leave out facts until a verdict says that the rest is stored. Returns them, the least violated first.

        Far above capacity the minimum of the loss recalls much less than could be stored, so only the worse half of
        what it violates goes at a time.
        """
        aside: list[int] = []
        while self.kept and not self._stores(self.kept) and not self.deadline.is_over:
            margins = dict(zip(self.kept, margins_of(self.weights, self.gathered, self.kept)))
            violated = sorted((row for row in self.kept if margins[row] <= 0), key=margins.__getitem__)
            if not aside:
                self.obstructions = obstructions(self.gathered, violated, _FOR_SCREENING * self.deadline.seconds)
            # None is violated if the least margin is not beyond rounding: then that fact has to go.
            worst = violated or [min(self.kept, key=margins.__getitem__)]
            worst = worst if len(worst) <= _FEW else worst[: len(worst) // 2]
            aside = worst[::-1] + aside
            gone = set(worst)
            self.kept = [row for row in self.kept if row not in gone]
        return aside

    def _try_again(self, aside: Sequence[int]) -> None:
        """Add facts to those that are kept, as many at a time as fit; what does not fit alone is impossible."""
        named = {row for obstruction in self.obstructions for row in obstruction.facts}
        waiting = deque([[row for row in aside if not (row in named and self._is_obstructed(row))]])
        while waiting and self.is_proved and self.deadline.left > _FEWEST_PASSES * self.pass_seconds:
            group = waiting.popleft()
            if not group:
                continue
            self.progress(len(self.kept), f"{len(self.kept)} facts are stored; trying {len(group)} more")
            before = self.weights
            if self._stores([*self.kept, *group]):
                self.kept += group
                continue
            self.weights, self.is_proved = before, True
            if len(group) > 1:
                half = len(group) // 2
                waiting.extendleft([group[half:], group[:half]])
            elif self._decided([*self.kept, *group]).verdict == Outcome.NOT_STORABLE:
                self.impossible += group

    def _is_obstructed(self, row: int) -> bool:
        """Whether a reason that was seen at once keeps a fact from standing beside those that are kept."""
        present, reasons = {*self.kept, row}, [reason for reason in self.obstructions if row in reason.facts]
        if not self.deadline.is_over and any(reason.is_proved(self.gathered, present) for reason in reasons):
            self.impossible.append(row)
            return True
        return False

    def _stores(self, rows: Collection[int], seconds: float = math.inf) -> bool:
        """Search for a W that stores these facts, and leave it in `weights`, or the best that the search found."""
        if self._is_small(rows):
            verdict = self._decided(rows)
            self.weights, self.is_proved = _best(verdict), verdict.verdict == Outcome.STORABLE
            return self.is_proved
        limits = Limits(_MOST_PASSES, max(1e-3, min(seconds, self.deadline.left)))
        self.weights, status = self._search(rows, limits)
        self.is_proved = status == Status.STORED and self._witnesses(rows)
        return self.is_proved

    def _search(self, rows: Collection[int], limits: Limits) -> tuple[Float64[np.ndarray, "d d"], Status]:
        """The W that a search for one with positive margins got to, and why it ended."""
        if is_plain(len(self.gathered), *self.gathered.outputs.shape):
            start = self.weights.astype(np.float32)
            solution = lbfgs_numpy.store(self.gathered.arrays(rows), start, limits, self.subspace)
            weights = np.asarray(solution.memory.weights, np.float64)
            return weights if self.subspace is None else self.subspace.projected(weights), solution.status
        # Facts that occur twice ask for nothing new, and one length means one compiled program.
        asked = np.resize(np.fromiter(rows, int, len(rows)), len(self.gathered))
        solution = solve(self.gathered.problem(asked), self._memory(), stop="exact", limits=limits)
        return np.asarray(solution.memory.matrix(), np.float64), solution.status

    def _best_of_rounds(self, seconds: float) -> Float64[np.ndarray, "d d"]:
        """A W that stores as many of the facts that are kept as are found in this time."""
        problem = self.gathered.problem(self.kept)
        memory = store_most(problem, self._memory(), seconds, self.progress, self.pass_seconds or None)
        return np.asarray(memory.matrix(), np.float64)

    def _memory(self) -> Memory:
        """W as a memory of the family, for a search."""
        single = jnp.asarray(self.weights.astype(np.float32))
        return Full(single) if self.subspace is None else Projected.made(single, self.subspace)

    def _witnesses(self, rows: Collection[int]) -> bool:
        """Whether W stores these facts beyond rounding."""
        return bool(rows) and Conditioned(self.gathered.arrays(rows), self.subspace).witness(self.weights) is not None

    def _conflict(self) -> Conflict | None:
        """The facts against which the first impossible fact that has no simple reason cannot stand."""
        simple = {row for obstruction in self.obstructions for row in obstruction.facts}
        for row in self.impossible:
            if row not in simple:
                rows = [*self.kept, row]
                what = f"looking for the facts that leave no room for {self.gathered.name(row)}"
                self.progress(len(self.kept), what)
                left = max(1e-3, min(self.deadline.left, _FOR_CONFLICT * self.deadline.seconds))
                part = conflict_in(self.gathered.arrays(rows), None, seconds=left, family=self.family)
                return part and Conflict(tuple(rows[fact] for fact in part.facts), part.proof, part.minimal)
        return None

    def _is_small(self, rows: Collection[int]) -> bool:
        """Whether verdicts on these facts come soon."""
        return len(rows) * self.gathered.outputs.size < _SMALL or len(self.weights) < _FEW_DIMENSIONS

    def _decided(self, rows: Collection[int]) -> Verdict:
        start = self.weights if self.weights.any() else None
        return decide(self.gathered.arrays(rows), start=start, seconds=self.deadline.share(1.0), family=self.family)

    def _scores(self) -> tuple[Int[np.ndarray, "n"], Float[np.ndarray, "n"]]:
        """The rival and the margin of every fact. To look twice at the same W would take too long for many facts."""
        if self.scored is None or self.scored[0] is not self.weights:
            self.scored = self.weights, *rivals_of(self.weights, self.gathered)
        return self.scored[1:]


def _best(verdict: Verdict) -> Float[np.ndarray, "d d"]:
    weights = verdict.witness if verdict.witness is not None else verdict.last
    assert weights is not None
    return weights
