"""How many associations fit if the target must only be among the first k, and where do targets rank then?"""

from __future__ import annotations

import math

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.brackets import reached_sizes
from loadstone.studies.kit.comparison import STORES_MORE, Comparison, dof_of
from loadstone.studies.kit.panels import COLOURS, MARKS, Axes, Figure, subplots
from loadstone.studies.kit.points import errorbars, finish, log_ticks, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.listwise import limit_capacity, list_capacity

#: For each scale: streams of each dimension, and lengths of the list.
_STREAMS = {"quick": {12: 3}, "paper": {20: 6, 30: 4}}
_LENGTHS = {"quick": (4,), "paper": (1, 2, 4, 8, 16)}
_PROBLEMS = {"quick": ("original",), "paper": ("original", "decoupled")}
#: Fewer streams have no useful standard error.
_FEWEST = 3
#: Batches of samples for each value of the law.
BATCHES = 8
_PLACES = ("first", "listed", "first_by_all_rivals", "listed_by_all_rivals")


def runs(scale: str) -> list[Spec]:
    """The largest p at which every target beats the mean of its k best rivals; k = 1 is recall by the largest score."""
    return [
        spec(problem, d, first, seed, solver="reach", parameters={"rivals": k})
        for problem in _PROBLEMS[scale]
        for d, streams in _STREAMS[scale].items()
        for k in _LENGTHS[scale]
        # The search begins at the limit of large sizes, but no lower than what fits with k = 1.
        for first in [max(share_of_capacity(1, d), round(limit_capacity(d, k)))]
        for seed in range(streams)
    ]


def points(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and k: the mean over streams of the largest p stored, its standard error, the law,
    and at that p the mean shares of targets in the first place and among the first k."""
    reached = [row for row in rows if row["solver"] == "reach"]
    searched = [row | {"rivals": row.get("parameters", {}).get("rivals", 1)} for row in reached]
    return [_point(problem, d, k, group) for (problem, d, k), group in grouped(searched, "problem", "d", "rivals")]


def _point(problem: str, d: int, k: int, rows: list[Row]) -> dict:
    thresholds, resolution = reached_sizes(rows)
    (stored, spread), law = mean_of(thresholds), list_capacity(d, k, batches=BATCHES)
    known = {name: [row[name] for row in rows if name in row] for name in _PLACES}
    return {
        "problem": problem, "d": d, "rivals": k, "streams": len(rows), "stored": stored, "spread": spread,
        "predicted": law.value, "error": math.hypot(spread, resolution, law.error),
    } | {name: float(np.mean(values)) for name, values in known.items() if values}  # fmt: skip


def compare(points: list[dict]) -> list[Comparison]:
    """The largest p stored for each length of the list, compared with the law for decoupled streams."""
    comparisons = []
    for point in points:
        if point["streams"] < _FEWEST:
            continue
        problem, d, k = point["problem"], point["d"], point["rivals"]
        rivals = "all rivals" if k == 1 else f"the mean of the {k} best rivals"
        what = f"associations stored against {rivals}, {problem}, d = {d}"
        dof = dof_of(point["streams"], point["error"], point["spread"])
        note = STORES_MORE if problem == "original" else ""
        family = f"associations stored against the mean of the best rivals, {problem}"
        # All k of one dimension are tried on the same streams.
        numbers = point["predicted"], point["stored"], point["error"]
        comparisons.append(Comparison(what, *numbers, dof, note, family, f"d = {d}"))
    return comparisons


def draw(figure: Figure, points: list[dict]) -> None:
    """Left the largest p stored for each k, right the shares of targets in the first place and among the first k."""
    left, right = subplots(figure, 1, 2, size=(8.2, 4.4))
    for ((d,), of_size), tint in zip(grouped(some(points, "no stream was stored up to its limit"), "d"), COLOURS):
        _draw_capacities(left, d, of_size, tint)
    alike = [point for point in of_size if point["problem"] == "original" and "first" in point]
    for ending, style, words in (("", "-", "for the list"), ("_by_all_rivals", "--", "against all rivals")):
        for name, ink, place in (("listed", "0.2", "among the first k"), ("first", "0.55", "first")):
            k, shares = values_of(alike, "rivals", name + ending)
            right.plot(k, shares, style, color=ink, marker="o", ms=4, lw=1.2, label=f"{place}, trained {words}")
    right.set_title(f"original, d = {d}, at the largest p stored for the list", fontsize=8.5)
    for panel in (left, right):
        log_ticks(panel, [point["rivals"] for point in points])
        panel.set_xlabel("length k of the list")
    left.set(ylabel="largest p stored / d²")
    right.set(ylabel="share of targets", ylim=(-0.03, 1.05))
    finish(figure, "Recall from the first k ({} a point)", points, 3)


def _draw_capacities(panel: Axes, d: int, points: list[dict], tint: str) -> None:
    law = sorted({(point["rivals"], point["predicted"] / d**2) for point in points})
    panel.plot(*zip(*law), "-", color=tint, lw=1.2, label=f"law, d = {d}")
    for problem, mark in MARKS.items():
        of_problem = [point for point in points if point["problem"] == problem]
        label = f"{problem}, d = {d}"
        errorbars(panel, of_problem, ("rivals", "stored", "error"), tint, mark, d**2, lw=1.5, label=label)


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
