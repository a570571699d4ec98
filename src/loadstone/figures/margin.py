"""The largest margin against the load, and recall from noisy inputs by the memories that have it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.evidence.margins import compare_margins, largest_margins, load_of, noisy_recalls
from loadstone.studies.kit.panels import COLOURS, MARKS, STYLE, NothingToDrawError, colour, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.margin import largest_margin

#: Points of the curve of the limit, for each dimension.
_CURVE = 25
#: Colours of the loads in the right panel, none of which is a dimension's.
_TINTS = (COLOURS[4], COLOURS[1], COLOURS[5])


def draw_margin(rows: list[Row], stem: Path) -> list[Path]:
    """Left the largest margin against the load for each d, right recall against noise at the largest d."""
    gaussian = [row for row in rows if row["law"] == "gaussian"]
    points, recalls = largest_margins(gaussian), noisy_recalls(gaussian)
    if not points:
        raise NothingToDrawError("no margin is proved")
    d = max(point["d"] for point in recalls)
    recalls = [point for point in recalls if point["d"] == d]
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.6))
        _margins(left, points)
        loads = _recalls(right, recalls)
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Memories of largest margin, each proved ({streams} a point)", fontsize=10)
        figure.legend(handles=_keys(points, loads), loc="lower center", ncols=4, frameon=False)
        figure.tight_layout(rect=(0, 0.16, 1, 1))
        return save(figure, stem, {"margins": largest_margins(rows), "recalls": noisy_recalls(rows)})


def _margins(panel: Axes, points: list[dict]) -> None:
    for d in sorted({point["d"] for point in points}):
        here = [point for point in points if point["d"] == d]
        most = float(capacity_associations(d))
        whole = np.unique(np.linspace(min(point["p"] for point in here), int(most), _CURVE).round().astype(int))
        limit = [(load_of(p, d), largest_margin(d * d, p)) for p in map(int, whole)]
        panel.plot(*zip(*limit), color=colour(d), lw=1.2, zorder=0)
        finite = sorted({(point["load"], point["predicted"]) for point in here if point["predicted"] is not None})
        if finite:
            panel.plot(*zip(*finite), "--", color=colour(d), lw=1.2, zorder=1)
        for point in here:
            mark, face = MARKS[point["problem"]]
            draw = partial(panel.errorbar, fmt=mark, color=colour(d), mfc=face or colour(d), ms=4.5, lw=1, zorder=2)
            draw(point["load"], point["margin"], point["error"])
    panel.set(xlabel="load, N D(N) / d²", ylabel="largest margin / |W|", ylim=(0, None))


def _recalls(panel: Axes, recalls: list[dict]) -> list[Line2D]:
    """The least, the middle and the largest load, and their keys."""
    sizes = sorted({point["p"] for point in recalls})
    chosen = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})
    for p, tint in zip(chosen, _TINTS):
        for point in (point for point in recalls if point["p"] == p):
            mark, face = MARKS[point["problem"]]
            panel.plot(point["noises"], point["predicted"], "--", color=tint, lw=1.2, zorder=1)
            draw = partial(panel.errorbar, fmt=mark, color=tint, mfc=face or tint, ms=4.5, lw=1, zorder=2)
            draw(point["noises"], point["recalled"], point["error"])
    d = recalls[0]["d"]
    panel.set(xlabel=f"noise, per component of an input (d = {d})", ylabel="share recalled", ylim=(0, 1.03))
    return [Line2D([], [], color=tint, lw=3, label=f"load {load_of(p, d):.2f}") for p, tint in zip(chosen, _TINTS)]


def _keys(points: list[dict], loads: list[Line2D]) -> list[Line2D]:
    keys = [Line2D([], [], color=colour(d), lw=3, label=f"d = {d}") for d in sorted({point["d"] for point in points})]
    keys += loads
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        name = f"{problem}, measured"
        keys.append(Line2D([], [], color="0.3", marker=mark, mfc=face or "0.3", ls="", ms=4.5, label=name))
    keys.append(Line2D([], [], color="0.3", ls="--", lw=1.2, label="predicted at this d"))
    keys.append(Line2D([], [], color="0.3", lw=1.2, label="limit of large d"))
    return keys


MARGIN = Figure(
    "margin",
    from_catalogue("margin"),
    draw_margin,
    compare_margins,
    Caption(
        "How large a margin all associations can have, and how much noise it bears",
        "Left the mean over streams of the largest margin that a memory of unit norm can give to all associations at "
        "once, each proved to a millionth; Gaussian vectors. Right the share that such memories recall from noisy "
        "inputs, at the largest d. Bars are standard errors.",
        "N D_kappa(N) = d^2 in the limit of large d; at finite d the same with the distance in the d dimensions of a "
        "query, sampled, for decoupled outputs. Recall is predicted from each memory's margins. No free parameter.",
    ),
)
