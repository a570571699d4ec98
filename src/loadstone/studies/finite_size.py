"""How does the threshold approach its limit, a load of 1/2, as memories grow?

log(alpha_c(p) - 1/2) against log log p. Three kinds of points: proved capacities of streams, and where training by the
paper's stop rule (99.9 %) or by the exact one (every association) first fails. The curve log p / D(p) has no free
parameter.

The paper expects a slope of -1, that of a law 1 / log p. The exact law log p / D(p) has that slope only for infinite p:
its correction is of order log log p / log p, which at these sizes makes the slope smaller in size. Both are compared
with what was measured, fitted with the same weights at the same p.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from loadstone.studies import capacity
from loadstone.studies.kit.brackets import Bracket
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import COLOURS, PREDICTION, Figure, counted, legend, subplots
from loadstone.studies.kit.points import some, values_of
from loadstone.studies.kit.proved_scores import compare_proved_scores, proved_scores
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, trained
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.kit.thresholds import (
    Kind,
    compare_capacity,
    compare_thresholds,
    proved_capacities,
    proved_thresholds,
    trained_thresholds,
)
from loadstone.theory.capacity import finite_capacity

#: The slope that the paper expects.
PAPER = -1.0
_IN_THE_LIMIT = "the slope is -1 in the limit only"
_STOPS = {"paper": "paper's stop", "exact": "exact stop"}
_MARKS = {"proved": "o", "exact stop": "^", "paper's stop": "v"}
_INKS = {"original": COLOURS[1], "decoupled": COLOURS[0]}


def runs(scale: str) -> list[Spec]:
    """Where the first error appears: trained with either stop rule (the exact one up to d = 150), and proved at small
    sizes."""
    by_protocol = trained(scale, (1.0,))
    until_exact = [replace(spec, stop="exact") for spec in by_protocol if spec.d <= 150]
    return by_protocol + until_exact + capacity.runs(scale)


class Points(NamedTuple):
    """What is drawn and compared.

    capacities: of the streams of each problem and dimension, exact ones and undecided ones.
    proved: the mean threshold of these streams.
    trained: where training fails by either stop rule.
    scores: of the targets, in the memories that prove a capacity.
    """

    capacities: dict[Kind, list[Bracket]]
    proved: list[dict]
    trained: list[dict]
    scores: list[dict]


def points(rows: list[Row]) -> Points:
    """Thresholds, proved and of training, and the scores of the memories that prove."""
    capacities = proved_capacities(rows)
    return Points(capacities, proved_thresholds(capacities), trained_thresholds(rows), proved_scores(rows))


def compare(points: Points) -> list[Comparison]:
    """Slopes, capacities, scores, and the loads at which training fails, compared with their predictions."""
    proved = compare_capacity(points.capacities) + compare_proved_scores(points.scores)
    return compare_slopes(points) + proved + compare_thresholds(points.trained)


def compare_slopes(points: Points) -> list[Comparison]:
    """Slopes of the thresholds, proved and of the paper's protocol, compared with the exact law's and with -1."""
    by_adam = [point for point in points.trained if point["kappa"] == 1 and point["stop"] == "paper"]
    thresholds = [
        point | {"kind": kind}
        for kind, group in (("proved", points.proved), ("Adam", by_adam))
        for point in group
        if point["alpha"] > 0.5 and point["error"] > 0
    ]
    comparisons = []
    for (kind, problem), group in grouped(thresholds, "kind", "problem"):
        if len(group) < 3:
            continue
        p, alpha, error = map(np.array, values_of(group, "p", "alpha", "error"))
        weights = ((alpha - 0.5) / error) ** 2
        measured, scatter = fitted_slope(p, np.log(alpha - 0.5), weights)
        exact, _ = fitted_slope(p, np.log(np.asarray(finite_capacity(p.round().astype(int))) - 0.5), weights)
        dof = float(sum(point["seeds"] - 1 for point in group))
        for beside, predicted, note in (("the exact law", exact, ""), ("the paper's -1", PAPER, _IN_THE_LIMIT)):
            family, streams = f"slope of the threshold beside {beside}", f"{kind}, {problem}"
            numbers = predicted, measured, scatter, dof
            comparisons.append(Comparison(f"{family}, {streams}", *numbers, note, family, streams))
    return comparisons


def fitted_slope(
    p: Float64[np.ndarray, "n"], height: Float64[np.ndarray, "n"], weights: Float64[np.ndarray, "n"]
) -> tuple[float, float]:
    """The slope of a height against log log p by weighted least squares, and its standard error; weights are one over
    the squared errors of the heights."""
    (slope, _), covariance = np.polyfit(_x(p), height, 1, w=np.sqrt(weights), cov="unscaled")
    return float(slope), math.sqrt(covariance[0, 0])


def draw(figure: Figure, points: Points) -> None:
    """Both problems, all sizes; error bars include the error of the mean and the step between loads."""
    thresholds = thresholds_by_kind(points)
    some(thresholds, "no threshold is known")
    panel = subplots(figure, size=(4.8, 4.6))
    # Sizes beyond the points show where the curve bends towards slope -1.
    p = np.unique(np.geomspace(20, 1e6, 80).astype(int))
    panel.plot(_x(p), np.log(finite_capacity(p) - 0.5), color=PREDICTION, lw=1.4, label=r"$\log p / D(p)$, exact")
    start = float(np.log(finite_capacity(p[-1]) - 0.5))
    panel.plot(_x(p), start - (_x(p) - _x(p[-1])), color="0.6", lw=1, ls="--", label="slope $-1$")
    above = [point for point in thresholds if point["alpha"] > 0.5]
    for (problem, kind), group in grouped(above, "problem", "kind"):
        x, alpha, error = map(np.array, values_of(group, "p", "alpha", "error"))
        high, low = np.log(alpha + error - 0.5), np.log(np.maximum(alpha - error - 0.5, 1e-3))
        y = np.log(alpha - 0.5)
        panel.errorbar(
            _x(x), y, [y - low, high - y], fmt=_MARKS[kind], color=_INKS[problem], ms=5, lw=1,
            mfc=_INKS[problem] if kind == "proved" else "white", label=f"{problem}, {kind}",
        )  # fmt: skip
    panel.set(xlabel=r"$\log \log p$", ylabel=r"$\log(\alpha_c(p) - 1/2)$")
    panel.set_title(f"Finite-size threshold\n({_sample_sizes(thresholds)})", fontsize=9.5)
    figure.tight_layout(rect=(0, 0.043 * legend(figure, 2), 1, 1))


def thresholds_by_kind(points: Points) -> list[dict]:
    """Thresholds of memories of full rank: proved, and where training fails by either stop rule."""
    proved = [point | {"kind": "proved"} for point in points.proved]
    return proved + [point | {"kind": _STOPS[point["stop"]]} for point in points.trained if point["kappa"] == 1]


def _sample_sizes(thresholds: list[dict]) -> str:
    """How many streams or seeds a point is the mean of, in words."""
    counts: dict[str, list[int]] = {"streams proved": [], "seeds trained by Adam": []}
    for point in thresholds:
        counts["streams proved" if point["kind"] == "proved" else "seeds trained by Adam"].append(point["seeds"])
    return ", ".join(counted(numbers, name) for name, numbers in counts.items() if numbers)


def _x(p: np.ndarray | float) -> np.ndarray | float:
    return np.log(np.log(p))


FINITE_SIZE = Study(
    "finite-size",
    "How does the threshold approach its limit as memories grow?",
    runs,
    points,
    draw,
    Caption(
        "How far the threshold lies from 1/2",
        "The distance of the threshold from its limit, on scales where a law of 1 / log p is a line of slope -1: "
        "proved capacities, and the loads at which Adam with the paper's schedule fails by either stop rule.",
        "The red curve, log p / D(p), has no free parameter. The paper expects a slope of -1; that of the exact curve "
        "at these sizes is smaller in size, because of terms of order log log p / log p.",
    ),
    compare,
    plotted=lambda points: {"points": thresholds_by_kind(points)},
)
