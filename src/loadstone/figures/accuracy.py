"""Accuracy against load: original (solid), decoupled (dashed), the Hebbian rule (dotted), predicted thresholds."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.figures.style import COLOURS, PREDICTION, STYLE, save
from loadstone.theory.capacity import HEBBIAN_CAPACITY, capacity
from loadstone.theory.load import load

_STYLES = {("original", "adam"): "-", ("decoupled", "adam"): "--", ("original", "hebbian"): ":"}
_NAMES = {
    ("original", "adam"): "original, trained",
    ("decoupled", "adam"): "decoupled, trained",
    ("original", "hebbian"): "original, Hebbian",
}


def draw_accuracy(records: list[dict], stem: Path) -> list[Path]:
    """Draw one panel per rank fraction and write it beside `stem` as SVG, PDF and PNG."""
    kappas = sorted({record["kappa"] for record in records})
    dimensions = sorted({record["d"] for record in records})
    colour = dict(zip(dimensions, COLOURS))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(kappas), figsize=(3.4 * len(kappas), 3.3), sharey=True, squeeze=False)
        for panel, kappa in zip(axes[0], kappas):
            _panel(panel, [record for record in records if record["kappa"] == kappa], kappa, colour)
        axes[0, 0].set_ylabel("accuracy (mean, deviation)")
        handles = [Line2D([], [], color=colour[d], label=f"d = {d}") for d in dimensions]
        used = {(record["problem"], record["solver"]) for record in records}
        handles += [Line2D([], [], color="0.3", ls=_STYLES[way], label=_NAMES[way]) for way in _STYLES if way in used]
        handles += [Line2D([], [], color=PREDICTION, lw=1, ls=(0, (6, 2)), label="predicted, large d")]
        seeds = len({record["seed"] for record in records})
        figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, bbox_to_anchor=(0.5, 0))
        figure.suptitle(f"Accuracy against load, {seeds} seeds a point", x=0.5, y=0.98, fontsize=10)
        figure.tight_layout(rect=(0, 0.17, 1, 1))
        return save(figure, stem)


def _panel(panel: Axes, records: list[dict], kappa: float, colour: dict[int, str]) -> None:
    curves: dict[tuple, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        way = record["problem"], record["solver"], record["d"]
        curves[way][load(record["p"], record["d"])].append(record["accuracy"])
    for (problem, solver, d), points in sorted(curves.items()):
        loads = np.array(sorted(points))
        mean = np.array([np.mean(points[x]) for x in loads])
        deviation = np.array([np.std(points[x]) for x in loads])
        panel.plot(loads, mean, _STYLES[problem, solver], color=colour[d], lw=1.4)
        if problem == "decoupled":
            panel.fill_between(loads, mean - deviation, mean + deviation, color=colour[d], alpha=0.15, lw=0)
    lines = [(capacity(kappa), r"$\alpha_c$")]
    if any(record["solver"] == "hebbian" for record in records):
        lines.append((HEBBIAN_CAPACITY, r"$\alpha_c^{\mathrm{Hebb}}$"))
    for threshold, name in lines:
        panel.axvline(threshold, color=PREDICTION, lw=1, ls=(0, (6, 2)))
        panel.annotate(
            f"{name} = {threshold:.3f}", (threshold, 1.03), (0, 2), textcoords="offset points",
            color=PREDICTION, fontsize=7.5, ha="center", va="bottom",
        )  # fmt: skip
    panel.set(xlabel=r"load $\alpha = p \log p / d^2$", ylim=(0, 1.03))
    panel.set_title(rf"$\kappa = {kappa:g}$", pad=16)
