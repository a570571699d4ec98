"""Store facts again after some of them have changed, those first that come first.

The search starts from the W that there is. All facts are tried first. If they do not fit, a bisection finds
the first that does not fit beside those before it; it stays out, and the others go on. So each fact is kept exactly if
it fits beside all that were kept before it, as far as verdicts are found in time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64

from loadstone.arguments import positive
from loadstone.memories.families import subspace_of
from loadstone.problems.arrays import Arrays
from loadstone.proofs.conditioned import Conditioned
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import decide, is_compiled

#: A verdict may take this share of the time that is left, so that one hard fact does not use up that of all others.
_OF_THE_REST = 0.5


@dataclass(frozen=True)
class Refitted:
    """What came of it.

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
    tell: Callable[[str], None] = lambda what: None,
) -> Refitted:
    """Keep the facts that fit, one after the other.

    order: rows of `facts`, those first that matter most.
    start: the W that there is.
    seconds: most time, about; None: no limit.
    """
    if seconds is not None:
        positive("seconds", seconds)
    search = _Refitting(facts, np.asarray(start, np.float64), seconds, family, tell)
    search.keep(order)
    rest = {*order} - {*search.kept, *search.impossible}
    return Refitted(search.weights, tuple(search.kept), tuple(search.impossible), tuple(sorted(rest)))


class _Refitting:
    """`weights` stores the facts in `kept`, beyond rounding."""

    def __init__(
        self,
        facts: Arrays,
        weights: Float64[np.ndarray, "d d"],
        seconds: float | None,
        family: str,
        tell: Callable[[str], None],
    ) -> None:
        self.facts, self.weights, self.family, self.tell = facts, weights, family, tell
        self.end = math.inf if seconds is None else time.perf_counter() + seconds
        self.kept: list[int] = []
        self.impossible: list[int] = []

    def keep(self, order: Sequence[int]) -> None:
        """Go through the facts. `fails` is how many of those that wait cannot all be added, if that is known, and
        `why` the verdict that says so."""
        waiting, size, fails, why = list(order), len(order), 0, Outcome.UNDECIDED
        while waiting and self._left() > 0:
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

    def _tried(self, rows: list[int]) -> Outcome:
        """Whether these facts can be stored; if they can, `weights` stores them from now on."""
        subspace = subspace_of(self.family, len(self.weights))
        if Conditioned(self._part(rows), subspace).witness(self.weights) is not None:
            return Outcome.STORABLE
        self.tell(f"searching for a W that stores {len(rows)} facts")
        left = None if math.isinf(self.end) else max(1e-3, _OF_THE_REST * self._left())
        start = self.weights if self.weights.any() else None
        verdict = decide(self._searched(rows), start=start, seconds=left, family=self.family)
        if verdict.witness is not None:
            self.weights = verdict.witness
        return verdict.verdict

    def _searched(self, rows: list[int]) -> Arrays:
        # Facts that occur twice ask for nothing new, and one number of facts means one compiled program.
        return self._part(np.resize(rows, len(self.facts.targets)).tolist() if is_compiled(self.facts) else rows)

    def _part(self, rows: list[int]) -> Arrays:
        return Arrays(self.facts.inputs[rows], self.facts.outputs, self.facts.targets[rows])

    def _left(self) -> float:
        return self.end - time.perf_counter()
