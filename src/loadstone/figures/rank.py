"""How many associations a memory of rank m stores at most, as far as searches find it, beside the replica value."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.ranks import EVERYTHING, ONE_START, compare_ranks, stored_by_rank
from loadstone.studies.kit.panels import COLOURS, MARKS, STYLE, NothingToDrawError, counted, save
from loadstone.studies.kit.rows import Row, deviation
from loadstone.studies.kit.study import Caption, Figure, from_catalogue


def draw_rank(rows: list[Row], stem: Path) -> list[Path]:
    """Left everything tried, for each d; right each help alone."""
    points = stored_by_rank(rows)
    best = [point for point in points if point["help"] == EVERYTHING]
    if not best:
        raise NothingToDrawError("no stream was stored up to its limit")
    helps = [point for point in points if point["help"] != EVERYTHING]
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2 if helps else 1, figsize=(8.2 if helps else 5.8, 4.3), squeeze=False)
        _everything(panels[0, 0], best)
        if helps:
            _each_help(panels[0, 1], [*helps, *best])
        for panel in panels[0]:
            panel.axhline(1, color="0.3", lw=1, zorder=0)
            panel.set(xlabel="rank fraction m / d", ylabel="largest p stored / replica value")
            panel.legend(frameon=False, fontsize=7.5, loc="lower right" if helps else "best")
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Stored without a violation at each rank, by L-BFGS ({streams} a point)", fontsize=10)
        figure.tight_layout()
        return save(figure, stem, {"points": points})


def _everything(panel: Axes, points: list[dict]) -> None:
    kinds = sorted({(point["problem"], point["d"]) for point in points}, key=lambda kind: (kind[0] != "original", kind))
    for (problem, d), ink in zip(kinds, COLOURS):
        chosen = [point for point in points if (point["problem"], point["d"]) == (problem, d)]
        _line(panel, chosen, ink, MARKS[problem], f"{problem}, d = {d}")
        for point in chosen:
            if point["rank"] == d and "proved" in point:
                panel.plot(1, point["proved"] / point["predicted"], "*", color=ink, mec="0.2", mew=0.6, ms=11, zorder=3)
    panel.plot([], [], "*", color="white", mec="0.2", mew=0.6, ms=11, label="full rank, proved")
    panel.set_title("Everything tried", fontsize=9)


def _each_help(panel: Axes, points: list[dict]) -> None:
    """The smallest dimensions have each help alone; its line is full for the first and broken for the second."""
    alone = {point["help"] for point in points} - {EVERYTHING, ONE_START}
    names = [ONE_START, *sorted(alone), EVERYTHING]
    dimensions = sorted({point["d"] for point in points if point["help"] != EVERYTHING})
    points = [point for point in points if point["problem"] == "original"]
    for d, style, mark in zip(dimensions, ("-", ":"), (("o", None), ("^", "white"))):
        tried = _on_the_same_streams([point for point in points if point["d"] == d])
        for name, ink in zip(names, COLOURS):
            chosen = [point for point in tried if point["help"] == name]
            if chosen:
                _line(panel, chosen, ink, mark, f"{name}, d = {d}", style)
    panel.set_title("One start, and each help alone", fontsize=9)


def _on_the_same_streams(points: list[dict]) -> list[dict]:
    """The points of ranks at which each help was tried alone, as means over the streams that all of them have."""
    found = []
    for rank in sorted({point["rank"] for point in points if point["help"] != EVERYTHING}):
        alike = [point for point in points if point["rank"] == rank]
        streams = set.intersection(*(set(point["of_stream"]) for point in alike))
        for point in alike if streams else ():
            stored = [point["of_stream"][stream] for stream in sorted(streams)]
            error = deviation(stored) / math.sqrt(len(stored))
            found.append(point | {"stored": float(np.mean(stored)), "error": error, "streams": len(stored)})
    return found


def _line(
    panel: Axes, points: list[dict], ink: str, mark: tuple[str, str | None], label: str, style: str = "-"
) -> None:
    fractions = [point["rank"] / point["d"] for point in points]
    ratios = [point["stored"] / point["predicted"] for point in points]
    errors = [point["error"] / point["predicted"] for point in points]
    shape, face = mark
    panel.errorbar(
        fractions, ratios, errors, color=ink, marker=shape, mfc=face or ink, ls=style, label=label, ms=5, lw=1
    )  # fmt: skip


RANK = Figure(
    "rank",
    from_catalogue("rank"),
    draw_rank,
    compare_ranks,
    Caption(
        "How many associations a memory of low rank stores",
        "The largest p up to which a memory W = Q R^T of rank m stores every association of a stream, mean over "
        "streams with standard errors, relative to the replica value. All points are from L-BFGS on both factors: left "
        "with everything tried (several random starts, the memory that stored fewer associations, the truncated "
        "full-rank memory, and one factor at a time), right with one start, or with one of these helps, on the same "
        "streams. Stars: capacities proved at full rank for the same streams, which no rank may exceed and rank d "
        "should meet.",
        "p D(p) = 2 alpha_c(m/d) d^2, the replica value. Below full rank it is an upper bound for the decoupled "
        "problem in the limit of large d, and no bound for the original one. At rank 2 every output must be a corner "
        "of a polygon in the plane.",
    ),
)
