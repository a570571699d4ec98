"""How hard to search for a memory that stores everything.

Below full rank the loss is not convex: where a search ends depends on where it starts. So several starts are tried, one
after the other, until one of them leads to a memory that stores everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from loadstone.arguments import choice, positive, refuse, set_as, whole
from loadstone.kernels.products import PRECISIONS
from loadstone.memories.families import initial_memory
from loadstone.memories.low_rank import LowRank
from loadstone.parameters import text_of
from loadstone.problems.problem import Problem
from loadstone.solvers.alternating import Alternating
from loadstone.solvers.lbfgs import LBFGS, is_linear
from loadstone.solvers.registry import solver_of
from loadstone.solvers.solve import solve
from loadstone.solvers.solver import Solver
from loadstone.solvers.stop import STOP_RULES, Limits

_LBFGS, _ALTERNATING = LBFGS(), Alternating()
#: In a bisection L-BFGS gives up where no memory has every margin above this share of its length |W|. By the law for
#: margins, a capacity with such margins is smaller by 0.04 to 0.06 % (with two answers by 0.11 %): far less than the
#: usual `width`. That is so because components of embeddings have a mean square of one.
_CANNOT_STORE_MARGIN = 0.001
#: With two factors there is no such bound, but what small changes of them can gain is a sign. Late in a search that
#: stores everything they gain little, about in inverse proportion to the passes that it takes. So a search is given up
#: where they gain less than this over the passes that it may have. With few columns it may linger at a saddle and still
#: go on. With 10 or more, none of 190 bisections had another result; with 30 in place of 20, 2 would have had
#: (benchmarks/given_up.py).
_CANNOT_STORE_NEARBY, _LEAST_RANK = 20.0, 10


class Start(NamedTuple):
    """One search: what it is called, the memory that it begins with, and its solver."""

    name: str
    memory: Any
    solver: Solver


@dataclass(frozen=True)
class MultiStart:
    """What is tried, in this order, until everything is stored, and how long. The first random start comes first.

    grown: the memory that has stored the largest number of associations so far.
    starts: how many random starts there are in all.
    truncated: a full-rank memory of the same associations, cut to its largest singular values.
    alternating: one factor at a time, from the memory that has stored most so far and from the first random start.
    width: the largest p that is stored is bracketed to this share of itself, or to 1.
    passes: most passes of one search.
    optimiser: the solver of all other searches, with its parameters, as in 'pruning:0.25,16'.
    rivals: an association is stored if its target beats the mean of so many of its best rivals; 1: every rival.
    enough: the first p associations count as stored if this stop rule is met.
    digits: precision of the products of all searches.
    patient: whether every search goes on to its minimum or its last pass; otherwise it is given up where the gradient
        shows that it will not store everything.
    """

    starts: int = 1
    truncated: bool = False
    grown: bool = False
    alternating: bool = False
    width: float = 0.005
    passes: int = 1000
    optimiser: str = "lbfgs"
    rivals: int = 1
    enough: str = "exact"
    digits: str = "auto"
    patient: bool = False

    def __post_init__(self) -> None:
        # In a spec a solver is always written in the same way.
        set_as(self, "optimiser", text_of(str(self.optimiser).partition(":")[0], self.solver))
        set_as(self, "starts", whole("starts", self.starts, 1, 10**6))
        for name in ("truncated", "grown", "alternating", "patient"):
            if not isinstance(getattr(self, name), bool):
                raise refuse(name, getattr(self, name), "True or False")
        set_as(self, "width", positive("width", self.width))
        set_as(self, "passes", whole("passes", self.passes, 1, 10**9))
        set_as(self, "rivals", whole("rivals", self.rivals, 1, 10**6))
        choice("enough", self.enough, tuple(rule for rule in STOP_RULES if rule != "none"))
        choice("digits", self.digits, ("auto", *PRECISIONS))

    @property
    def solver(self) -> Solver:
        """The solver of every search except the alternating ones, as the spec names it."""
        return solver_of(self.optimiser)

    @property
    def one_start(self) -> MultiStart:
        """The same with only the first random start."""
        return replace(self, starts=1, truncated=False, grown=False, alternating=False)

    def solver_from(self, memory: Any) -> Solver:
        """The solver for searches that begin with this memory. L-BFGS is given up where the possible margins show that
        not everything will be stored: going on to the minimum of the loss would take far longer."""
        solver = self.solver
        everything = self.enough == "exact" and self.rivals == 1
        if not isinstance(solver, LBFGS) or solver.margin > 0 or not everything or self.patient:
            return solver
        if is_linear(memory):
            return replace(solver, margin=_CANNOT_STORE_MARGIN)
        # With several starts, none is given up early.
        nearby = isinstance(memory, LowRank) and memory.rank >= _LEAST_RANK and self.searches == 1
        return replace(solver, margin=_CANNOT_STORE_NEARBY / self.passes) if nearby else solver

    @property
    def searches(self) -> int:
        """How many searches there are at most."""
        return self.starts + self.grown + 2 * self.truncated + 2 * self.alternating

    def check(self, memory: Any) -> None:
        """Refuse a family that has no rank to cut, or no factors to alternate between."""
        for name in ("truncated", "alternating"):
            if getattr(self, name) and not isinstance(memory, LowRank):
                raise refuse(name, True, f"False for {type(memory).__name__}, because only LowRank has two factors")

    def all_starts(
        self, problem: Problem, initial: Callable[[int], Any], limits: Limits, best: Any = None
    ) -> Iterator[Start]:
        """Yield the starts of a search, each made when it is needed.

        initial: makes a random start from its number, 0, 1, ...
        best: the memory that has stored most so far, if there is one.
        """
        first = initial(0)
        solver = self.solver_from(first)
        yield Start("start 1", first, solver)
        best = None if best is None else _in_float32(best)
        if self.grown and best is not None:
            yield Start("grown", best, solver)
        for number in range(1, self.starts):
            yield Start(f"start {number + 1}", initial(number), solver)
        if self.truncated:
            yield Start("truncated", truncated(problem, first.rank, limits), solver)
        if self.alternating:
            if best is not None:
                yield Start("alternating, grown", best, _ALTERNATING)
            yield Start("alternating", first, _ALTERNATING)


def truncated(problem: Problem, rank: int, limits: Limits) -> LowRank:
    """The best approximation of this rank to the full-rank memory that L-BFGS finds for the problem, in two factors of
    equal size."""
    full = solve(
        problem, initial_memory(problem.inputs.shape[1]), solver=_LBFGS, stop="exact", limits=limits
    ).memory.weights
    left, sizes, right = np.linalg.svd(np.asarray(full, np.float64))
    roots = np.sqrt(sizes[:rank])
    return _in_float32(LowRank(left[:, :rank] * roots, right[:rank].T * roots))


def _in_float32(memory: Any) -> Any:
    """The memory in float32, in which every search begins, whatever the precision at the end of the last one."""
    return jax.tree.map(lambda leaf: leaf.astype(np.float32) if leaf.dtype == np.float64 else leaf, memory)
