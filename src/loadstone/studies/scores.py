"""Which scores do trained memories give to targets, and to all other outputs?

Scores are in units of the deviation of those of all outputs but the target, which records and figures call the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from loadstone.estimate import mean_of
from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.panels import OTHERS, TARGET, Axes, Figure
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import SEEDS, Spec, associations, share_of_capacity, spec
from loadstone.studies.kit.score_panels import bin_edges, densities, draw_panels, moment_errors, of_each_panel, shade
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.kit.thresholds import TRAINING_STOPS_SHORT
from loadstone.theory.load import load
from loadstone.theory.scores import rival_density, rival_deviation, target_density, target_deviation, target_mean

_DIMENSION = {"quick": 40, "paper": 150}
#: The paper's loads; at the first two its stop rule ends the training before the end of its schedule.
_LOADS, _STOPPED = (0.2, 0.5, 1.2), (0.2, 0.5)

_LAWS = {"mean": target_mean, "deviation": target_deviation}
#: The value of a normal law, and what 100 % is.
_NORMAL = {"skewness": (0.0, 1.0), "fourth moment": (3.0, 3.0)}
#: Distributions that differ by less than this, at any score, look the same in a histogram.
_ALIKE = 0.01
_CUT = "scores that would beat the target are held below it, so the tail is cut"


def runs(scale: str) -> list[Spec]:
    """Both problems at the paper's three loads and at the capacity of their size, trained to the schedule's end; and
    with the paper's stop rule at the loads where it ends the training before."""
    d, problems, seeds = _DIMENSION[scale], ("original", "decoupled"), range(SEEDS[scale])
    sizes = [*(associations(alpha, d) for alpha in _LOADS), share_of_capacity(1, d)]
    stopped = [
        spec(problem, d, associations(alpha, d), seed) for problem in problems for alpha in _STOPPED for seed in seeds
    ]
    return stopped + [spec(problem, d, p, seed, stop="none") for problem in problems for p in sizes for seed in seeds]


def as_in_the_paper(rows: list[Row]) -> list[Row]:
    """The runs with the paper's stop rule where a problem and size has some, the others elsewhere: there no run meets
    the rule, and training goes to the end of its schedule."""
    stopped = {(row["problem"], row["d"], row["p"]) for row in rows if _stop(row) == "paper"}
    return [row for row in rows if (_stop(row) == "paper") == ((row["problem"], row["d"], row["p"]) in stopped)]


def _stop(row: Row) -> str:
    return row.get("protocol", {}).get("stop", "")


class Points(NamedTuple):
    #: Densities of the scores at each size and problem.
    panels: list[dict]
    #: Mean and deviation of the targets' scores at capacity.
    targets: list[dict]
    #: How the scores of all other outputs are distributed.
    non_targets: list[dict]
    #: By how much targets exceed their best rivals.
    gaps: list[dict]
    #: Mean and deviation of the targets' scores with the paper's stop rule and without.
    stop_rules: list[dict]


def points(rows: list[Row]) -> Points:
    """Scores of the runs that the paper shows, and what its stop rule changes."""
    shown = as_in_the_paper(rows)
    panels = of_each_panel(shown, _all_associations)
    return Points(panels, targets_at_capacity(shown), non_targets(shown), gaps(shown), stop_rules(rows))


def _all_associations(rows: list[Row]) -> dict:
    """Targets at capacity in units of the length of their query, as in the law: a common unit would add the spread of
    the lengths."""
    scores = [row["scores"] for row in rows]
    if _is_at_capacity(rows[0]) and all("own" in one for one in scores):
        scores = [one | {"target": one["own"]} for one in scores]
    return densities(scores, "target", "others")


def _is_at_capacity(point: dict) -> bool:
    """Whether a row or a point has as many associations as are predicted to fit."""
    return point["p"] == share_of_capacity(1, point["d"])


def targets_at_capacity(rows: list[Row]) -> list[dict]:
    """Mean and deviation of the targets' scores at capacity, each in units of the length of its query, and what the law
    says."""
    points = []
    for (problem, d, p), group in grouped([row for row in rows if _is_at_capacity(row)], "problem", "d", "p"):
        own = [row["scores"]["own_target"] for row in group if "own_target" in row["scores"]]
        for name, law in _LAWS.items() if own else ():
            error = moment_errors(float(target_deviation(p)), p * len(own))[name]
            points.append(
                {"problem": problem, "d": d, "name": name, "predicted": float(law(p)), "error": error}
                | {"measured": float(np.mean([one[name] for one in own]))}
            )
    return points


def non_targets(rows: list[Row]) -> list[dict]:
    """For each problem and size the mean over streams of each number that `shape` gives, with its standard error."""
    points = []
    for (problem, d, p), group in grouped(rows, "problem", "d", "p"):
        shapes = [shape(row["scores"]) for row in group]
        means = {name: mean_of([one[name] for one in shapes]) for name in shapes[0]}
        points.append({"problem": problem, "d": d, "p": p, "streams": len(group)} | means)
    return points


def shape(scores: dict) -> dict[str, float]:
    """Skewness and fourth moment of the standardised scores of all outputs but the target, from the histogram of a
    record, whose bins are a twentieth of a deviation wide; and the largest difference between the distribution of the
    scores, in units of their deviation, and a normal law, at the edges of the bins."""
    counts, edges = np.array(scores["others"], float), bin_edges(scores)
    weights, middles = counts / counts.sum(), (edges[1:] + edges[:-1]) / 2
    centred = middles - weights @ middles
    spread = math.sqrt(float(weights @ centred**2))
    # Scores beyond the ends are in the first and in the last bin.
    distance = np.abs(np.cumsum(counts)[:-1] / counts.sum() - ndtr(edges[1:-1])).max()
    return {
        "skewness": float(weights @ centred**3) / spread**3,
        "fourth moment": float(weights @ centred**4) / spread**4,
        "distance": float(distance),
    }


def gaps(rows: list[Row]) -> list[dict]:
    """For each problem and dimension by how much targets exceed their best rivals on average at the largest load at
    which 99.9 % are stored: the mean over streams and its standard error."""
    points = []
    # The accuracy at which the paper stops.
    nearly_all = [row for row in rows if row.get("accuracy", 0) >= 0.999]
    for (problem, d), stored in grouped(nearly_all, "problem", "d"):
        p = max(row["p"] for row in stored)
        of_streams = [_mean_gap(row["scores"]) for row in stored if row["p"] == p]
        gap, error = mean_of(of_streams)
        points.append({"problem": problem, "d": d, "p": p, "streams": len(of_streams), "gap": gap, "error": error})
    return points


def _mean_gap(scores: dict) -> float:
    """Mean score of the targets less that of their best rivals, from the histograms of a record."""
    edges = bin_edges(scores)
    target, rival = (np.average((edges[1:] + edges[:-1]) / 2, weights=scores[name]) for name in ("target", "rival"))
    return float(target - rival)


def stop_rules(rows: list[Row]) -> list[dict]:
    """Mean and deviation of the targets' scores with the paper's stop rule and at the end of the schedule, for each
    problem and size that was trained in both ways."""
    points = []
    for (problem, d, p), group in grouped(rows, "problem", "d", "p"):
        point: dict = {"problem": problem, "d": d, "p": p}
        for stop in ("paper", "none"):
            scores = [row["scores"] for row in group if _stop(row) == stop]
            if scores:
                point[stop] = {name: float(np.mean([one[f"target_{name}"] for one in scores])) for name in _LAWS}
        if {"paper", "none"} <= point.keys():
            points.append(point)
    return points


def compare(points: Points) -> list[Comparison]:
    """Targets at capacity against their laws; all other outputs: moments against those of a normal law, and
    whether the distribution is that law to within one per cent everywhere; gaps compared with one deviation."""
    comparisons: list[Comparison] = []
    for point in points.targets:
        family = f"{point['name']} of the target's score at capacity, trained, {point['problem']}"
        numbers = point["predicted"], point["measured"], point["error"]
        comparisons.append(Comparison.of(family, point, *numbers, TRAINING_STOPS_SHORT, dof=math.inf))
    for point in (point for point in points.non_targets if point["streams"] >= FEWEST):
        where = _where(point)
        for name, (normal, scale) in _NORMAL.items():
            family, (mean, error) = f"{name} of the scores of the others, {point['problem']}", point[name]
            comparisons.append(Comparison.of(family, point, normal, mean, error, _CUT, where, scale=scale))
        family = f"distance of the scores of the others from a normal law, {point['problem']}"
        mean, error = point["distance"]
        comparisons.append(BoundComparison.of(family, point, _ALIKE, mean, error, where=where))
    for point in (point for point in points.gaps if point["streams"] >= FEWEST):
        # That targets lie 'just above' their best rivals is taken as less than one deviation of the other scores.
        family = f"gap between the target and its best rival, {point['problem']}"
        comparisons.append(BoundComparison.of(family, point, 1.0, point["gap"], point["error"], where=_where(point)))
    return comparisons


def _where(point: dict) -> str:
    return f"d = {point['d']}, load {load(point['p'], point['d']):.2f}"


def remarks(points: Points) -> list[str]:
    """What the paper's stop rule changes."""
    sentences = []
    for point in points.stop_rules:
        stopped, ended = (" and ".join(f"{point[stop][name]:.2f}" for name in _LAWS) for stop in ("paper", "none"))
        sentences.append(
            f"Targets at load {load(point['p'], point['d']):.2f}, {point['problem']}, d = {point['d']}: mean and "
            f"deviation are {stopped} with the paper's stop rule, {ended} at the end of the schedule."
        )
    return sentences


def draw(figure: Figure, points: Points) -> None:
    """Targets (red) and others (grey) of all associations: a row for each load, a column for each problem."""
    draw_panels(figure, points.panels, _draw_all_associations, "Scores of all associations")


def _draw_all_associations(panel: Axes, point: dict) -> None:
    shade(panel, point["edges"], point["others"], OTHERS, "others")
    shade(panel, point["edges"], point["target"], TARGET, "targets")
    if _is_at_capacity(point):
        grid, p = np.linspace(-4, 8, 601), point["p"]
        unit = float(rival_deviation(p))
        others = unit * np.asarray(rival_density(unit * grid, p))
        panel.plot(grid, others, color="0.25", lw=1.1, ls="--", label="others, law at capacity")
        panel.plot(grid, target_density(grid, p), color=TARGET, lw=1.1, ls="--", label="targets, law at capacity")
        words = "at capacity; targets in\nunits of their query's length"
        panel.annotate(words, (0.02, 0.97), xycoords="axes fraction", fontsize=7.5, color="0.25", va="top")
    panel.set(xlim=(-4.5, 6.5))


SCORES = Study(
    "scores",
    "Which scores do trained memories give to targets, and to all other outputs?",
    runs,
    points,
    draw,
    Caption(
        "Scores of the targets and of all others",
        "Scores of the targets and of all other outputs, in units of the standard deviation of the others, at "
        "three loads and at the capacity of this size. Memories trained by Adam with the paper's protocol, which "
        "stops at 99.9 % where that is reached.",
        "At capacity the scores of one association are those of random numbers, except that the target and the "
        "outputs that would beat it are moved to their common mean: this gives both laws (dashed) without a free "
        "parameter. In that panel each target is in units of the length of its query, as in the law.",
    ),
    compare,
    remarks,
    lambda points: {"panels": points.panels},
)
