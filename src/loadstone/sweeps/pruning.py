"""The sweep of pruning: how many associations a memory stores whose few entries are chosen by training."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import facts_by_the_law

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {10: 3}, "paper": {20: 10, 30: 10}}
_DENSITIES = (0.25, 0.5)
#: Numbers of rounds for each dimension.
_ROUNDS = {10: (1, 8), 20: (1, 4, 16, 64), 30: (1, 4, 16)}


def pruning(scale: str) -> list[Spec]:
    """The largest p that is stored by pruning in a number of rounds, and the proved capacities of random masks with as
    many entries, on the same streams."""
    kinds = [(d, density, seed) for d, n in _STREAMS[scale].items() for density in _DENSITIES for seed in range(n)]
    return [
        Spec("original", d, _between(density, d), seed, solver="reach", parameters={"optimiser": optimiser})
        for d, density, seed in kinds
        for rounds in _ROUNDS[d]
        for optimiser in [f"pruning:{density},{rounds}"]
    ] + [
        Spec("original", d, facts_by_the_law(family, d, None, "original"), seed, solver="capacity", family=family)
        for d, density, seed in kinds
        for family in [f"masked:{density}"]
    ]


def _between(density: float, d: int) -> int:
    """Half-way between the capacity of a random mask and the bound for the best one."""
    ends = (facts_by_the_law(f"{name}:{density}", d, None, "original") for name in ("masked", "pruned"))
    return round(sum(ends) / 2)
