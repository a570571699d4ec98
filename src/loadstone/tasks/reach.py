"""How many associations of a stream a solver stores: the largest p, by bisection."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from loadstone.arguments import whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.memories.families import initial_memory
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import Regenerated, Stored, decoupled
from loadstone.problems.facts import Facts
from loadstone.problems.grouped import grouped
from loadstone.problems.kinds import ORIGINAL, check_kind, is_grouped, sets_of_outputs
from loadstone.problems.listwise import listwise
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.problems.problem import Problem
from loadstone.problems.separate import Separate
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits, met
from loadstone.streams.stream import Stream
from loadstone.tasks.effort import Effort

#: Problems are padded to this factor times the first guess, so that one compiled program serves most of the bisection.
#: Large ones, whose capacity is known better and whose padding takes more time, have room for one step upwards.
_ROOM, _LARGE = 1.15, 1000
#: Large ones, and those of a GPU, have a multiple of so many rows: decoupled outputs are then read in whole lines of
#: memory. (H200, d = 300: 20 instead of 45 ms a pass.)
_ROWS = 128
_ONE_START = Effort()
#: How a search ends that has met its stop rule.
_ENDED = (Status.STORED, Status.STOPPED)
#: Seeds of further starts lie this far apart, where no other stream starts.
_NEXT_START = 2**32


@dataclass(frozen=True)
class Attempt:
    """One p that was tried.

    p: how many associations.
    stored: whether enough of them were stored (all, unless another stop rule was given), as measured afterwards.
    status: how the last search ended.
    passes: how many it took, all searches together.
    way: what the last search began with (tasks/effort.py).
    """

    p: int
    stored: bool
    status: Status
    passes: int
    way: str = "start 1"


@dataclass(frozen=True)
class Reach:
    """Where a solver stops storing enough. It says what was stored, not what could be.

    stored: the largest p that was stored.
    not_stored: the smallest p that was not.
    attempts: everything that was tried, in order.
    seconds: time taken.
    memory: one that stores `stored` associations; None if no search stored any.
    """

    stored: int
    not_stored: int
    attempts: tuple[Attempt, ...]
    seconds: float
    memory: Any = None


def largest_stored(
    kind: str,
    stream: Stream,
    around: int,
    kappa: float = 1.0,
    budget: Budget | None = None,
    family: str = "full",
    effort: Effort = _ONE_START,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> Reach:
    """The largest p of which a solver stores the first p associations of a stream, to a share `effort.width` of itself.

    around: the first guess; the search steps away from it by 2 %, then twice as far, and then halves the bracket.
    effort: the solver, what it begins with, how long a search may take, and how closely the largest p is sought. With
        more than one start, the search goes on upwards from what the first start of each p has stored, as long as one
        of the starts stores the next p.
    answers, frequencies: how many outputs there are, and how often each is a target (frequencies.py).
    """
    kind = check_kind(kind, "kind")
    prefixes = PaddedPrefixes(kind, stream, whole("around", around, 4), budget, answers, frequencies)
    began, attempts = time.perf_counter(), list[Attempt]()

    limits, best = Limits(effort.passes), None
    first = effort.one_start
    rivals, rule, precision, stored_by = effort.rivals, effort.enough, effort.digits, dict[int, Any]()

    def initial(number: int) -> Any:
        return initial_memory(stream.d, kappa, (stream.seed + number * _NEXT_START) % 2**64, family)

    def attempt(p: int, effort: Effort = first) -> bool:
        nonlocal best
        problem, taken = prefixes.of(p), 0
        if rivals > 1:
            problem = listwise(problem, min(rivals, p - 2))
        for start in effort.all_starts(problem, initial, limits, best):
            found = solve(problem, start.memory, start.solver, rule, limits, precision)
            taken += found.passes
            # Not of p: where padding repeats facts, the rule counts them as often as the search did.
            good = found.status in _ENDED and bool(met(rule, found.measured.violations, problem.associations))
            if good:
                best = stored_by[p] = found.memory
                break
        attempts.append(Attempt(p, good, found.status, taken, start.name))
        return good

    effort.check(initial(0))
    _bracket(attempt, around)
    not_stored = min(one.p for one in attempts if not one.stored)
    # A larger p that happens to be stored does not count.
    stored = max((one.p for one in attempts if one.stored and one.p < not_stored), default=1)
    while not_stored - stored > max(1, effort.width * stored):
        middle = (stored + not_stored) // 2
        if attempt(middle):
            stored = middle
        else:
            not_stored = middle
    while effort.searches > 1 and attempt(not_stored, effort):
        stored, not_stored = not_stored, not_stored + max(1, int(effort.width * not_stored))
    return Reach(stored, not_stored, tuple(attempts), time.perf_counter() - began, stored_by.get(stored))


def _bracket(attempt: Callable[[int], bool], around: int) -> None:
    """Try p around a guess until one was stored and a larger one was not."""
    first, stride = attempt(around), _first_step(around)
    p = around
    while True:
        p = p + stride if first else p - stride
        if p < 2 or attempt(p) != first:
            return
        stride *= 2


def _first_step(around: int) -> int:
    """How far the first step away from a guess goes: 2 % of it."""
    return max(1, around // 50)


class PaddedPrefixes:
    """The first p associations of a stream, for p around a guess: all of one shape as far as they can be."""

    def __init__(
        self,
        kind: str,
        stream: Stream,
        around: int,
        budget: Budget | None,
        answers: int | None = None,
        frequencies: Frequencies = "uniform",
    ) -> None:
        self.kind, self.stream, self.budget = check_kind(kind), stream, budget
        self.asked = check_answers(answers, frequencies)
        self.longer = self._made(around)

    def of(self, p: int) -> Problem:
        if is_grouped(self.kind) and self.asked[0] is None:
            # Separate outputs cannot be padded: every p has a program of its own.
            return self._grouped(p)
        if p > self.longer.inputs.shape[0]:
            self.longer = self._made(p)
        longer = self.longer
        # Only problems with as many outputs as inputs can be padded. Facts that occur twice ask for nothing new.
        rows = np.arange(longer.inputs.shape[0]) % p
        if isinstance(longer, Separate):
            inputs, outputs, targets = (part[rows] for part in (longer.inputs, longer.outputs, longer.targets))
            return replace(longer, inputs=inputs, outputs=outputs, targets=targets)
        if isinstance(longer, Facts) and self.asked[0] is not None:
            return replace(longer, inputs=longer.inputs[rows], targets=longer.targets[rows])
        return padded(longer, p)

    def _made(self, p: int) -> Facts | Stored | Regenerated | Separate:
        longest = int(_ROOM * p) + 1 if p <= _LARGE else p + _first_step(p)
        # With answers, padding repeats facts: the fewer the better.
        if p > _LARGE or (jax.default_backend() != "cpu" and self.asked[0] is None):
            longest = -(-longest // _ROWS) * _ROWS
        if is_grouped(self.kind):
            return self._grouped(longest)
        if self.kind == ORIGINAL:
            return original(self.stream, longest, self.budget, None, *self.asked)
        return decoupled(self.stream, longest, self.budget, "auto", "float32", *self.asked)

    def _grouped(self, p: int) -> Separate:
        return grouped(self.stream, p, sets_of_outputs(self.kind, p), self.budget, *self.asked)
