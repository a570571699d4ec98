"""The sweep of edits: what is lost when a memory is edited, by three methods, from a share of its capacity on."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity
from loadstone.tasks.edits import METHODS

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {20: 2}, "paper": {30: 5, 50: 3, 100: 2}}
#: Shares of the predicted capacity at which a memory is filled first.
_FIRST = {20: (0.5,), 30: (0.25, 0.5), 50: (0.25, 0.5), 100: (0.5,)}
#: Facts are added up to this share. Beyond the capacity each takes a proof: seconds at d = 50, far longer at d = 100.
_LAST = {20: 1.1, 30: 1.1, 50: 1.05, 100: 0.95}


def edits(scale: str) -> list[Spec]:
    """Facts added until there are more than fit, and answers changed one after the other until all are."""
    return [
        Spec("original", d, p, seed, solver="edits", parameters={"method": method, "action": action, "edits": count})
        for d, streams in _STREAMS[scale].items()
        for share in _FIRST[d]
        for p in [share_of_capacity(share, d)]
        for action, count in (("add", share_of_capacity(_LAST[d], d) - p), ("change", p))
        for method in METHODS
        for seed in range(streams)
    ]
