"""How many associations does a memory of each rank store at most, as far as searches find it?

They are compared with the replica value, and at full rank with what is proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from loadstone.arguments import rank_of
from loadstone.estimate import mean_of
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import COLOURS, MARKS, Axes, Figure, subplots
from loadstone.studies.kit.points import Mark, errorbars, some, streams_in, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.kit.thresholds import compare_reach, reached_thresholds
from loadstone.theory.capacity import capacity_associations

#: Rank fractions, and what is tried to store as much as possible at each (tasks/multi_start.py).
_RANKS = {"quick": (0.2, 1.0), "paper": (*(round(0.1 * tenth, 1) for tenth in range(1, 10)), 1.0)}
_EFFORTS: dict[str, dict[str, object]] = {
    "quick": {"starts": 3, "grown": True},
    "paper": {"starts": 5, "grown": True, "truncated": True, "alternating": True},
}
#: A single start, and each help alone.
_HELPS: tuple[dict[str, object], ...] = (
    {}, {"starts": 5}, {"grown": True}, {"truncated": True}, {"alternating": True},
)  # fmt: skip

EVERYTHING, ONE_START = "everything tried", "one start"


def runs(scale: str) -> list[Spec]:
    """How many associations memories of every rank store when all is tried that is known to help; each help alone; and
    the proved capacities of the same streams at full rank."""
    streams = {"quick": {20: 3}, "paper": {20: 10, 50: 5, 100: 2}}[scale]
    everything = _EFFORTS[scale]
    tried = [(kappa, everything) for kappa in _RANKS[scale]]
    if scale == "paper":
        tried += [(kappa, effort) for kappa in (0.1, 0.2, 0.3, 0.5) for effort in _HELPS]
    kinds = [("original", d) for d in streams] + ([("decoupled", 20)] if scale == "paper" else [])
    return [
        spec(problem, d, _predicted(d, kappa), seed, kappa, solver="reach", parameters=effort, family=family)
        for problem, d in kinds
        for kappa, effort in tried
        if effort is everything or (problem == "original" and d < 100)
        # At full rank too the memory has two factors.
        for family in ["low rank" if kappa == 1 else "full"]
        for seed in range(streams[d])
    ] + [
        spec(problem, d, _predicted(d, 1.0), seed, solver="capacity")
        for problem, d in kinds
        if d < 100
        for seed in range(streams[d])
    ]


def _predicted(d: int, kappa: float) -> int:
    """The prediction for the rank that the memory has, not for the rank fraction that is rounded to it."""
    return share_of_capacity(1, d, rank_of(kappa, d) / d)


def method_label(parameters: Mapping[str, object]) -> str:
    """The words for what was tried besides the first start of each p."""
    if len(parameters) > 1:
        return EVERYTHING
    for name, value in parameters.items():
        return name if value is True else f"{value} {name}"
    return ONE_START


class Points(NamedTuple):
    #: What each method stores at each problem, dimension and rank.
    stored: list[dict]
    #: The thresholds of everything tried, with the widths of their brackets.
    reached: list[dict]


def points(rows: list[Row]) -> Points:
    """What is stored by each method, and the thresholds with everything tried."""
    searched = [row | {"help": method_label(row.get("parameters", {}))} for row in rows if row["solver"] == "reach"]
    proved = {
        (row["problem"], row["d"], row["seed"]): row["p_c"]
        for row in rows
        if row["solver"] == "capacity" and row["p_c"] is not None
    }
    stored = [
        _point(group, proved, problem, d, rank, label)
        for (problem, d, rank, label), group in grouped(searched, "problem", "d", "rank", "help")
    ]
    return Points(stored, reached_thresholds([row for row in searched if row["help"] == EVERYTHING]))


def _point(
    rows: list[Row], proved: Mapping[tuple[str, int, int], int], problem: str, d: int, rank: int, label: str
) -> dict[str, Any]:
    """The mean over streams of the largest p stored, its standard error, and the replica value at m/d, never at a rank
    fraction that was rounded to it.

    Where capacities are proved for all these streams, `proved` is their mean, and `differences` holds stored - proved
    of each: at most zero at every rank, and zero at full rank if the search is perfect.
    """
    of_stream = {row["seed"]: row["stored"] for row in rows}
    stored = list(of_stream.values())
    mean, error = mean_of(stored)
    point: dict[str, Any] = {
        "problem": problem, "d": d, "rank": rank, "help": label, "streams": len(stored), "of_stream": of_stream,
        "stored": mean, "error": error, "predicted": float(capacity_associations(d, rank / d)),
    }  # fmt: skip
    limits = [proved[key] for seed in of_stream if (key := (problem, d, seed)) in proved]
    if len(limits) == len(stored):
        differences = [value - limit for value, limit in zip(stored, limits)]
        point |= {"proved": float(np.mean(limits)), "differences": differences}
    return point


def compare(points: Points) -> list[Comparison]:
    """The largest p stored with everything tried, compared with the replica value."""
    return compare_reach(points.reached, "associations stored with everything tried")


def draw(figure: Figure, points: Points) -> None:
    """Left everything tried, for each d; right each help alone."""
    best = [point for point in points.stored if point["help"] == EVERYTHING]
    some(best, "no stream was stored up to its limit")
    helps = [point for point in points.stored if point["help"] != EVERYTHING]
    panels = subplots(figure, 1, 2 if helps else 1, size=(8.2 if helps else 5.8, 4.3), squeeze=False)
    _everything(panels[0, 0], best)
    if helps:
        _each_help(panels[0, 1], [*helps, *best])
    for panel in panels[0]:
        panel.axhline(1, color="0.3", lw=1, zorder=0)
        panel.set(xlabel="rank fraction m / d", ylabel="largest p stored / replica value")
        panel.legend(frameon=False, fontsize=7.5, loc="lower right" if helps else "best")
    title = f"Stored without a violation at each rank, by L-BFGS ({streams_in(points.stored)} a point)"
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()


def _everything(panel: Axes, points: list[dict]) -> None:
    kinds = sorted(grouped(points, "problem", "d"), key=lambda kind: kind[0][0] != "original")
    for ((problem, d), chosen), ink in zip(kinds, COLOURS):
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
            if chosen := [point for point in tried if point["help"] == name]:
                _line(panel, chosen, ink, mark, f"{name}, d = {d}", style)
    panel.set_title("One start, and each help alone", fontsize=9)


def _on_the_same_streams(points: list[dict]) -> list[dict]:
    """The points of ranks at which each help was tried alone, as means over the streams that all of them have."""
    means = []
    for rank in sorted({point["rank"] for point in points if point["help"] != EVERYTHING}):
        alike = [point for point in points if point["rank"] == rank]
        streams = set.intersection(*(set(point["of_stream"]) for point in alike))
        for point in alike if streams else ():
            stored = [point["of_stream"][stream] for stream in sorted(streams)]
            mean, error = mean_of(stored)
            means.append(point | {"stored": mean, "error": error, "streams": len(stored)})
    return means


def _line(panel: Axes, points: list[dict], ink: str, mark: Mark, label: str, style: str = "-") -> None:
    points = [point | {"fraction": point["rank"] / point["d"]} for point in points]
    (predicted,) = values_of(points, "predicted")
    errorbars(panel, points, ("fraction", "stored", "error"), ink, mark, predicted, ls=style, label=label)


RANK = Study(
    "rank",
    "How many associations does a memory of each rank store?",
    runs,
    points,
    draw,
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
    compare,
    plotted=lambda points: {"points": points.stored},
)
