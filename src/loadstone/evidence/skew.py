"""Answers that are asked for unequally often: proved capacities beside the formula for given or random frequencies."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from loadstone.estimate import Estimate
from loadstone.frequencies import shares_of
from loadstone.studies.kit.brackets import mean_and_error, proved_bracket
from loadstone.studies.kit.comparison import FEWEST, Comparison, freedom_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.answers import facts_capacity
from loadstone.theory.skew import random_target_capacity, skewed_capacity

MANY_FACTS = "the formula is for many facts an answer and large d"
#: Samples for given frequencies; draws of random counts, and samples for each. More would take minutes.
_SAMPLES, _DRAWS, _SAMPLES_OF_A_DRAW = 4000, 8, 1500


def skew_points(rows: list[Row]) -> list[dict]:
    """For each dimension, number of answers and their frequencies: the mean proved capacity of the streams with its
    standard error, and what the formula says: if all were asked for equally often ('equal'), if their counts had just
    these frequencies ('given'), and for the targets as they were drawn ('predicted')."""
    said = [
        {"frequencies": "uniform"} | row
        for row in rows
        if row["solver"] == "capacity" and row["problem"] == "original" and row.get("answers") is not None
    ]
    points = []
    for (d, answers, drawn), group in grouped(said, "d", "answers", "frequencies"):
        found = [found for row in group if (found := proved_bracket(row))]
        if not found or answers > d + 1:
            continue
        facts, error = mean_and_error(found)
        given, predicted = given_frequencies(d, answers, drawn), as_drawn(d, answers, drawn)
        points.append(
            {"d": d, "answers": answers, "frequencies": drawn}
            | {"streams": len(found), "undecided": sum(row["p_c"] is None for row in group)}
            | {"facts": facts, "error": error}
            | {"equal": facts_capacity("full", d, answers, False)}
            | {"given": given.value, "given, error": given.error}
            | {"predicted": predicted.value, "predicted, error": predicted.error}
        )
    return points


@cache
def given_frequencies(d: int, answers: int, drawn: str) -> Estimate:
    """The formula if the counts of the facts have just these frequencies; exact where all are equal."""
    return skewed_capacity(d, _shares(answers, drawn), _SAMPLES)


@cache
def as_drawn(d: int, answers: int, drawn: str) -> Estimate:
    """The formula for the targets as they are drawn: balanced ones have equal counts, all others random ones."""
    if drawn == "balanced":
        return given_frequencies(d, answers, drawn)
    return random_target_capacity(d, _shares(answers, drawn), _DRAWS, _SAMPLES_OF_A_DRAW)


def _shares(answers: int, drawn: str) -> np.ndarray:
    return shares_of(answers, "uniform" if drawn == "balanced" else drawn)


def ratio(point: dict[str, Any]) -> tuple[float, float]:
    """Measured over predicted, and its standard error: of the streams, and of the sampled prediction."""
    value = point["facts"] / point["predicted"]
    return value, value * math.hypot(point["error"] / point["facts"], point["predicted, error"] / point["predicted"])


def compare_skew(rows: list[Row]) -> list[Comparison]:
    """The ratio of the mean proved capacity to the formula."""
    comparisons = []
    for point in skew_points(rows):
        if point["streams"] < FEWEST or point["error"] == 0:
            continue
        what = (
            f"proved capacity / formula, d = {point['d']}, {point['answers']} answers, {point['frequencies']} targets "
            f"({point['streams']} streams)"
        )
        value, error = ratio(point)
        # Only the scatter of the streams is estimated from few numbers.
        freedom = freedom_of(point["streams"], error * point["predicted"], point["error"])
        note = "" if point["frequencies"] == "balanced" else MANY_FACTS
        if point["undecided"]:
            note = "; ".join(filter(None, (note, f"{point['undecided']} streams stayed undecided")))
        family, streams = f"proved capacity / formula, {point['frequencies']} targets", f"d = {point['d']}"
        comparisons.append(Comparison(what, 1.0, value, error, freedom, note, family, streams))
    return comparisons
