"""How fast a solver stores a stream just below its capacity: the passes that it takes at several distances.

The capacity of the stream is proved first, so that a search that fails is known to fail on a storable instance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from loadstone.arguments import refuse, set_as, whole
from loadstone.memories.families import initial_memory
from loadstone.parameters import text_of
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.instance import Instance
from loadstone.problems.problem import Problem
from loadstone.proofs.conditioned import Conditioned
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.newton import NewtonSearch, Undecided
from loadstone.solvers.registry import solver_of
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.tasks.capacity import CAPACITY, exact_capacity
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.reach import Attempt, SameShape
from loadstone.tasks.task import OneAtATime, require_full
from loadstone.tasks.train import search_seconds
from loadstone.threads import one_thread

#: Distances from the capacity, 1 - p / p_c, at which a solver is tried.
DISTANCES = (0.2, 0.1, 0.05, 0.02, 0.01, 0.0)
#: Newton's method is not a search by passes, but can be tried too.
NEWTON = "newton"


@dataclass(frozen=True)
class PassesNearCapacity:
    """Which solver is tried, and for how long.

    optimiser: a solver with its parameters, as in 'adam:0.1', or 'newton'.
    passes: most passes of one search (of Newton's method: most steps).
    """

    optimiser: str = "lbfgs"
    passes: int = 3000

    def __post_init__(self) -> None:
        set_as(self, "passes", whole("passes", self.passes, 1, 10**9))
        if self.optimiser != NEWTON:
            # In a spec a solver is always written in the same way.
            set_as(self, "optimiser", text_of(str(self.optimiser).partition(":")[0], solver_of(self.optimiser)))


def approach(
    instance: Instance, tried: PassesNearCapacity | None = None, budget: Budget | None = None
) -> tuple[int | None, list[Attempt]]:
    """Prove the capacity of a stream, looking around p first, and store it up to each of DISTANCES below.

    Returns the capacity and an attempt for each distance, or None and no attempts if a verdict was undecided.
    """
    tried = tried or PassesNearCapacity()
    whole("p", instance.p, 4)
    p_c = _proved_capacity(instance.without_arrays())
    if p_c is None:
        return None, []
    sizes = [max(2, round((1 - distance) * p_c)) for distance in DISTANCES]
    if tried.optimiser == NEWTON:
        return p_c, [_newton(instance.first(p).arrays(), tried.passes) for p in sizes]
    problems = SameShape(instance, budget)
    return p_c, [_search(problems.first(p), instance.first(p), tried) for p in sizes]


@lru_cache(maxsize=256)
def _proved_capacity(instance: Instance) -> int | None:
    """The capacity of a stream, proved once in this process for all solvers that are tried on it; None: undecided."""
    return exact_capacity(instance.without_arrays()).p_c


def _search(problem: Problem, instance: Instance, tried: PassesNearCapacity) -> Attempt:
    memory, solver = initial_memory(instance.d, 1.0, seed=instance.stream.seed), solver_of(tried.optimiser)
    solution = solve(problem, memory, solver=solver, stop="exact", limits=Limits(tried.passes))
    return Attempt(instance.p, solution.status == Status.STORED, solution.status, max(1, solution.passes))


def _newton(instance: Arrays, steps: int) -> Attempt:
    """Newton's method from W = 0, with its arithmetic in units of passes."""
    n, d = instance.inputs.shape
    search = NewtonSearch(Conditioned(instance), np, np.zeros((d, d)), steps)
    try:
        with one_thread():
            stored = search.run().outcome == Outcome.STORABLE
        status = Status.STORED if stored else Status.MINIMUM
    except Undecided:
        stored, status = False, Status.OUT_OF_PASSES
    return Attempt(n, stored, status, newton_passes(search, n, instance.outputs.shape[-2], d))


def newton_passes(search: NewtonSearch, n: int, m: int, d: int) -> int:
    """The multiplications of a search divided by those of a pass, 2 n m d: scores, and the mean output.

    A step takes a pass, the scores of the step (half a pass), and the second moments of n softmaxes (n m d^2). A
    product with the Hessian takes 2 n d^2. A dense solve takes n d^4 / 2 to form the Hessian and d^6 / 6 to factorise
    it. The last evaluation, which finds the witness, is one more pass.
    """
    steps = search.steps * (1.5 + d / 2)
    products = search.products * d / m
    dense = search.dense_solves * (n * d**4 / 2 + d**6 / 6) / (2 * n * m * d)
    return round(1 + steps + products + dense)


class Approach(OneAtATime):
    """The proved capacity, and the passes that a solver takes at several distances below."""

    settings = PassesNearCapacity
    fields = FIELDS["approach"]

    def check(self, spec: CheckedSpec) -> None:
        require_full(spec, "an approach to the capacity")
        if spec.answers is not None:
            raise refuse("answers", spec.answers, "None for an approach to the capacity, where each fact has its own")

    def words(self, spec: CheckedSpec) -> str:
        return f"{spec.solver} of {spec.settings.optimiser}"

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        return CAPACITY.cost(spec, platform) + spec.settings.passes * search_seconds(spec, 2, platform)

    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        tried: PassesNearCapacity = spec.settings
        p_c, attempts = approach(spec.instance, tried, budget)
        return {
            "status": "undecided" if p_c is None else "proved",
            "p_c": p_c,
            "distances": list(DISTANCES),
            "attempts": [attempt.row() for attempt in attempts],
            "limit": tried.passes,
        }


APPROACH = Approach()
