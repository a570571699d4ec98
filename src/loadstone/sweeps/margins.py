"""The sweep of margins: the largest margin of streams that are filled to a share of their capacity."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {12: 4}, "paper": {12: 48, 20: 32, 30: 16}}
#: Shares of the predicted capacity. Above 0.8 streams of d = 12 begin to be not storable, and have no margin.
_SHARES = {"quick": (0.4, 0.7), "paper": (0.25, 0.35, 0.45, 0.55, 0.65, 0.8)}
#: With vectors of equal length, fewer of them: lengths matter to margins.
_ON_SPHERES = {"quick": (0.4,), "paper": (0.45, 0.65)}


def margin(scale: str) -> list[Spec]:
    """The largest margin and recall from noisy inputs, both problems; Gaussian vectors and vectors of equal length."""
    return [
        Spec(problem, d, share_of_capacity(share, d), seed, law=law, solver="margin")
        for law, shares in (("gaussian", _SHARES[scale]), ("sphere", _ON_SPHERES[scale]))
        for d, streams in _STREAMS[scale].items()
        for share in shares
        for problem in ("original", "decoupled")
        for seed in range(streams)
    ]
