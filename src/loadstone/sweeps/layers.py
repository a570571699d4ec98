"""The sweep of two layers: how many associations they store, activation by activation and width by width."""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.theory.capacity import facts_that_fit

#: Of each, a program is compiled for every width, which takes most of the time of a quick sweep.
_ACTIVATIONS = {"quick": ("relu", "attention"), "paper": ("relu", "gelu", "attention")}
#: For each scale and dimension: how many hidden units.
_WIDTHS: dict[str, dict[int, tuple[int, ...]]] = {
    "quick": {10: (10,)},
    "paper": {20: (5, 10, 20, 40, 60), 50: (12, 25, 50, 100)},
}
_STREAMS = {10: 1, 20: 3, 50: 2}
_EFFORT: dict[str, dict[str, object]] = {"quick": {}, "paper": {"starts": 2}}
#: They store about this much more than a linear memory with as many parameters could: where to look first.
_MORE = 1.25


def layers(scale: str) -> list[Spec]:
    """The largest p that L-BFGS stores in two layers with an activation between them."""
    return [
        Spec("original", d, _first(d, width), seed, solver="reach", parameters=_EFFORT[scale], family=f"{name}:{width}")
        for d, widths in _WIDTHS[scale].items()
        for width in widths
        for name in _ACTIVATIONS[scale]
        for seed in range(_STREAMS[d])
    ]


def _first(d: int, width: int) -> int:
    return round(_MORE * facts_that_fit(lambda facts: 2.0 * d * width))
