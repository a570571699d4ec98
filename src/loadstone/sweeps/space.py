"""The sweep of the space of solutions: memories that store a share of what fits, sampled."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity

#: For each scale: streams of each dimension, and shares of the predicted capacity at which they are filled. Free
#: entropies scatter between streams, at d = 16 by eight or nine per cent: 24 streams know the mean to two.
_STREAMS = {"quick": {8: 3}, "paper": {8: 24, 12: 20, 16: 24, 20: 8, 30: 4}}
_SHARES = {"quick": (0.4,), "paper": (0.25, 0.5, 0.75)}
#: The volume takes several times as long as the overlap: up to this dimension it is found at every share, beyond it at
#: those up to a half.
_VOLUME_EVERYWHERE = 20


def space(scale: str, most: float = 1.0) -> list[Spec]:
    """Overlap and volume of the memories that store the first associations of a stream, both problems, at shares of the
    capacity up to `most`."""
    return [
        Spec(problem, d, p, seed, solver="space", parameters={"volume": _has_volume(d, share)})
        for d, streams in _STREAMS[scale].items()
        for share in _SHARES[scale]
        if share <= most
        for p in [share_of_capacity(share, d)]
        for problem in ("original", "decoupled")
        for seed in range(streams)
    ]


def _has_volume(d: int, share: float) -> bool:
    return d <= _VOLUME_EVERYWHERE or share <= 0.5
