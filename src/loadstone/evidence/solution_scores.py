"""Scores of typical solutions below capacity beside their law: targets, their best rivals, and all rivals."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float64

from loadstone.evidence.robustness import NOTE, predicted_queries
from loadstone.evidence.space import SHARED_OUTPUTS, room_of
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.load import load
from loadstone.theory.solution_scores import scores_by_length

#: Numbers of a record that are compared, in words.
SCORES = {"target": "the target's score", "rival": "the best rival's score"}


def score_points(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and number of associations: the means over streams of the mean score of targets and
    of best rivals, their standard errors, and what is predicted; scores in units of the length of their query."""
    points = []
    for (problem, d, p), group in grouped([row for row in rows if "typical_scores" in row], "problem", "d", "p"):
        expected = law_of_scores(problem, d, p)
        point = {"problem": problem, "d": d, "p": p, "load": float(load(p, d)), "streams": len(group)}
        for name in ("target", "rival", "margin"):
            values = expected[name]
            means = [row["typical_scores"]["moments"][name]["mean"] for row in group]
            point[name] = {
                "mean": float(np.mean(means)), "error": deviation(means) / math.sqrt(len(means)),
                "deviation": float(np.mean([row["typical_scores"]["moments"][name]["deviation"] for row in group])),
                "predicted": float(values.mean()), "predicted_deviation": float(values.std()),
                "predicted_error": float(values.std() / math.sqrt(len(values))),
            }  # fmt: skip
        points.append(point)
    return points


def law_of_scores(problem: str, d: int, p: int) -> dict[str, Float64[np.ndarray, "samples"]]:
    """Samples of what is predicted of a typical solution."""
    found = predicted_queries(d, p, room_of(problem, d, p))
    scores = scores_by_length(found.outputs, found.typical)
    target, rival = scores[:, 0], scores[:, 1:].max(axis=1)
    return {"target": target, "rival": rival, "margin": target - rival, "others": scores[:, 1:].ravel()}


def compare_solution_scores(rows: list[Row]) -> list[Comparison]:
    """Mean scores of targets and best rivals, and their margin."""
    comparisons = []
    for point in score_points(rows):
        notes = "; ".join([NOTE] + ([SHARED_OUTPUTS] if point["problem"] == "original" else []))
        for name, words in (SCORES | {"margin": "the margin"}).items():
            found = point[name]
            if point["streams"] < FEWEST or not found["error"]:
                continue
            family = f"mean of {words} of typical solutions, {point['problem']}"
            error = math.hypot(found["error"], found["predicted_error"])
            comparisons.append(
                Comparison(f"{family}, d = {point['d']}, p = {point['p']} ({point['streams']} streams)",
                           found["predicted"], found["mean"], error, point["streams"] - 1, notes, family,
                           f"d = {point['d']}")
            )  # fmt: skip
    return comparisons
