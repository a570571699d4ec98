"""The sweep of the shift: how much more the original problem stores than the decoupled one, as d grows."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.experiments.spec import Spec
from loadstone.sweeps.grid import share_of_capacity

#: Streams of each dimension whose capacity is proved in both problems.
PROVED: dict[str, dict[int, int]] = {
    "quick": {12: 40, 20: 40, 30: 40},
    "paper": {12: 200, 20: 200, 30: 200, 50: 10},
}
#: Larger sizes, where proofs take minutes: what L-BFGS stores, found to 0.1 % with long searches.
_REACHED = (("original", (100, 150, 200, 300)), ("decoupled", (100,)))
_CLOSELY: dict[str, object] = {"width": 0.001, "passes": 3000}
_STREAMS = 10


def exact_capacities(streams: Mapping[int, int]) -> list[Spec]:
    """Exact capacities of so many streams of each dimension, both problems."""
    return [
        Spec(problem, d, share_of_capacity(1, d), seed, solver="capacity")
        for problem in ("original", "decoupled")
        for d, count in streams.items()
        for seed in range(count)
    ]


def shift(scale: str) -> list[Spec]:
    """Exact capacities at small d, which the sweep 'capacity' has too, and at large d what L-BFGS stores."""
    if scale == "quick":
        return exact_capacities({d: count for d, count in PROVED[scale].items() if d <= 20})
    return exact_capacities(PROVED[scale]) + [
        Spec(problem, d, share_of_capacity(1, d), seed, solver="reach", parameters=_CLOSELY)
        for problem, dimensions in _REACHED
        for d in dimensions
        for seed in range(_STREAMS)
    ]
