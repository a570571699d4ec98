"""Store facts again after some of them have changed, in the order of their priority.

The search starts from the W that there is. What it stores already, up to the first fact that it does not, is kept. Then
all others are tried. If they do not fit, a bisection finds the first that does not fit beside those before it; it stays
out, and the others go on. So each fact is kept exactly if it fits beside all that were kept before it, as far as
verdicts are found in time.

A search that is not finished in time is not lost. If its W stores all that are kept, and more facts than the present
one, it takes its place at once. If facts are left undecided in the end, the W that stores most of all facts is taken,
even if it is one of an unfinished search that has lost an earlier fact: nothing says yet that this fact cannot stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float64

from loadstone.arguments import positive
from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of
from loadstone.problems.arrays import Arrays
from loadstone.problems.numpy_pass import margins_of
from loadstone.progress import Progress, silent
from loadstone.proofs.conditioned import Conditioned
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import decide, is_compiled

#: A verdict may take this share of the time that is left, so that one hard fact does not use up that of all others.
_OF_THE_REST = 0.5


@dataclass(frozen=True)
class Refitted:
    """The result of a refit.

    weights: W.
    kept: the facts that W is proved to store, in the order in which they were kept.
    impossible: those that are proved not to fit beside the facts kept before them.
    undecided: the others. Time was up, or no proof was found.
    """

    weights: Float64[np.ndarray, "d d"]
    kept: tuple[int, ...]
    impossible: tuple[int, ...]
    undecided: tuple[int, ...]


def refit(
    facts: Arrays,
    order: Sequence[int],
    start: Float[np.ndarray, "d d"],
    seconds: float | None = None,
    family: str = "full",
    progress: Progress = silent,
) -> Refitted:
    """Keep the facts that fit, one after the other.

    order: rows of `facts`, the most important first.
    start: the W that there is.
    seconds: most time, about; None: no limit.
    progress: called with how many facts are kept so far, and what is being done.
    """
    deadline = Deadline(None if seconds is None else positive("seconds", seconds))
    search = _Refitting(facts, list(order), np.asarray(start, np.float64), deadline, family, progress)
    search.keep()
    rest = {*order} - {*search.kept, *search.impossible}
    return Refitted(search.weights, tuple(search.kept), tuple(search.impossible), tuple(sorted(rest)))


class _Refitting:
    """`weights` stores the facts in `kept`, beyond rounding."""

    def __init__(
        self, facts: Arrays, order: list[int], weights: Float64[np.ndarray, "d d"], deadline: Deadline, family: str,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.facts, self.order, self.weights, self.family, self.progress = facts, order, weights, family, progress
        self.deadline = deadline
        self.kept: list[int] = []
        self.impossible: list[int] = []
        self.unfinished, self.stored_by_it = weights, 0

    def keep(self) -> None:
        """Keep the facts that fit, in their order."""
        if self.deadline.is_over:
            return
        # The facts before the first that W does not store.
        stored = self._stored(self.weights)
        first = self.order[: len(self.order) if stored.all() else int(stored.argmin())]
        self.kept = first if first and self._proves(first, self.weights) else []
        self._go_through(self.order[len(self.kept) :])
        self._keep_what_is_stored()
        self._take_unfinished()

    def _go_through(self, waiting: list[int]) -> None:
        """Keep those of the waiting facts that fit. `fails`: how many of the first ones are known not to fit together,
        and `why` the verdict on them."""
        size, fails, why = len(waiting), 0, Outcome.UNDECIDED
        while waiting and not self.deadline.is_over:
            size = min(size, max(1, fails // 2)) if fails else size
            part, rest = waiting[:size], waiting[size:]
            outcome = why if fails == 1 else self._tried([*self.kept, *part])
            if outcome == Outcome.STORABLE:
                self.kept += part
                waiting, size, fails = rest, 2 * size, max(0, fails - size)
            elif len(part) > 1:
                size, fails, why = len(part) // 2, len(part), outcome
            else:
                self.impossible += part if outcome == Outcome.NOT_STORABLE else []
                waiting, fails = rest, 0

    def _keep_what_is_stored(self) -> None:
        """Keep undecided facts that W stores all the same."""
        decided = {*self.kept, *self.impossible}
        more = [row for row, stored in zip(self.order, self._stored(self.weights)) if stored and row not in decided]
        if more and self._proves([*self.kept, *more], self.weights):
            self.kept += more

    def _take_unfinished(self) -> None:
        """Where facts are undecided, take the W of the unfinished search that stores most, if that is more."""
        if len(self.kept) + len(self.impossible) < len(self.order) and self.stored_by_it > len(self.kept):
            rows = [row for row, stored in zip(self.order, self._stored(self.unfinished)) if stored]
            if self._proves(rows, self.unfinished):
                # What was impossible beside all that were kept may be possible beside these.
                self.weights, self.kept, self.impossible = self.unfinished, rows, []

    def _tried(self, rows: list[int]) -> Outcome:
        """Whether these facts can be stored; if they can, `weights` stores them from now on."""
        if self._proves(rows, self.weights):
            return Outcome.STORABLE
        self.progress(len(self.kept), f"searching for a W that stores {len(rows)} facts")
        start = self.weights if self.weights.any() else None
        seconds = self.deadline.share(_OF_THE_REST)
        # Facts that occur twice ask for nothing new, and one number of facts means one compiled program.
        searched = np.resize(rows, len(self.facts.targets)).tolist() if is_compiled(self.facts) else rows
        verdict = decide(self._part(searched), start=start, seconds=seconds, family=self.family)
        if verdict.witness is not None:
            self.weights = verdict.witness
        elif verdict.verdict == Outcome.UNDECIDED and verdict.last is not None:
            self._consider(verdict.last)
        return verdict.verdict

    def _consider(self, weights: Float64[np.ndarray, "d d"]) -> None:
        """Keep the W of an unfinished search if it stores more."""
        count = int(self._stored(weights).sum())
        if count > self.stored_by_it:
            self.unfinished, self.stored_by_it = weights, count
        more = count > int(self._stored(self.weights).sum())
        if more and self.kept and self._proves(self.kept, weights):
            self.weights = weights

    def _proves(self, rows: list[int], weights: Float64[np.ndarray, "d d"]) -> bool:
        """Whether W stores these facts beyond rounding."""
        return Conditioned(self._part(rows), subspace_of(self.family, len(weights))).witness(weights) is not None

    def _stored(self, weights: Float64[np.ndarray, "d d"]) -> Bool[np.ndarray, "k"]:
        """Which facts W stores, in their order, as computed in float64."""
        return margins_of(weights, self.facts, self.order) > 0

    def _part(self, rows: list[int]) -> Arrays:
        return Arrays(self.facts.inputs[rows], self.facts.outputs, self.facts.targets[rows])
