"""Which scores do typical solutions give below capacity: to targets, to their best rivals, and to all rivals?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from loadstone.estimate import mean_of
from loadstone.studies import solution_space
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.panels import MARKS, OTHERS, TARGET, Axes, Figure, colour, mark_keys, subplots
from loadstone.studies.kit.points import errorbars, finish, some
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.robustness import NOTE, predicted_queries
from loadstone.studies.solution_space import notes_on, room_of
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.solution_scores import scores_by_length

#: Numbers of a record that are compared, in words.
SCORES = {"target": "the target's score", "rival": "the best rival's score"}
#: How many bins of a record are joined to one of the picture.
_JOINED = 3
_INKS = {"others": OTHERS, "rival": "black", "target": TARGET}
_WORDS = {"others": "all rivals", "rival": "best rivals", "target": "targets"}


def runs(scale: str) -> list[Spec]:
    """The streams of 'space' again, without their volumes. Larger dimensions would take minutes a run."""
    parameters = {"volume": False, "scores": True}
    return [replace(spec, parameters=parameters) for spec in solution_space.runs(scale) if spec.d <= 20]


class Points(NamedTuple):
    #: The mean scores at each size.
    means: list[dict]
    #: The size whose histograms are drawn, near half the capacity of the largest dimension.
    shown: dict
    #: There the densities of all three kinds of scores, and those predicted.
    histograms: dict[str, list[float]]


def points(rows: list[Row]) -> Points:
    """Mean scores at all sizes, and histograms at one."""
    with_scores = [row for row in rows if "typical_scores" in row]
    means = [_point(problem, d, p, group) for (problem, d, p), group in grouped(with_scores, "problem", "d", "p")]
    if not means:
        return Points([], {}, {})
    d = max(point["d"] for point in means)
    half = float(capacity_associations(d)) / 2
    shown = min(means, key=lambda point: (point["d"] < d, point["problem"], abs(point["p"] - half)))
    of_size = [row for row in with_scores if all(row[name] == shown[name] for name in ("problem", "d", "p"))]
    return Points(means, shown, _histograms(of_size, law_of_scores(shown["problem"], d, shown["p"])))


def _point(problem: str, d: int, p: int, rows: list[Row]) -> dict:
    """The means over streams of the mean score of targets and of best rivals, their standard errors, and what is
    predicted; scores in units of the length of their query."""
    expected = law_of_scores(problem, d, p)
    point = {"problem": problem, "d": d, "p": p, "load": float(load(p, d)), "streams": len(rows)}
    for name in ("target", "rival", "margin"):
        moments, values = [row["typical_scores"]["moments"][name] for row in rows], expected[name]
        mean, error = mean_of([one["mean"] for one in moments])
        point[name] = {
            "mean": mean, "error": error, "deviation": float(np.mean([one["deviation"] for one in moments])),
            "predicted": float(values.mean()), "predicted_deviation": float(values.std()),
            "predicted_error": float(values.std() / math.sqrt(len(values))),
        }  # fmt: skip
    return point


def law_of_scores(problem: str, d: int, p: int) -> dict[str, Float64[np.ndarray, "samples"]]:
    """Samples of what is predicted of a typical solution."""
    queries = predicted_queries(d, p, room_of(problem, d, p))
    scores = scores_by_length(queries.outputs, queries.typical)
    target, rival = scores[:, 0], scores[:, 1:].max(axis=1)
    return {"target": target, "rival": rival, "margin": target - rival, "others": scores[:, 1:].ravel()}


def _histograms(rows: list[Row], law: dict[str, Float64[np.ndarray, "samples"]]) -> dict[str, list[float]]:
    first = rows[0]["typical_scores"]
    edges = np.linspace(first["low"], first["high"], len(first["target"]) // _JOINED + 1)
    width, densities = edges[1] - edges[0], {"edges": edges.tolist()}
    for name in _INKS:
        counts = np.sum([row["typical_scores"][name] for row in rows], axis=0).reshape(-1, _JOINED).sum(axis=1)
        densities[name] = (counts / (counts.sum() * width)).tolist()
        densities[f"{name}_predicted"] = (np.histogram(law[name], edges)[0] / (len(law[name]) * width)).tolist()
    return densities


def compare(points: Points) -> list[Comparison]:
    """Mean scores of targets and best rivals, and their margin."""
    comparisons = []
    for point in points.means:
        for name, words in (SCORES | {"margin": "the margin"}).items():
            measured = point[name]
            if point["streams"] < FEWEST or not measured["error"]:
                continue
            family = f"mean of {words} of typical solutions, {point['problem']}"
            error = math.hypot(measured["error"], measured["predicted_error"])
            where = f"d = {point['d']}, p = {point['p']} ({point['streams']} streams)"
            numbers = measured["predicted"], measured["mean"], error, notes_on(point["problem"], NOTE)
            comparisons.append(Comparison.of(family, point, *numbers, where))
    return comparisons


def draw(figure: Figure, points: Points) -> None:
    """Left histograms, in the middle mean scores of targets, right of best rivals."""
    some(points.means, "no scores of sampled memories were kept")
    left, *panels = subplots(figure, 1, 3, size=(9.6, 4.2))
    _draw_histograms(left, points.histograms)
    left.set_title(f"{points.shown['problem']}, d = {points.shown['d']}, p = {points.shown['p']}")
    for panel, (name, words) in zip(panels, SCORES.items()):
        _draw_means(panel, points.means, name)
        panel.set(xlabel=r"load $\alpha = p \log p / d^2$", ylabel=f"mean of {words}")
    finish(figure, "Scores of typical solutions below capacity ({} a point)", points.means, 5)


def _draw_histograms(panel: Axes, densities: dict[str, list[float]]) -> None:
    edges = np.array(densities["edges"])
    for name, ink in _INKS.items():
        panel.stairs(densities[name], edges, color=ink, lw=1.3, label=_WORDS[name], fill=name == "others", alpha=0.75)
        expected, shade = densities[f"{name}_predicted"], "0.25" if name == "others" else ink
        panel.plot((edges[1:] + edges[:-1]) / 2, expected, "--", color=shade, lw=1.1)
    panel.plot([], [], "--", color="0.3", lw=1.1, label="predicted")
    panel.set(xlabel="score / length of the query", ylabel="density", xlim=(-4, 4.5))


def _draw_means(panel: Axes, means: list[dict], name: str) -> None:
    for (d,), of_size in grouped(means, "d"):
        for (problem,), group in grouped(of_size, "problem"):
            shown = [point | point[name] for point in group]
            errorbars(panel, shown, ("load", "mean", "error"), colour(d), MARKS[problem], ms=4.5)
        law = sorted({(one["load"], one[name]["predicted"]) for one in of_size if one["problem"] == "decoupled"})
        if law:
            panel.plot(*zip(*law), "--", color=colour(d), lw=1.2)
        panel.plot([], [], color=colour(d), lw=3, label=f"d = {d}")
    for line in mark_keys(means, ms=4.5):
        panel.add_line(line)


SOLUTION_SCORES = Study(
    "solution-scores",
    "Which scores do typical solutions give below capacity?",
    runs,
    points,
    draw,
    Caption(
        "Scores of typical solutions",
        "Left the scores of targets, of their best rivals and of all rivals under memories drawn from all that store "
        "everything, in units of the length of the query; in the middle and right the means of the first two against "
        "the load. Means over streams with standard errors.",
        "Without one association its queries under two solutions are normal with the overlap as their correlation; "
        "storing it keeps those that let the target win. The overlap is that of the replica-symmetric functional. No "
        "free parameter.",
    ),
    compare,
    plotted=lambda points: {"points": points.means, "histograms": points.histograms},
)
