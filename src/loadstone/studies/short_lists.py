"""How many associations fit if the target must only be among the first k, and where are targets found then?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.brackets import reached_sizes
from loadstone.studies.kit.comparison import Comparison, freedom_of
from loadstone.studies.kit.panels import COLOURS, MARKS, NothingToDrawError, counted, legend, subplots
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.listwise import limit_capacity, list_capacity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from loadstone.runs.spec import Spec

#: For each scale: streams of each dimension, and lengths of the list.
_STREAMS = {"quick": {12: 3}, "paper": {20: 6, 30: 4}}
_LENGTHS = {"quick": (4,), "paper": (1, 2, 4, 8, 16)}
_PROBLEMS = {"quick": ("original",), "paper": ("original", "decoupled")}

#: Fewer streams have no standard error worth the name.
_FEWEST = 3
#: Batches of samples for each value of the law.
_BATCHES = 8
_PLACES = ("first", "listed", "first_by_all_rivals", "listed_by_all_rivals")
_TRAINED = (("", "-", "for the list"), ("_by_all_rivals", "--", "against all rivals"))


def runs(scale: str) -> list[Spec]:
    """The largest p at which every target beats the mean of its k best rivals; k = 1 is recall by the largest score."""
    return [
        spec(problem, d, _around(d, k), seed, solver="reach", parameters={"rivals": k})
        for problem in _PROBLEMS[scale]
        for d, streams in _STREAMS[scale].items()
        for k in _LENGTHS[scale]
        for seed in range(streams)
    ]


def _around(d: int, k: int) -> int:
    """Where the search begins: the limit of large sizes, but no less than what fits with k = 1."""
    return max(share_of_capacity(1, d), round(limit_capacity(d, k)))


def points(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and k: the mean over streams of the largest p stored, its standard error, the law,
    and at that p the mean shares of targets in the first place and among the first k."""
    searched = [
        row | {"rivals": row.get("parameters", {}).get("rivals", 1)} for row in rows if row["solver"] == "reach"
    ]
    return [_point(problem, d, k, group) for (problem, d, k), group in grouped(searched, "problem", "d", "rivals")]


def _point(problem: str, d: int, k: int, rows: list[Row]) -> dict:
    thresholds, resolution = reached_sizes(rows)
    (stored, spread), law = mean_of(thresholds), list_capacity(d, k, batches=_BATCHES)
    known = {name: [row[name] for row in rows if name in row] for name in _PLACES}
    return {
        "problem": problem, "d": d, "rivals": k, "streams": len(rows), "stored": stored, "spread": spread,
        "predicted": law.value, "error": math.hypot(spread, resolution, law.error),
    } | {name: float(np.mean(values)) for name, values in known.items() if values}  # fmt: skip


def compare(points: list[dict]) -> list[Comparison]:
    """The largest p stored for each length of the list, beside the law for decoupled streams."""
    comparisons = []
    for point in points:
        if point["streams"] < _FEWEST:
            continue
        problem, d, k = point["problem"], point["d"], point["rivals"]
        rivals = "all rivals" if k == 1 else f"the mean of the {k} best rivals"
        what = f"associations stored against {rivals}, {problem}, d = {d}"
        note = "the original problem can store a little more at small d" if problem == "original" else ""
        freedom = freedom_of(point["streams"], point["error"], point["spread"])
        family = f"associations stored against the mean of the best rivals, {problem}"
        # All k of one dimension are tried on the same streams.
        comparisons.append(
            Comparison(what, point["predicted"], point["stored"], point["error"], freedom, note, family, f"d = {d}")
        )
    return comparisons


def draw(figure: Figure, points: list[dict]) -> None:
    """Left the largest p stored for each k, right the shares of targets in the first place and among the first k."""
    if not points:
        raise NothingToDrawError("no stream was stored up to its limit")
    tints = dict(zip(sorted({point["d"] for point in points}), COLOURS))
    left, right = subplots(figure, 1, 2, size=(8.2, 4.4))
    for d, tint in tints.items():
        _draw_capacities(left, d, [point for point in points if point["d"] == d], tint)
    largest = max(tints)
    alike = [point for point in points if point["d"] == largest and point["problem"] == "original"]
    _draw_places(right, [point for point in alike if "first" in point])
    right.set_title(f"original, d = {largest}, at the largest p stored for the list", fontsize=8.5)
    lengths = sorted({point["rivals"] for point in points})
    for panel in (left, right):
        panel.set(xscale="log", xlabel="length k of the list")
        panel.set_xticks(lengths, [str(k) for k in lengths])
        panel.minorticks_off()
    left.set(ylabel="largest p stored / d²")
    right.set(ylabel="share of targets", ylim=(-0.03, 1.05))
    streams = counted((point["streams"] for point in points), "streams")
    figure.suptitle(f"Recall from the first k ({streams} a point)", fontsize=10)
    lines = legend(figure, 3)
    figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))


def _draw_capacities(panel: Axes, d: int, points: list[dict], tint: str) -> None:
    law = sorted({(point["rivals"], point["predicted"]) for point in points})
    panel.plot([k for k, _ in law], [p / d**2 for _, p in law], "-", color=tint, lw=1.2, label=f"law, d = {d}")
    for problem in ("original", "decoupled"):
        chosen = [point for point in points if point["problem"] == problem]
        shape, face = MARKS[problem]
        x, y, error = ([point[name] for point in chosen] for name in ("rivals", "stored", "error"))
        panel.errorbar(
            x, np.divide(y, d**2), np.divide(error, d**2), color=tint, marker=shape, mfc=face or tint, ls="", ms=5,
            label=f"{problem}, d = {d}",
        )  # fmt: skip


def _draw_places(panel: Axes, points: list[dict]) -> None:
    lengths = [point["rivals"] for point in points]
    for ending, style, words in _TRAINED:
        for name, ink, place in (("listed", "0.2", "among the first k"), ("first", "0.55", "first")):
            shares = [point[name + ending] for point in points]
            panel.plot(lengths, shares, style, color=ink, marker="o", ms=4, lw=1.2, label=f"{place}, trained {words}")


TOPK = Study(
    "topk",
    "How many associations fit if the target must only be among the first k?",
    runs,
    points,
    draw,
    Caption(
        "How many associations fit if the target must be among the first k",
        "Left: the largest p up to which L-BFGS finds a memory in which every target beats the mean of its k best "
        "rivals (the tail-average margin of Barnfield et al., 2026), so that it is among the first k; mean over "
        "streams with standard errors. k = 1 is recall by the largest score. Right, at that p: the share of targets in "
        "the first place and among the first k, by the same memory, and by one that was trained against all rivals.",
        "p D_k(p) = d^2 with D_k(M) = E dist^2(eta, K), K the cone of scores whose first beats the mean of the k "
        "largest others; computed by Monte Carlo, whose error is part of that of the points. If k is a share of p, D_k "
        "stays finite and p grows as d^2, without the logarithm.",
    ),
    compare,
)
