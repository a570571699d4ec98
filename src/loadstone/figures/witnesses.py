"""Singular values of the memories that prove a capacity, and how their excess over Gaussian matrices falls with d."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.witnesses import FOURTH, compare_witnesses, falling_excess, witness_points
from loadstone.studies.kit.panels import COLOURS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.spectra import quarter_circle

_INKS = {"original": COLOURS[1], "decoupled": COLOURS[0]}
_MARKS = {"original": "s", "decoupled": "o"}
_BINS = np.linspace(0, 3, 25)


def draw_witnesses(rows: list[Row], stem: Path) -> list[Path]:
    """Left and middle: singular values of both problems beside the quarter circle; right: the excess against d."""
    points = witness_points(rows)
    if not points:
        raise NothingToDrawError("no memory proves a capacity")
    numbers = []
    # Colours of these figures are for larger d, where 20 and 50 share one.
    inks = dict(zip(sorted({point["d"] for point in points}), (COLOURS[4], COLOURS[0], COLOURS[2], COLOURS[5]) * 4))
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.8))
        for panel, problem in zip(panels, ("decoupled", "original")):
            for d in sorted({point["d"] for point in points if point["problem"] == problem}):
                numbers.append({"problem": problem, "d": d} | _histogram(panel, rows, problem, d, inks[d]))
            grid = np.linspace(0, 2, 201)
            panel.plot(grid, quarter_circle().density(grid), color="black", lw=1.3, label="quarter circle, large d")
            panel.set(title=f"{problem}, proved", xlabel="singular value / root mean square", ylabel="density")
        fits = {problem: falling_excess(points, problem) for problem in _INKS}
        for problem in _INKS:
            _excess(panels[2], points, problem)
            if fit := fits[problem]:
                d = np.geomspace(10, 60, 40)
                words = rf"{problem}: ${fit.c:.1f}\, d^{{-x}}$, $x$ = {fit.x:.2f} $\pm$ {fit.x_error:.2f}"
                panels[2].plot(d, fit.c * d**-fit.x, color=_INKS[problem], lw=1.1, label=words)
        panels[2].set(xscale="log", yscale="log", xlabel="dimension d", title=r"excess of $\langle s^4\rangle$")
        panels[2].set_ylabel(r"$\langle s^4\rangle/\langle s^2\rangle^2$ above Gaussian matrices")
        sizes = sorted({point["d"] for point in points})
        panels[2].set_xticks(sizes, [str(d) for d in sizes])
        low, high = panels[2].get_ylim()
        ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1, 2, 5) if low <= tick <= high]
        panels[2].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        panels[2].minorticks_off()
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Memories that prove a capacity ({streams} a curve)", fontsize=10)
        lines = legend(figure, 4)
        figure.tight_layout(rect=(0, 0.055 * lines, 1, 1))
        return save(figure, stem, {"points": points, "histograms": numbers})


def _histogram(panel: Axes, rows: list[Row], problem: str, d: int, ink: str) -> dict:
    chosen = [
        np.array(row["singular_values"])
        for row in rows
        if (row["problem"], row["d"]) == (problem, d) and row.get("singular_values") is not None
    ]
    values = np.concatenate([one / math.sqrt(np.mean(one**2)) for one in chosen])
    density = np.histogram(values, _BINS)[0] / (len(values) * (_BINS[1] - _BINS[0]))
    panel.stairs(density, _BINS, color=ink, lw=1.3, label=f"d = {d}")
    return {"edges": _BINS.tolist(), "density": density.tolist()}


def _excess(panel: Axes, points: list[dict], problem: str) -> None:
    chosen = [point for point in points if point["problem"] == problem and point[FOURTH]["excess"] > 0]
    x, y, error = (
        [point["d"] for point in chosen],
        [point[FOURTH]["excess"] for point in chosen],
        [point[FOURTH]["excess_error"] for point in chosen],
    )
    panel.errorbar(x, y, error, fmt=_MARKS[problem], color=_INKS[problem], ms=5, lw=1)


def _remarks(rows: list[Row]) -> list[str]:
    """How much |W e|^2 scatters over inputs, which follows from the fourth moment."""
    return [
        f"|W e|^2 of a new input scatters by {math.sqrt(2 * point[FOURTH]['mean'] / point['d']):.3f} of its mean "
        f"({point['problem']}, d = {point['d']}); for a Gaussian matrix it would be "
        f"{math.sqrt(2 * point[FOURTH]['gaussian'] / point['d']):.3f}."
        for point in witness_points(rows)
    ]


WITNESSES = Figure(
    "witnesses",
    from_catalogue("witnesses"),
    draw_witnesses,
    compare_witnesses,
    Caption(
        "Spectra of the memories that prove a capacity",
        "Singular values of the memories that store a stream up to its exact capacity, in units of their root mean "
        "square, and by how much the fourth moment exceeds that of Gaussian matrices of the same size.",
        "At capacity and for large d the law is a quarter circle, that of Gaussian matrices. At finite d there is no "
        "prediction for a proved memory; a correction of order 1/d has the exponent 1. The paper conjectures that "
        "original and decoupled memories share their capacity, scores and spectra in the limit.",
    ),
    remarks=_remarks,
)
