"""The sweep of low rank: how many associations memories of each rank store."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.arguments import rank_of
from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity

#: Rank fractions, and what is tried to store as much as possible at each (tasks/multi_start.py).
_RANKS = {"quick": (0.2, 1.0), "paper": (*(round(0.1 * tenth, 1) for tenth in range(1, 10)), 1.0)}
_EFFORTS: dict[str, dict[str, object]] = {
    "quick": {"starts": 3, "grown": True},
    "paper": {"starts": 5, "grown": True, "truncated": True, "alternating": True},
}
#: A single start, and each help alone.
_HELPS: tuple[dict[str, object], ...] = (
    {}, {"starts": 5}, {"grown": True}, {"truncated": True}, {"alternating": True},
)  # fmt: skip


def rank(scale: str) -> list[Spec]:
    """How many associations memories of every rank store when all is tried that is known to help; each help alone; and
    the proved capacities of the same streams at full rank."""
    streams = {"quick": {20: 3}, "paper": {20: 10, 50: 5, 100: 2}}[scale]
    everything = _EFFORTS[scale]
    tried = [(kappa, everything) for kappa in _RANKS[scale]]
    if scale == "paper":
        tried += [(kappa, effort) for kappa in (0.1, 0.2, 0.3, 0.5) for effort in _HELPS]
    kinds = [("original", d) for d in streams] + ([("decoupled", 20)] if scale == "paper" else [])
    return [
        _reach(problem, d, kappa, seed, effort)
        for problem, d in kinds
        for kappa, effort in tried
        if effort is everything or (problem == "original" and d < 100)
        for seed in range(streams[d])
    ] + [
        Spec(problem, d, _predicted(d, 1.0), seed, solver="capacity")
        for problem, d in kinds
        if d < 100
        for seed in range(streams[d])
    ]


def _reach(problem: str, d: int, kappa: float, seed: int, effort: Mapping[str, object]) -> Spec:
    """At full rank too the memory has two factors."""
    family = "low rank" if kappa == 1 else "full"
    return Spec(problem, d, _predicted(d, kappa), seed, kappa, solver="reach", parameters=effort, family=family)


def _predicted(d: int, kappa: float) -> int:
    """For the rank that the memory has, not for the rank fraction that is rounded to it."""
    return share_of_capacity(1, d, rank_of(kappa, d) / d)
