"""How alike the memories that store everything are, and how many there are, against the load."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.evidence.space import compare_space, solution_spaces
from loadstone.studies.kit.panels import MARKS, STYLE, NothingToDrawError, colour, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.entropy import free_entropy, overlap


def draw_space(rows: list[Row], stem: Path) -> list[Path]:
    """Left the overlap of two solutions, right the free entropy."""
    points = solution_spaces(rows)
    if not points:
        raise NothingToDrawError("no memories were sampled")
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.4))
        top = max(point["load"] for point in points)
        below = np.linspace(0.01, min(0.49, top), 60)
        left.plot(below, overlap(below), color="0.6", lw=1.2, zorder=0)
        right.plot(below, free_entropy(below), color="0.6", lw=1.2, zorder=0)
        for panel, name in ((left, "overlap"), (right, "free_entropy")):
            _panel(panel, points, name)
        left.set(xlabel=r"load $\alpha = p \log p / d^2$", ylabel="overlap of two solutions", ylim=(0, 1))
        right.set(xlabel=r"load $\alpha = p \log p / d^2$", ylabel="free entropy for each dimension")
        least = min((point["free_entropy"] for point in points if point["free_entropy"] is not None), default=-1)
        right.set_ylim(1.3 * least, 0)
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"All memories that store everything, sampled ({streams} a point)", fontsize=10)
        figure.legend(handles=_keys(points), loc="lower center", ncols=5, frameon=False)
        figure.tight_layout(rect=(0, 0.14, 1, 1))
        return save(figure, stem, {"points": points})


def _panel(panel: Axes, points: list[dict], name: str) -> None:
    for d in sorted({point["d"] for point in points}):
        of_size = [point for point in points if point["d"] == d]
        here = [point for point in of_size if point[name] is not None]
        # The original problem has the same prediction once its outputs show all directions.
        decoupled = [point for point in of_size if point["problem"] == "decoupled"]
        finite = sorted((point["load"], point[f"{name}_predicted"]) for point in decoupled)
        if finite:
            finite = [(0.0, 0.0), *finite]
            panel.plot(*zip(*finite), "--", color=colour(d), lw=1.2, zorder=1)
        for point in here:
            mark, face = MARKS[point["problem"]]
            panel.errorbar(
                point["load"], point[name], point[f"{name}_error"], fmt=mark, color=colour(d), mfc=face or colour(d),
                ms=4.5, lw=1, zorder=2,
            )  # fmt: skip


def _keys(points: list[dict]) -> list[Line2D]:
    keys = [Line2D([], [], color=colour(d), lw=3, label=f"d = {d}") for d in sorted({point["d"] for point in points})]
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        keys.append(Line2D([], [], color="0.3", marker=mark, mfc=face or "0.3", ls="", ms=4.5, label=problem))
    keys.append(Line2D([], [], color="0.3", ls="--", lw=1.2, label="predicted at this p"))
    keys.append(Line2D([], [], color="0.6", lw=1.2, label="limit of large p"))
    return keys


SPACE = Figure(
    "space",
    from_catalogue("space"),
    draw_space,
    compare_space,
    Caption(
        "The set of all solutions, measured: how alike two of them are, and how many there are",
        "Left the mean cosine of two memories that store everything, right the logarithm of the share of all Gaussian "
        "memories that do, for each dimension of W. Both are sampled; means over streams, bars are standard errors. "
        "Right there is a point only where the share was large enough to be seen for every stream.",
        "The replica-symmetric functional, minimised at the true number of associations (dashed), and its limit of "
        "large p: overlap 2 alpha and free entropy log(1 - 2 alpha) / 2. No free parameter.",
    ),
)
