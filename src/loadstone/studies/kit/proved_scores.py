"""Scores of the targets of memories that prove a capacity, compared with their law."""

from __future__ import annotations

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.scores import target_deviation, target_mean

#: A scatter is called far smaller if it is less than half.
_FAR_SMALLER = 0.5
_LAWS = {"mean": target_mean, "deviation": target_deviation}


def proved_scores(rows: list[Row]) -> list[dict]:
    """For each problem and dimension: how many streams have a memory that proves their capacity, and of the targets'
    scores, in units of the length of each query, the mean and the deviation. Each is given at the mean capacity: what
    the law predicts there, what was measured, and the standard error of the difference.

    Streams differ in p_c and so in their prediction: the differences are averaged. `scatter` is the mean over streams
    of the deviation, whatever the law.
    """
    points = []
    for (problem, d), group in grouped([row for row in rows if "own_target" in row], "problem", "d"):
        middle = round(float(np.mean([row["p_c"] for row in group])))
        point = {"problem": problem, "d": d, "streams": len(group)}
        for name, law in _LAWS.items():
            predicted = float(law(middle))
            difference, error = mean_of([row["own_target"][name] - float(law(row["p_c"])) for row in group])
            point[name] = {"predicted": predicted, "measured": predicted + difference, "error": error}
        scatter, error = mean_of([row["own_target"]["deviation"] for row in group])
        points.append(point | {"scatter": scatter, "scatter_error": error})
    return points


def compare_proved_scores(points: list[dict]) -> list[Comparison]:
    """Mean and deviation of the targets' scores compared with their laws, and the deviation with half of that of the
    other scores."""
    comparisons: list[Comparison] = []
    for point in points:
        problem = point["problem"]
        if point["streams"] < FEWEST:
            continue
        note = "original: outputs are shared, but the law is for separate ones" if problem == "original" else ""
        for name in _LAWS:
            family = f"{name} of the target's score at the proved capacity, {problem}"
            comparisons.append(Comparison.of(family, point, **point[name], note=note))
        if point["scatter_error"]:
            family = f"scatter of the target's score over that of the others at the proved capacity, {problem}"
            numbers = _FAR_SMALLER, point["scatter"], point["scatter_error"]
            comparisons.append(BoundComparison.of(family, point, *numbers))
    return comparisons
