"""Which loads can a memory of each rank hold? The phase diagram, with the loads at which training first fails."""

from __future__ import annotations

import numpy as np

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import MARKS, PREDICTION, Figure, colour, counted, key, subplots, trained_keys
from loadstone.studies.kit.points import errorbars
from loadstone.studies.kit.runs import protocol
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.kit.thresholds import compare_thresholds, compare_with_limit, trained_thresholds
from loadstone.theory.capacity import capacity, capacity_associations
from loadstone.theory.load import load


def compare(points: list[dict]) -> list[Comparison]:
    """Where training fails, compared with the capacity of that size and rank, and with that of the limit."""
    return compare_thresholds(points) + compare_with_limit(points)


def draw(figure: Figure, points: list[dict]) -> None:
    """alpha_c(kappa) for large d, the same predicted at each finite d, and where training first fails."""
    order = sorted({point["d"] for point in points})
    kappas = np.linspace(0.02, 1, 60)
    panel = subplots(figure, size=(5.2, 4.2))
    limit = np.array([capacity(kappa) for kappa in kappas])
    panel.fill_between(kappas, limit, color=PREDICTION, alpha=0.08, lw=0)
    panel.plot(kappas, limit, color=PREDICTION, lw=1.5)
    for d in order:
        finite = [float(load(capacity_associations(d, kappa), d)) for kappa in kappas if kappa * d >= 1]
        panel.plot(kappas[kappas * d >= 1], finite, color=colour(d), lw=1.1, ls="--")
    for point in points:
        # Points of the same rank fraction would cover each other.
        shift = 0.005 * (2 * order.index(point["d"]) - len(order) + (point["problem"] == "decoupled"))
        moved = point | {"kappa": point["kappa"] + shift}
        errorbars(panel, [moved], ("kappa", "alpha", "error"), colour(point["d"]), MARKS[point["problem"]])
    panel.set(xlabel=r"rank fraction $\kappa$", ylabel=r"load $\alpha$", xlim=(0, 1.03), ylim=(0, None))
    panel.annotate("storable as d grows", (0.55, 0.2), color=PREDICTION, fontsize=9)
    seeds = f" ({counted((point['seeds'] for point in points), 'seeds')} a point)" if points else ""
    panel.set_title(f"Phase diagram, Adam with the paper's protocol{seeds}", fontsize=10)
    keys = [key("predicted, large d", color=PREDICTION, lw=1.5)]
    keys += [key("predicted at each d", color="0.3", lw=1.1, ls="--")] if points else []
    keys += trained_keys(points)
    figure.legend(handles=keys, loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.048 * -(-len(keys) // 3) + 0.01, 1, 1))


PHASE = Study(
    "phase",
    "Which loads can a memory of each rank hold?",
    protocol,
    trained_thresholds,
    draw,
    Caption(
        "What can be stored, by rank and load",
        "Loads at which Adam with the paper's protocol first fails, for each rank.",
        "Below the red curve everything can be stored as d grows; the dashed curves are the same prediction at "
        "finite d.",
    ),
    compare,
)
