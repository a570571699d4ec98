"""What studies of scores share: histograms of records as densities, and the panels that show them.

Scores are in units of the deviation of those of all outputs but the target, which records call the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float64

from loadstone.studies.kit.panels import MARKS, Axes, Figure, NothingToDrawError, counted, legend, subplots
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.load import load

#: This many bins of a record are joined to one of the picture.
_JOINED = 4

#: The scores of a record, by name.
Scores = Mapping[str, Any]


def bin_edges(scores: Scores) -> Float64[np.ndarray, "edges"]:
    """The edges of the bins of a record. Scores beyond the ends are counted in the first and in the last bin."""
    return np.linspace(scores["low"], scores["high"], len(scores["others"]) + 1)


def densities(scores: Sequence[Scores], *names: str, joined: int = _JOINED) -> dict[str, list[float]]:
    """The edges of the bins, and for each name the histogram of all these scores together, as a density.

    joined: how many bins of a record become one.
    """
    edges = bin_edges(scores[0])
    shown = {"edges": edges[::joined].tolist()}
    for name in names:
        counts = np.sum([one[name] for one in scores], axis=0)
        density = counts / (counts.sum() * (edges[1] - edges[0]))
        shown[name] = density.reshape(-1, joined).mean(axis=1).tolist()
    return shown


def of_each_panel(rows: list[Row], read: Callable[[list[Row]], dict]) -> list[dict]:
    """A point for each size and problem, with what `read` returns for its rows."""
    panels = [
        {"problem": problem, "d": d, "p": p, "seeds": len(group)} | read(group)
        for (p, d, problem), group in grouped(rows, "p", "d", "problem")
    ]
    return sorted(panels, key=lambda point: (point["p"], list(MARKS).index(point["problem"])))


def moment_errors(scatter: float, count: int) -> dict[str, float]:
    """Standard errors of the mean and of the deviation of `count` scores, taken as independent and normal."""
    return {"mean": scatter / math.sqrt(count), "deviation": scatter / math.sqrt(2 * count)}


def draw_panels(figure: Figure, points: list[dict], draw: Callable[[Axes, dict], None], title: str) -> None:
    """A row of panels for each size, a column for each problem; those of a single problem are beside each other.

    draw: draws one point on its panel.
    """
    if not points:
        raise NothingToDrawError("there are no runs with scores")
    sizes = sorted({point["p"] for point in points})
    problems = [problem for problem in MARKS if any(point["problem"] == problem for point in points)]
    across = len(problems) == 1
    rows, columns = (1, len(sizes)) if across else (len(sizes), len(problems))
    size = (3.2 * columns, 0.9 + (2.5 if across else 1.9) * rows)
    panels = subplots(figure, rows, columns, size=size, sharex=not across, squeeze=False)
    of_panel = {(point["p"], point["problem"]): point for point in points}
    for panel, place in zip(panels.flat, product(sizes, problems)):
        if place not in of_panel:
            panel.set_axis_off()
            continue
        point = of_panel[place]
        draw(panel, point)
        alpha = load(point["p"], point["d"])
        panel.set_title(rf"{point['problem']}, $\alpha$ = {alpha:.2f} (p = {point['p']})", fontsize=8.5)
        panel.set_yticks([])
    for panel in panels[-1]:
        panel.set_xlabel("score / deviation of the others")
    lines = legend(figure, 3 if across else 2)
    seeds = counted((point["seeds"] for point in points), "seeds")
    figure.suptitle(f"{title}, d = {points[0]['d']} ({seeds})", y=0.99, fontsize=10)
    figure.tight_layout(rect=(0, (0.12 + 0.2 * lines) / size[1], 1, 1))


def shade(panel: Axes, edges: Sequence[float], density: Sequence[float], ink: str, label: str) -> None:
    """A histogram with its outline."""
    panel.stairs(density, edges, fill=True, color=ink, alpha=0.45, label=label)
    panel.stairs(density, edges, color=ink, lw=0.8)
