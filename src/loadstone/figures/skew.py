"""How many facts fit when some answers are asked for more often than others: proved, and by the formula."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.skew import compare_skew, ratio, skew_points
from loadstone.studies.kit.panels import COLOURS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.study import Caption, Figure, from_catalogue

_KINDS = {
    "balanced": ("o", COLOURS[0], "balanced"),
    "uniform": ("s", COLOURS[2], "random, all alike"),
    "zipf:1": ("^", COLOURS[5], "random, as 1/y"),
}


def draw_skew(rows: list[Row], stem: Path) -> list[Path]:
    """Above how many facts fit, below the ratio to the formula, both against the number of answers."""
    points = [point for point in skew_points(rows) if point["frequencies"] in _KINDS]
    if not points:
        raise NothingToDrawError("no capacity is proved")
    with plt.rc_context(STYLE):
        figure, (above, below) = plt.subplots(
            2, 1, figsize=(5.4, 6.6), sharex=True, gridspec_kw={"height_ratios": (2.2, 1)}
        )
        for (_, drawn), group in grouped(points, "d", "frequencies"):
            _curves(above, drawn, group)
            _proved(above, below, drawn, group)
        below.axhline(1, color="0.3", lw=1, zorder=0)
        above.set(ylabel="facts that fit, N")
        below.set(xlabel="answers M", ylabel="proved / formula")
        counts = sorted({point["answers"] for point in points})
        below.set_xticks(counts, [str(count) for count in counts])
        sizes = ", ".join(str(d) for d in sorted({point["d"] for point in points}))
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Answers asked for unequally often, d = {sizes}\n(proved, {streams} a point)", fontsize=10)
        lines = legend(figure, 2)
        figure.tight_layout(rect=(0, 0.027 * lines + 0.01, 1, 1))
        return save(figure, stem, {"points": points})


def _curves(panel: Axes, drawn: str, points: list[dict]) -> None:
    """The formula for the targets as drawn, with its error of sampling; dashed for exactly the given frequencies."""
    _, ink, name = _KINDS[drawn]
    answers, value, error = (np.array([point[key] for point in points]) for key in _PREDICTED)
    panel.plot(answers, value, color=ink, lw=1.2, zorder=1, label=f"{name}: formula")
    panel.fill_between(answers, value - error, value + error, color=ink, alpha=0.2, lw=0, zorder=0)
    if drawn.startswith("zipf"):
        given, error = (np.array([point[key] for point in points]) for key in ("given", "given, error"))
        panel.plot(answers, given, "--", color=ink, lw=1, zorder=1, label="counts just as 1/y: formula")
        panel.fill_between(answers, given - error, given + error, color=ink, alpha=0.1, lw=0, zorder=0)


_PREDICTED = ("answers", "predicted", "predicted, error")


def _proved(above: Axes, below: Axes, drawn: str, points: list[dict]) -> None:
    mark, ink, name = _KINDS[drawn]
    # Side by side where they would lie on each other.
    aside = 0.15 * (list(_KINDS).index(drawn) - 1)
    for point in points:
        value, error = ratio(point)
        style: dict[str, Any] = {"fmt": mark, "color": ink, "ms": 4.5, "lw": 1, "zorder": 2}
        above.errorbar(point["answers"], point["facts"], point["error"], label=f"{name}: proved", **style)
        below.errorbar(point["answers"] + aside, value, error, **style)


SKEW = Figure(
    "skew",
    from_catalogue("skew"),
    draw_skew,
    compare_skew,
    Caption(
        "Facts that fit when some answers are asked for more often",
        "The mean exact capacity of streams of N facts with M shared outputs, each proved, for three kinds of targets: "
        "every block of M facts has each answer once; each fact draws any answer; each fact draws answer y with a "
        "probability proportional to 1/y. Bars are standard errors; below they include those of the sampled formula.",
        "The replica-symmetric formula of theory/skew.py for equal counts (d (M - 1) / D(M)), and its mean over random "
        "counts; dashed for counts exactly as 1/y. Bands are its errors of sampling. It is for many facts an answer.",
    ),
)
