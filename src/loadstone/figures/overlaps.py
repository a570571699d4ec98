"""The law of the overlap over streams: how much it scatters, and its shape."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.overlaps import compare_overlaps, law_in_words, overlap_laws
from loadstone.studies.kit.panels import COLOURS, MARKS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.study import Caption, Figure, from_catalogue

_BINS = np.linspace(-3.5, 3.5, 15)


def draw_overlaps(rows: list[Row], stem: Path) -> list[Path]:
    """Left and in the middle the spread against p, for each problem; right all overlaps in units of their deviation."""
    points = overlap_laws(rows)
    if not points:
        raise NothingToDrawError("there are too few streams to tell how overlaps scatter")
    problems = [problem for problem in MARKS if any(point["problem"] == problem for point in points)]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(problems) + 1, figsize=(3.2 * (len(problems) + 1), 4.0), squeeze=False)
        inks = dict(zip(sorted({point["share"] for point in points}), COLOURS))
        for panel, problem in zip(axes[0], problems):
            _spreads(panel, [point for point in points if point["problem"] == problem], inks)
            panel.set_title(problem)
            panel.sharey(axes[0, 0])
        axes[0, 0].set_ylabel("deviation of the overlap over streams")
        histograms = _shapes(axes[0, -1], points, problems)
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"How the overlap of two solutions scatters over streams ({streams} a point)", fontsize=10)
        lines = legend(figure, 4)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        shown = [{name: value for name, value in point.items() if name != "seeds"} for point in points]
        return save(figure, stem, {"points": shown, "histograms": histograms})


def _spreads(panel: Axes, points: list[dict], inks: dict[float, str]) -> None:
    for (share,), group in grouped(points, "share"):
        p, spread, error, sampling = (
            np.array([one[name] for one in group], float) for name in ("p", "spread", "spread_error", "sampling")
        )
        words = f"{share:g} of the capacity"
        panel.errorbar(p, spread, error, fmt="o", color=inks[share], ms=4, lw=1, label=words)
        panel.plot(p, sampling, "x", color=inks[share], ms=4)
        level = np.exp(np.average(np.log(spread * np.sqrt(p)), weights=(spread / error) ** 2))
        ends = np.array([p.min(), p.max()])
        panel.plot(ends, level / np.sqrt(ends), "--", color=inks[share], lw=1)
    panel.plot([], [], "--", color="0.3", lw=1, label=r"$\propto p^{-1/2}$")
    panel.plot([], [], "x", color="0.3", ms=4, label="noise of finite chains")
    panel.set(xscale="log", yscale="log", xlabel="associations p")


def _shapes(panel: Axes, points: list[dict], problems: list[str]) -> dict[str, list[float]]:
    found = {}
    for problem, ink in zip(problems, ("0.3", COLOURS[4])):
        values = np.concatenate([point["standardised"] for point in points if point["problem"] == problem])
        density = np.histogram(values, _BINS)[0] / (len(values) * (_BINS[1] - _BINS[0]))
        panel.stairs(density, _BINS, color=ink, lw=1.3, label=f"{problem}, all points")
        found[problem] = density.tolist()
    grid = np.linspace(-3.5, 3.5, 141)
    panel.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color=PREDICTION, lw=1.2, label="normal law")
    panel.set(xlabel="(overlap - mean) / deviation", ylabel="density", title="shape")
    return found


OVERLAPS = Figure(
    "overlaps",
    from_catalogue("space"),
    draw_overlaps,
    compare_overlaps,
    Caption(
        "How the overlap of two solutions scatters from stream to stream",
        "The deviation over streams of the overlap, without the noise of finite chains (crosses), against the number "
        "of associations at three shares of the capacity; right all overlaps less their mean, in units of their "
        "deviation.",
        "An overlap that is a mean over p independent associations would scatter as p^(-1/2) (dashed, through the "
        "points) and be normal.",
    ),
    law_in_words,
)
