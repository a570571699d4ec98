"""Sweeps of the law: how many associations L-BFGS stores, at the paper's sizes and at larger ones."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.arguments import rank_of
from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import share_of_capacity

_SIZES = {
    "quick": {"original": (20, 40), "decoupled": (20,)},
    "paper": {"original": (50, 100, 150, 300, 400, 500), "decoupled": (50, 100, 150)},
}
_LARGER: dict[str, dict[str, tuple[int, ...]]] = {"quick": {}, "paper": {"original": (1024,), "decoupled": (300,)}}
_KAPPAS = {"quick": (0.5, 1.0), "paper": (0.25, 0.5, 1.0)}
_STREAMS = {"quick": 3, "paper": 5}


def thresholds(scale: str) -> list[Spec]:
    """How many associations L-BFGS stores without a violation, at the sizes of the paper."""
    return [spec for kappa in _KAPPAS[scale] for spec in _reached(scale, _SIZES[scale], kappa, {})]


def law(scale: str) -> list[Spec]:
    """The runs of `thresholds`, and those of larger sizes; the figure shows them beside the predicted capacity.

    A pass of the larger ones takes up to a tenth of a second of a large GPU, so their searches are shorter. At full
    rank a search also ends when no memory has every margin above 0.003 |W|: by the law for margins, that costs 0.14 %
    of the capacity at most.
    """
    found = thresholds(scale)
    for kappa in _KAPPAS[scale]:
        shorter = {"passes": 300} | ({"optimiser": "lbfgs:margin=0.003"} if kappa == 1 else {})
        found += _reached(scale, _LARGER[scale], kappa, shorter)
    return found


def _reached(
    scale: str, sizes: Mapping[str, tuple[int, ...]], kappa: float, parameters: Mapping[str, object]
) -> list[Spec]:
    return [
        Spec(problem, d, guess, seed, kappa, solver="reach", parameters=parameters)
        for problem, dimensions in sizes.items()
        for d in dimensions
        for guess in [share_of_capacity(1, d, rank_of(kappa, d) / d)]
        for seed in range(_STREAMS[scale])
    ]
