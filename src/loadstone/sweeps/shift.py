"""The sweep of the shift: how much more the original problem stores than the decoupled one, as d grows, and with groups
of inputs that share outputs between the two."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import PROVED, exact_capacities, share_of_capacity

#: Larger sizes, where proofs take minutes: what L-BFGS stores, found to 0.1 % with long searches.
_REACHED = (("original", (100, 150, 200, 300)), ("decoupled", (100,)))
_CLOSELY: dict[str, object] = {"width": 0.001, "passes": 3000}
_STREAMS = 10


#: For each scale and dimension: numbers of groups between 1 and p, and streams.
_GROUPS: dict[str, dict[int, tuple[tuple[int, ...], int]]] = {
    "quick": {12: ((2, 8), 40)},
    "paper": {12: ((2, 4, 8, 16, 32), 400), 16: ((2, 4, 8, 16, 32), 200), 20: ((2, 4, 8, 16, 32, 64), 200)},
}


def grouped_capacities(scale: str) -> list[Spec]:
    """Exact capacities with groups of inputs, from one group, the original problem, to the decoupled one."""
    return [
        spec
        for d, (groups, count) in _GROUPS[scale].items()
        for spec in exact_capacities({d: count}, ("original", *(f"groups:{g}" for g in groups), "decoupled"))
    ]


def shift(scale: str) -> list[Spec]:
    """Exact capacities at small d, which the sweep 'capacity' has too, and at large d what L-BFGS stores."""
    if scale == "quick":
        proved = exact_capacities({d: count for d, count in PROVED[scale].items() if d <= 20})
        return list(dict.fromkeys(proved + grouped_capacities(scale)))
    proved = exact_capacities(PROVED[scale]) + grouped_capacities(scale)
    return list(dict.fromkeys(proved)) + [
        Spec(problem, d, share_of_capacity(1, d), seed, solver="reach", parameters=_CLOSELY)
        for problem, dimensions in _REACHED
        for d in dimensions
        for seed in range(_STREAMS)
    ]
