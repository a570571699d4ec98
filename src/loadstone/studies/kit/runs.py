"""The runs that several studies have in common, and how a study names a run.

A run's spec loads JAX, which studies are read and drawn without: it is imported when runs are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.theory.answers import facts_capacity
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import nearest_associations

if TYPE_CHECKING:
    from loadstone.runs.spec import Spec
else:
    Spec = Any

KAPPAS = (0.25, 0.5, 1.0)

#: Dimensions, loads and seeds of the training experiments; those of 'paper' are the paper's.
DIMENSIONS: dict[str, dict[str, tuple[int, ...]]] = {
    "quick": {"original": (20, 40), "decoupled": (20, 40)},
    "paper": {"original": (50, 100, 150, 300, 400, 500), "decoupled": (50, 100, 150)},
}
LOADS = {
    "quick": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2),
    "paper": tuple(round(float(x), 4) for x in np.linspace(0.4, 1.0, 25)),
}
SEEDS = {"quick": 3, "paper": 5}
#: The Hebbian rule fails at far lower loads than training.
_HEBBIAN_LOADS = {
    "quick": (0.03, 0.06, 0.09, 0.12, 0.2, 0.3, 0.45, 0.6, 0.9, 1.2),
    "paper": (0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.35) + LOADS["paper"],
}
#: What L-BFGS stores is shown at few of the quick sizes: its programs take longer to compile than to run.
_LBFGS_DIMENSIONS: dict[str, dict[tuple[str, float], tuple[int, ...]]] = {
    "quick": {("original", 1.0): (20,), ("decoupled", 1.0): (20,), ("original", 0.5): (20,)},
    "paper": {(problem, kappa): ds for problem, ds in DIMENSIONS["paper"].items() for kappa in KAPPAS},
}  # fmt: skip
#: Streams of each dimension whose capacity is proved in both problems.
PROVED: dict[str, dict[int, int]] = {
    "quick": {12: 40, 20: 40, 30: 40},
    "paper": {12: 200, 20: 200, 30: 200, 50: 10},
}

#: To find p from a load takes a search, and all seeds need the same p.
associations = cache(nearest_associations)


@cache
def share_of_capacity(share: float, d: int, kappa: float = 1.0) -> int:
    """How many associations make this share of the predicted capacity."""
    return round(share * float(capacity_associations(d, kappa)))


@cache
def facts_by_the_law(family: str, d: int, answers: int | None, problem: str) -> int:
    """How many facts fit in a family of memories by the law N D(M) = delta; None: each fact has its own answer."""
    return max(2, round(facts_capacity(family, d, answers=answers, decoupled=problem == "decoupled")))


def spec(problem: str, d: int, p: int, seed: int = 0, kappa: float = 1.0, **settings: Any) -> Spec:
    """One run: the fields of a `Spec` (runs/spec.py)."""
    from loadstone.runs.spec import Spec

    return Spec(problem, d, p, seed, kappa, **settings)


def trained(scale: str, kappas: Sequence[float]) -> list[Spec]:
    """The paper's protocol, at all dimensions, loads and seeds."""
    return [
        spec(problem, d, associations(load, d), seed, kappa)
        for problem, dimensions in DIMENSIONS[scale].items()
        for d in dimensions
        for kappa in kappas
        for load in LOADS[scale]
        for seed in range(SEEDS[scale])
    ]


def by_lbfgs(scale: str, kappas: Sequence[float]) -> list[Spec]:
    """L-BFGS until everything is stored or the minimum of the loss is reached. Above d = 100 the minimum takes seconds
    of a large GPU, and streams differ little: fewer loads and streams do."""
    loads = {"quick": (0.7, 0.8, 0.9, 1.0, 1.2), "paper": LOADS["paper"]}[scale]
    return [
        spec(problem, d, associations(load, d), seed, kappa, solver="lbfgs", stop="exact")
        for (problem, kappa), dimensions in _LBFGS_DIMENSIONS[scale].items()
        if kappa in kappas
        for d in dimensions
        for load in (loads if d <= 100 else loads[::3])
        for seed in range(SEEDS[scale] if d <= 100 else 2)
    ]


def protocol(scale: str) -> list[Spec]:
    """The paper's protocol at three rank fractions, and the Hebbian rule."""
    hebbian = [
        spec("original", d, associations(load, d), seed, solver="hebbian")
        for d in DIMENSIONS[scale]["original"]
        for load in _HEBBIAN_LOADS[scale]
        for seed in range(SEEDS[scale])
    ]
    return trained(scale, KAPPAS) + hebbian


def exact_capacities(streams: Mapping[int, int], problems: Sequence[str] = ("original", "decoupled")) -> list[Spec]:
    """Exact capacities of this many streams of each dimension."""
    return [
        spec(problem, d, share_of_capacity(1, d), seed, solver="capacity")
        for problem in problems
        for d, count in streams.items()
        for seed in range(count)
    ]
