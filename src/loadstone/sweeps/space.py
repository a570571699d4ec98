"""The sweep of the space of solutions: memories that store a share of what fits, sampled."""

from __future__ import annotations

from loadstone.experiments.spec import Spec
from loadstone.sweeps.grid import share_of_capacity

#: For each scale: streams of each dimension, and shares of the predicted capacity at which they are filled.
_STREAMS = {"quick": {8: 3}, "paper": {8: 24, 12: 16, 16: 12, 20: 8, 30: 4}}
_SHARES = {"quick": (0.4,), "paper": (0.2, 0.4, 0.6, 0.75)}
#: At the largest sizes the volume takes hours on a processor core.
_WITH_VOLUME = 20


def space(scale: str) -> list[Spec]:
    """Overlap and volume of the memories that store the first associations of a stream, both problems."""
    return [
        Spec(problem, d, p, seed, solver="space", parameters={"volume": d <= _WITH_VOLUME or share <= 0.4})
        for d, streams in _STREAMS[scale].items()
        for share in _SHARES[scale]
        for p in [share_of_capacity(share, d)]
        for problem in ("original", "decoupled")
        for seed in range(streams)
    ]
