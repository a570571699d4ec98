"""The sweep of recall from short lists: how many associations fit if the target must only be among the first k."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity
from loadstone.theory.listwise import limit_capacity

#: For each scale: streams of each dimension, and lengths of the list.
_STREAMS = {"quick": {12: 3}, "paper": {20: 6, 30: 4}}
_LENGTHS = {"quick": (4,), "paper": (1, 2, 4, 8, 16)}
_PROBLEMS = {"quick": ("original",), "paper": ("original", "decoupled")}


def topk(scale: str) -> list[Spec]:
    """The largest p at which every target beats the mean of its k best rivals; k = 1 is recall by the largest score."""
    return [
        Spec(problem, d, _around(d, k), seed, solver="reach", parameters={"rivals": k})
        for problem in _PROBLEMS[scale]
        for d, streams in _STREAMS[scale].items()
        for k in _LENGTHS[scale]
        for seed in range(streams)
    ]


def _around(d: int, k: int) -> int:
    """Where the search begins: the limit of large sizes, but no less than what fits with k = 1."""
    return max(share_of_capacity(1, d), round(limit_capacity(d, k)))
