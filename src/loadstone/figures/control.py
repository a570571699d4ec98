"""Float16 beside float32: accuracy and loss of the same runs."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from loadstone.evidence.control import QUANTITIES, compare_control, control_points
from loadstone.studies.kit.panels import STYLE, NothingToDrawError, colour, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue

#: Runs of one load are drawn side by side.
_APART = 0.003


def draw_control(rows: list[Row], stem: Path) -> list[Path]:
    """The difference of each run from its twin, and the mean with its standard error, against the load."""
    points = control_points(rows)
    if not points:
        raise NothingToDrawError("no run was done in both precisions")
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(7.6, 3.9))
        for panel, name in zip(panels, QUANTITIES):
            for d in sorted({point["d"] for point in points}):
                chosen = [point for point in points if point["d"] == d]
                for point in chosen:
                    runs = point[f"{name}_differences"]
                    x = point["load"] + _APART * (np.arange(len(runs)) - (len(runs) - 1) / 2)
                    panel.plot(x, runs, ".", color=colour(d), alpha=0.4, ms=4)
                drawn = ("load", f"{name}_difference", f"{name}_error")
                x, y, error = ([point[one] for point in chosen] for one in drawn)
                panel.errorbar(x, y, error, fmt="o", color=colour(d), ms=5, lw=1.2, label=f"d = {d}")
            panel.axhline(0, color="0.3", lw=1, zorder=0)
            panel.set(xlabel=r"load $p \log p / d^2$", ylabel=f"{name}, {points[0]['digits']} - float32")
        seeds = counted((point["seeds"] for point in points), "seeds")
        figure.suptitle(f"The same runs with products of fewer digits ({seeds} a point)", fontsize=10)
        lines = legend(figure, 4)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"points": points})


CONTROL = Figure(
    "control",
    from_catalogue("control"),
    draw_control,
    compare_control,
    Caption(
        "Whether float16 changes what is found",
        "Accuracy and loss of the paper's protocol with products in float16 (sums in float32), less those of the same "
        "run with products in float32: the same associations from the same start. Small points are runs, large ones "
        "means over seeds with standard errors.",
        "Paths part because digits differ, so single runs differ; the means should not. Loss and accuracy of the final "
        "memory are measured in float32 in both cases.",
    ),
)
