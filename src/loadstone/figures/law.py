"""How many associations can be stored, and are: L-BFGS at the predicted capacity, at every size and rank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.studies.kit.panels import COLOURS, MARKS, STYLE, NothingToDrawError, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.studies.kit.thresholds import compare_reach, reached_thresholds
from loadstone.theory.capacity import capacity, capacity_associations
from loadstone.theory.load import load

#: Points of different rank fractions are drawn side by side where they would lie on each other.
_APART = 1.025


def draw_law(rows: list[Row], stem: Path) -> list[Path]:
    """Left the load that was stored, right its ratio to the prediction."""
    points = reached_thresholds(rows)
    if not points:
        raise NothingToDrawError("no stream was stored up to its limit")
    kappas = sorted({point["kappa"] for point in points}, reverse=True)
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.9))
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
        return save(figure, stem, {"points": points})


def _curve(panel: Axes, points: list[dict], colour: str) -> None:
    """The prediction for the exact rank fraction between the smallest and the largest d."""
    ends = [point["d"] for point in points]
    d = np.unique(np.geomspace(min(ends), max(ends), 40).round().astype(int))
    kappa = points[0]["kappa"]
    panel.plot(d, load(np.asarray(capacity_associations(d, kappa)), d), color=colour, lw=1.3, zorder=1)


def _points(
    panel: Axes, points: list[dict], colour: str, height: Callable[[dict], float], aside: float = 1.0
) -> None:
    for point in points:
        mark, face = MARKS[point["problem"]]
        y = height(point)
        error = y * point["error"] / point["p"]
        panel.errorbar(point["d"] * aside, y, error, fmt=mark, color=colour, mfc=face or colour, ms=5, lw=1, zorder=2)


def _keys(points: list[dict], kappas: list[float]) -> list[Line2D]:
    names = [rf"$\kappa$ = {kappa:g}" for kappa in kappas]
    keys = [Line2D([], [], color=colour, lw=3, label=name) for name, colour in zip(names, COLOURS)]
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        keys.append(Line2D([], [], color="0.3", marker=mark, mfc=face or "0.3", ls="", label=f"{problem}, stored"))
    keys.append(Line2D([], [], color="0.3", lw=1.3, label="predicted, no free parameter"))
    keys.append(Line2D([], [], color="0.3", lw=0.7, ls=":", label="limit of large d"))
    return keys


LAW = Figure(
    "law",
    from_catalogue("law"),
    draw_law,
    compare_reach,
    Caption(
        "How many associations L-BFGS stores",
        "For each size and rank fraction, the mean over streams of the largest p up to which L-BFGS stores every "
        "association (bisection to 0.5 %), as a load and relative to the prediction. Bars are standard errors. A "
        "search has 1000 passes, but 300 at d = 1024 and, decoupled, at d = 300.",
        "p D(p) = 2 alpha_c(kappa) d^2 without a free parameter; for kappa < 1 an upper bound in the limit of large d.",
    ),
)
