"""Scores of all outputs but the target: how far they are from a normal law, as two numbers."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from loadstone.studies.kit.bounds import BELOW, BoundComparison
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.load import load

#: The value of a normal law, and what 100 % is.
_NORMAL = {"skewness": (0.0, 1.0), "fourth moment": (3.0, 3.0)}
#: Distributions that differ by less than this, at any score, look the same in a histogram.
_ALIKE = 0.01
_NOTE = "scores that would beat the target are held below it, so the tail is cut"


def compare_others(rows: list[Row]) -> list[Comparison]:
    """Skewness and fourth moment of the standardised scores of the others, beside those of a normal law; and whether
    their distribution is that of a normal law to within one per cent everywhere."""
    comparisons: list[Comparison] = []
    for (problem, d, p), group in grouped(rows, "problem", "d", "p"):
        if len(group) < FEWEST:
            continue
        found = [standard_moments(row["scores"]) for row in group]
        for name, (normal, scale) in _NORMAL.items():
            values = [one[name] for one in found]
            error = deviation(values) / math.sqrt(len(values))
            what = f"{name} of the scores of the others, {problem}, d = {d}, load {load(p, d):.2f}"
            family, streams = f"{name} of the scores of the others, {problem}", f"d = {d}"
            freedom = len(values) - 1
            comparisons.append(
                Comparison(what, normal, float(np.mean(values)), error, freedom, _NOTE, family, streams, scale)
            )
        distances = [distance_from_normal(row["scores"]) for row in group]
        family = f"distance of the scores of the others from a normal law, {problem}"
        error = deviation(distances) / math.sqrt(len(distances))
        comparisons.append(
            BoundComparison(
                f"{family}, d = {d}, load {load(p, d):.2f}", _ALIKE, float(np.mean(distances)), error,
                len(distances) - 1, "", family, f"d = {d}", side=BELOW,
            )  # fmt: skip
        )
    return comparisons


def distance_from_normal(scores: dict) -> float:
    """The largest difference between the distribution of the scores, in units of their deviation, and a normal law; at
    the edges of the bins of a record."""
    counts = np.array(scores["others"], float)
    edges = np.linspace(scores["low"], scores["high"], len(counts) + 1)
    # Scores beyond the ends are in the first and in the last bin.
    return float(np.abs(np.cumsum(counts)[:-1] / counts.sum() - ndtr(edges[1:-1])).max())


def standard_moments(scores: dict) -> dict[str, float]:
    """Skewness and fourth moment from the histogram of a record. Its bins are a twentieth of a deviation wide."""
    counts = np.array(scores["others"], float)
    edges = np.linspace(scores["low"], scores["high"], len(counts) + 1)
    weights, middles = counts / counts.sum(), (edges[1:] + edges[:-1]) / 2
    centred = middles - weights @ middles
    spread = math.sqrt(float(weights @ centred**2))
    return {
        "skewness": float(weights @ centred**3) / spread**3,
        "fourth moment": float(weights @ centred**4) / spread**4,
    }
