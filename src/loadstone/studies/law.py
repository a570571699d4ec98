"""How many facts can be stored, and are: L-BFGS at the predicted capacity, at every size and rank?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from loadstone.arguments import rank_of
from loadstone.studies.kit.panels import COLOURS, MARKS, NothingToDrawError, counted, key, subplots
from loadstone.studies.kit.runs import share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.kit.thresholds import compare_reach, reached_thresholds
from loadstone.theory.capacity import capacity, capacity_associations
from loadstone.theory.load import load

if TYPE_CHECKING:
    from loadstone.studies.kit.types import Axes, Figure, Line2D, Spec

_SIZES = {
    "quick": {"original": (20, 40), "decoupled": (20,)},
    "paper": {"original": (50, 100, 150, 300, 400, 500), "decoupled": (50, 100, 150)},
}
_LARGER: dict[str, dict[str, tuple[int, ...]]] = {"quick": {}, "paper": {"original": (1024,), "decoupled": (300,)}}
_KAPPAS = {"quick": (0.5, 1.0), "paper": (0.25, 0.5, 1.0)}
_STREAMS = {"quick": 3, "paper": 5}
#: Points of different rank fractions are drawn side by side where they would lie on each other.
_APART = 1.025


def runs_at_the_papers_sizes(scale: str) -> list[Spec]:
    """How many associations L-BFGS stores without a violation, at the sizes of the paper."""
    return [run for kappa in _KAPPAS[scale] for run in _reached(scale, _SIZES[scale], kappa, {})]


def runs(scale: str) -> list[Spec]:
    """The same, and at larger sizes.

    A pass of the larger ones takes up to a tenth of a second of a large GPU, so their searches are shorter. At full
    rank a search also ends when no memory has every margin above 0.003 |W|: by the law for margins, that costs 0.14 %
    of the capacity at most.
    """
    chosen = runs_at_the_papers_sizes(scale)
    for kappa in _KAPPAS[scale]:
        shorter = {"passes": 300} | ({"optimiser": "lbfgs:margin=0.003"} if kappa == 1 else {})
        chosen += _reached(scale, _LARGER[scale], kappa, shorter)
    return chosen


def _reached(
    scale: str, sizes: Mapping[str, tuple[int, ...]], kappa: float, parameters: Mapping[str, object]
) -> list[Spec]:
    return [
        spec(problem, d, guess, seed, kappa, solver="reach", parameters=parameters)
        for problem, dimensions in sizes.items()
        for d in dimensions
        for guess in [share_of_capacity(1, d, rank_of(kappa, d) / d)]
        for seed in range(_STREAMS[scale])
    ]


def draw(figure: Figure, points: list[dict]) -> None:
    """Left the load that was stored, right its ratio to the prediction."""
    if not points:
        raise NothingToDrawError("no stream was stored up to its limit")
    kappas = sorted({point["kappa"] for point in points}, reverse=True)
    left, right = subplots(figure, 1, 2, size=(7.6, 3.9))
    for index, (kappa, colour) in enumerate(zip(kappas, COLOURS)):
        chosen = [point for point in points if point["kappa"] == kappa]
        _curve(left, chosen, colour)
        _points(left, chosen, colour, lambda point: float(load(point["p"], point["d"])))
        _points(right, chosen, colour, lambda point: point["p"] / point["predicted"], _APART**index)
        left.axhline(float(capacity(kappa)), color=colour, lw=0.7, ls=":", zorder=0)
    right.axhline(1, color="0.3", lw=1, zorder=0)
    dimensions = sorted({point["d"] for point in points})
    for panel in (left, right):
        panel.set(xscale="log", xlabel="dimension d")
        panel.set_xticks(dimensions, [str(d) for d in dimensions], rotation=60, fontsize=8)
        panel.minorticks_off()
    left.set_ylabel(r"load stored, $p \log p / d^2$")
    right.set_ylabel("stored / predicted")
    streams = counted((point["seeds"] for point in points), "streams")
    figure.suptitle(f"Stored without a violation by L-BFGS, and predicted ({streams} a point)", fontsize=10)
    figure.legend(handles=_keys(points, kappas), loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.13, 1, 1))


def _curve(panel: Axes, points: list[dict], colour: str) -> None:
    """The prediction for the exact rank fraction between the smallest and the largest d."""
    ends = [point["d"] for point in points]
    d = np.unique(np.geomspace(min(ends), max(ends), 40).round().astype(int))
    kappa = points[0]["kappa"]
    panel.plot(d, load(np.asarray(capacity_associations(d, kappa)), d), color=colour, lw=1.3, zorder=1)


def _points(panel: Axes, points: list[dict], colour: str, height: Callable[[dict], float], aside: float = 1.0) -> None:
    for point in points:
        mark, face = MARKS[point["problem"]]
        y = height(point)
        error = y * point["error"] / point["p"]
        panel.errorbar(point["d"] * aside, y, error, fmt=mark, color=colour, mfc=face or colour, ms=5, lw=1, zorder=2)


def _keys(points: list[dict], kappas: list[float]) -> list[Line2D]:
    keys = [key(rf"$\kappa$ = {kappa:g}", color=colour, lw=3) for kappa, colour in zip(kappas, COLOURS)]
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        keys.append(key(f"{problem}, stored", color="0.3", marker=mark, mfc=face or "0.3", ls=""))
    keys.append(key("predicted, no free parameter", color="0.3", lw=1.3))
    keys.append(key("limit of large d", color="0.3", lw=0.7, ls=":"))
    return keys


LAW = Study(
    "law",
    "How many facts does L-BFGS store, at every size and rank?",
    runs,
    reached_thresholds,
    draw,
    Caption(
        "How many associations L-BFGS stores",
        "For each size and rank fraction, the mean over streams of the largest p up to which L-BFGS stores every "
        "association (bisection to 0.5 %), as a load and relative to the prediction. Bars are standard errors. A "
        "search has 1000 passes, but 300 at d = 1024 and, decoupled, at d = 300.",
        "p D(p) = 2 alpha_c(kappa) d^2 without a free parameter; for kappa < 1 an upper bound in the limit of large d.",
    ),
    compare_reach,
)
