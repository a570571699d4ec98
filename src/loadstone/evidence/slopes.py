"""How fast the threshold falls to 1/2: the slope of log(alpha_c - 1/2) against log log p.

The paper expects -1, the slope of a law 1 / log p. The exact law log p / D(p) has that slope only for infinite p: its
correction is of order log log p / log p, which at these sizes makes the slope smaller in size. Both are set beside
what was measured, fitted with the same weights at the same p.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float64

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.thresholds import proved_thresholds, trained_thresholds
from loadstone.theory.capacity import finite_capacity

#: The paper's slope.
PAPER = -1.0


def compare_slopes(rows: list[Row]) -> list[Comparison]:
    """Slopes of proved thresholds, and of those of the paper's protocol, beside the exact law's and beside -1."""
    comparisons = []
    for (kind, problem), points in grouped(_points(rows), "kind", "problem"):
        if len(points) < 3:
            continue
        p, alpha, error = (np.array([point[name] for point in points]) for name in ("p", "alpha", "error"))
        weights = ((alpha - 0.5) / error) ** 2
        measured, scatter = fitted_slope(p, np.log(alpha - 0.5), weights)
        exact, _ = fitted_slope(p, np.log(np.asarray(finite_capacity(p.round().astype(int))) - 0.5), weights)
        freedom = float(sum(point["seeds"] - 1 for point in points))
        for beside, predicted in (("the exact law", exact), ("the paper's -1", PAPER)):
            what = f"slope of the threshold beside {beside}, {kind}, {problem}"
            family = f"slope of the threshold beside {beside}"
            note = "the slope is -1 in the limit only" if predicted == PAPER else ""
            streams = f"{kind}, {problem}"
            comparisons.append(Comparison(what, predicted, measured, scatter, freedom, note, family, streams))
    return comparisons


def _points(rows: list[Row]) -> list[dict]:
    trained = [point for point in trained_thresholds(rows) if point["kappa"] == 1 and point["stop"] == "paper"]
    kinds = {"proved": proved_thresholds(rows), "Adam": trained}
    return [
        point | {"kind": kind}
        for kind, points in kinds.items()
        for point in points
        if point["alpha"] > 0.5 and point["error"] > 0
    ]


def fitted_slope(
    p: Float64[np.ndarray, "n"], height: Float64[np.ndarray, "n"], weights: Float64[np.ndarray, "n"]
) -> tuple[float, float]:
    """The slope of a height against log log p by weighted least squares, and its standard error; weights are one over
    the squared errors of the heights."""
    x = np.log(np.log(p))
    x = x - np.average(x, weights=weights)
    information = float((weights * x**2).sum())
    return float((weights * x * height).sum()) / information, 1 / math.sqrt(information)
