"""The sweep of bits: what memories of b bits an entry store, rounded or trained through the rounding."""

from __future__ import annotations

from loadstone.runs.grid import share_of_capacity
from loadstone.runs.spec import Spec

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {12: 4}, "paper": {12: 8, 20: 4}}
_BITS = (1, 2, 3, 4, 5, 6, 7, 8)
#: Up to this dimension the centre is sampled, which takes a minute for each stream; and it is trained at some bits.
_CENTRE = {"quick": 0, "paper": 12}
_TRAINED: dict[str, tuple[int, ...]] = {"quick": (2,), "paper": _BITS}
_TRAINED_STREAMS = {"quick": 1, "paper": 4}
#: Adam passes the rounding best; it takes longer than without.
_TRAINING = {"optimiser": "adam:0.1", "passes": 2000, "width": 0.02}


def bits(scale: str) -> list[Spec]:
    """The largest p stored with b bits an entry: the memory of largest margin rounded, the centre rounded, training."""
    found = []
    for d, streams in _STREAMS[scale].items():
        p = share_of_capacity(1.1, d)  # beyond what can be stored at all
        ways = ("largest margin", "centre") if d <= _CENTRE[scale] else ("largest margin",)
        found += [
            Spec("original", d, p, seed, solver="bits", parameters={"bits": count, "way": way})
            for way in ways for count in _BITS for seed in range(streams)
        ]  # fmt: skip
        found += [
            Spec("original", d, _first(d, count), seed, solver="reach", family=f"rounded:{count}", parameters=_TRAINING)
            for count in _TRAINED[scale] for seed in range(min(streams, _TRAINED_STREAMS[scale]))
        ]  # fmt: skip
    return found


def _first(d: int, bits: int) -> int:
    """Where to look first."""
    return share_of_capacity(min(0.9, 0.3 + 0.15 * bits), d)
