"""How many associations of a stream a solver stores: the largest p, by bisection, looking around p first.

The parameters say what is tried before a number counts as not stored, and by which solver (tasks/multi_start.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import jax

from loadstone.arguments import rank_of, whole
from loadstone.compiling import Call
from loadstone.measurements import accuracy
from loadstone.memories import normal
from loadstone.memories.families import initial_memory
from loadstone.problems.budget import Budget
from loadstone.problems.instance import Instance
from loadstone.problems.kinds import is_grouped
from loadstone.problems.listwise import listwise
from loadstone.problems.problem import Problem
from loadstone.solvers import loop
from loadstone.solvers.search import SearchOptions, drop_slower
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.solver import Iterative
from loadstone.solvers.stop import Limits, met
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.short_lists import recalled_in_list
from loadstone.tasks.task import OneAtATime
from loadstone.tasks.train import search_seconds

#: Problems are padded to this factor times the first guess, so that one compiled program serves most of the bisection.
#: Large ones, whose capacity is known better and whose padding takes more time, have room for one step upwards.
_ROOM, _LARGE = 1.15, 1000
#: Large ones, and those on a GPU, have a multiple of this many rows: decoupled outputs are then read in whole lines of
#: memory. (H200, d = 300: 20 instead of 45 ms a pass.)
_ROWS = 128
_ONE_START = MultiStart()
#: The status of a search that has met its stop rule.
_ENDED = (Status.STORED, Status.STOPPED)
#: Seeds of further starts lie this far apart, where no other stream starts.
_NEXT_START = 2**32


@dataclass(frozen=True)
class Attempt:
    """An attempt to store the first p associations.

    p: how many associations.
    stored: whether enough of them were stored (all, unless another stop rule was given), measured at the end.
    status: how the last search ended.
    passes: how many passes all its searches took together.
    start: what the last search began with (tasks/multi_start.py).
    """

    p: int
    stored: bool
    status: Status
    passes: int
    start: str = "start 1"

    def row(self) -> list[object]:
        """The attempt as a record holds it."""
        return [self.p, self.stored, self.status.value, self.passes]


@dataclass(frozen=True)
class Reach:
    """Where a solver stops storing enough. It says what was stored, not what could be.

    stored: the largest p that was stored.
    not_stored: the smallest p that was not.
    attempts: all attempts, in order.
    memory: one that stores `stored` associations; None if no search stored any.
    """

    stored: int
    not_stored: int
    attempts: tuple[Attempt, ...]
    memory: Any = None


def largest_stored(
    instance: Instance,
    kappa: float = 1.0,
    family: str = "full",
    searches: MultiStart = _ONE_START,
    budget: Budget | None = None,
) -> Reach:
    """The largest p such that a solver stores the first p associations of a stream, bracketed to a share of p.

    instance: its p is the first guess; the search steps away from there by 2 %, then twice as far, and then halves the
        bracket.
    kappa, family: of the memory.
    searches: the solver, what it begins with, how long a search may take, and how closely the largest p is sought. With
        more than one start, the search goes on upwards from what the first start of each p has stored, as long as one
        of the starts stores the next p.
    """
    whole("p", instance.p, 4)
    problems, stream, limits = SameShape(instance, budget), instance.stream, Limits(searches.passes)
    attempts, stored_by, best = list[Attempt](), dict[int, Any](), None
    rule, precision = searches.enough, searches.digits

    def initial(number: int) -> Any:
        return initial_memory(stream.d, kappa, seed=(stream.seed + number * _NEXT_START) % 2**64, family=family)

    def attempt(p: int, searches: MultiStart = searches.one_start) -> bool:
        nonlocal best
        problem, passes = problems.first(p), 0
        if searches.rivals > 1:
            problem = listwise(problem, min(searches.rivals, p - 2))
        for start in searches.all_starts(problem, initial, limits, best):
            solution = solve(problem, start.memory, solver=start.solver, stop=rule, limits=limits, precision=precision)
            passes += solution.passes
            # The number with padding, not p: where padding repeats facts, the violations count them as often.
            stored = solution.status in _ENDED and bool(met(rule, solution.measured.violations, problem.associations))
            if stored:
                best = stored_by[p] = solution.memory
                break
        attempts.append(Attempt(p, stored, solution.status, passes, start.name))
        return stored

    searches.check(initial(0))
    stored, not_stored = bracket(attempt, instance.p, searches.width)
    while searches.searches > 1 and attempt(not_stored, searches):
        stored, not_stored = not_stored, not_stored + max(1, int(searches.width * not_stored))
    return Reach(stored, not_stored, tuple(attempts), stored_by.get(stored))


def bracket(is_stored: Callable[[int], bool], around: int, width: float) -> tuple[int, int]:
    """The largest p that is stored and the smallest p that is not, which differ by at most a share `width` of the
    first, or by one. `is_stored` is called once for each p, with `around` first."""
    stride, upwards = _first_step(around), is_stored(around)
    stored, not_stored = (around, 0) if upwards else (1, around)
    while (p := stored + stride if upwards else not_stored - stride) >= 2:
        stride *= 2
        if is_stored(p):
            stored = p
        else:
            not_stored = p
        if (p == stored) != upwards:
            break
    while not_stored - stored > max(1, width * stored):
        middle = (stored + not_stored) // 2
        if is_stored(middle):
            stored = middle
        else:
            not_stored = middle
    return stored, not_stored


def _first_step(around: int) -> int:
    """The length of the first step away from a guess: 2 % of it."""
    return max(1, around // 50)


class SameShape:
    """Problems of the first p associations of a stream, for p around a guess: all of one shape if possible."""

    def __init__(self, instance: Instance, budget: Budget | None) -> None:
        self.instance, self.budget = instance, budget
        self.longer = self._longer(instance.p) if instance.has_shapes else None

    def first(self, p: int) -> Problem:
        instance = self.instance.first(p)
        if self.longer is None:
            # Every p has a program of its own.
            return instance.problem(budget=self.budget)
        if p > self.longer.inputs.shape[0]:
            self.longer = self._longer(p)
        return instance.in_shape_of(self.longer)

    def _longer(self, p: int) -> Problem:
        longest, answers = int(_ROOM * p) + 1 if p <= _LARGE else p + _first_step(p), self.instance.answers
        # With answers, padding repeats facts: the fewer the better.
        if p > _LARGE or (jax.default_backend() != "cpu" and answers is None):
            longest = -(-longest // _ROWS) * _ROWS
        return self.instance.first(longest).problem(budget=self.budget)


class Reached(OneAtATime):
    """The largest p that a solver stores; if it trains for short lists, also how many targets come first in them."""

    settings = MultiStart
    fields = FIELDS["reach"]
    runs_alone = False

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        # A whole bisection takes about as many passes as its longest search may.
        return spec.settings.passes * spec.settings.searches * search_seconds(spec, 2, platform)

    def programs(self, spec: CheckedSpec, count: int, budget: Budget | None) -> Iterator[Call]:
        """The calls for every p near the first, whose problems have one shape."""
        searches: MultiStart = spec.settings
        if is_grouped(spec.problem) or searches.rivals > 1 or not isinstance(searches.solver, Iterative):
            return
        memory = jax.eval_shape(lambda: initial_memory(spec.d, spec.kappa, seed=spec.seed, family=spec.family))
        problem = jax.eval_shape(lambda: SameShape(spec.instance, budget).first(spec.p))
        yield from normal.programs(spec.d, memory.rank)
        yield from spec.instance.programs(problem)
        options, auto = SearchOptions(searches.enough, Limits(searches.passes)), searches.digits == "auto"
        precisions = drop_slower(searches.solver.precisions(), problem) if auto else (searches.digits,)
        # One start is tried for every p. If there are more, all are tried in the end, and are not given up as early.
        solvers = dict.fromkeys((searches.one_start.solver_from(memory), searches.solver_from(memory)))
        for solver, precision in product(solvers, precisions):
            if isinstance(solver, Iterative) and precision != "float64":  # which few searches reach
                yield from loop.programs(problem, memory, loop.program_of(solver, options, precision), 1)
        yield from accuracy.programs(problem, memory)

    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        instance, searches = spec.instance, spec.settings
        reached = largest_stored(instance, spec.kappa, spec.family, searches, budget)
        fields: dict[str, object] = {
            "status": "bracketed",
            "rank": rank_of(spec.kappa, spec.d),
            "attempts": [attempt.row() for attempt in reached.attempts],
            "ways": [attempt.start for attempt in reached.attempts],
            "stored": reached.stored,
            "not_stored": reached.not_stored,
        }
        if searches.rivals > 1 and reached.memory is not None:
            problem = SameShape(instance.first(reached.stored), budget).first(reached.stored)
            fields |= recalled_in_list(problem, reached.memory, searches.rivals)
        return fields


REACH = Reached()
