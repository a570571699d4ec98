"""The phase diagram: which loads a memory of rank fraction kappa can hold, with measured thresholds."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from loadstone.figures.style import PREDICTION, STYLE, colour, counted, legend, save
from loadstone.figures.thresholds import trained_thresholds
from loadstone.theory.capacity import capacity, capacity_associations
from loadstone.theory.load import load

_MARKS = {"original": "o", "decoupled": "s"}


def draw_phase(rows: list[dict], stem: Path) -> list[Path]:
    """alpha_c(kappa) for large d, the same predicted at each finite d, and where training first fails."""
    points = trained_thresholds(rows)
    ranks = {d: rank for rank, d in enumerate(sorted({point["d"] for point in points}))}
    kappas = np.linspace(0.02, 1, 60)
    with plt.rc_context(STYLE):
        figure, panel = plt.subplots(figsize=(5.2, 4.4))
        limit = np.array([capacity(kappa) for kappa in kappas])
        panel.fill_between(kappas, limit, color=PREDICTION, alpha=0.08, lw=0)
        panel.plot(kappas, limit, color=PREDICTION, lw=1.5, label="predicted, large d")
        for d in sorted({point["d"] for point in points}):
            finite = [load(capacity_associations(d, kappa), d) for kappa in kappas if kappa * d >= 1]
            panel.plot(kappas[kappas * d >= 1], finite, color=colour(d), lw=1.1, ls="--", label=f"predicted, d = {d}")
        for point in points:
            # Points of one rank would cover each other.
            shift = 0.005 * (2 * ranks[point["d"]] - len(ranks) + (1 if point["problem"] == "decoupled" else 0))
            panel.errorbar(
                point["kappa"] + shift, point["alpha"], point["error"], fmt=_MARKS[point["problem"]], ms=5, lw=1,
                color=colour(point["d"]), mfc="white" if point["problem"] == "decoupled" else None,
                label=f"{point['problem']}, d = {point['d']}, trained",
            )  # fmt: skip
        panel.set(xlabel=r"rank fraction $\kappa$", ylabel=r"load $\alpha$", xlim=(0, 1.03), ylim=(0, None))
        panel.annotate("storable as d grows", (0.55, 0.2), color=PREDICTION, fontsize=9)
        seeds = f" ({counted((point['seeds'] for point in points), 'seeds')} a point)" if points else ""
        panel.set_title(f"Phase diagram{seeds}", fontsize=10)
        lines = legend(figure, 2)
        figure.tight_layout(rect=(0, 0.05 * lines + 0.01, 1, 1))
        return save(figure, stem, {"points": points})
