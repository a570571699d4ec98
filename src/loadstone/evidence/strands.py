"""Original beside decoupled problem at low rank: spectra and scores of memories that store equally many associations.

The runs are those of the accuracy figure by L-BFGS. For each rank fraction and dimension both problems are compared at
the largest p that all their streams stored, stream by stream, because both problems of a stream have the same inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from loadstone.evidence.stored_spectra import STORED
from loadstone.studies.kit.bounds import BELOW, trend
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.moments import FOURTH, moments
from loadstone.studies.kit.rows import Row, deviation, grouped

#: Numbers of one run, by name.
NUMBERS: dict[str, Callable[[Row], float]] = {
    FOURTH: lambda row: moments(np.array(row["singular_values"]))[FOURTH],
    "mean of the target's score": lambda row: row["scores"]["own_target"]["mean"],
}


def strand_points(rows: list[Row]) -> list[dict]:
    """For each rank fraction below one, dimension and number: the mean difference original - decoupled over streams."""
    points = []
    searched = [row for row in rows if row["solver"] == "lbfgs" and row["kappa"] < 1 and "singular_values" in row]
    for (kappa, d), group in grouped(searched, "kappa", "d"):
        pairs = _last_pairs(group)
        for name, number in NUMBERS.items():
            found = [(number(one), number(other)) for one, other in pairs if "own_target" in one["scores"]]
            if len(found) < 2:
                continue
            differences = [one - other for one, other in found]
            error = deviation(differences) / math.sqrt(len(found))
            points.append(
                {"kappa": kappa, "d": d, "p": pairs[0][0]["p"], "number": name, "streams": len(found)}
                | {"difference": float(np.mean(differences)), "error": error}
                | {"decoupled": float(np.mean([other for _, other in found]))}
            )
    return points


def compare_strands(rows: list[Row]) -> list[Comparison]:
    """Each difference beside zero, and whether it falls as d grows: its exponent of d."""
    comparisons: list[Comparison] = []
    points = [point for point in strand_points(rows) if point["error"] > 0]
    for (kappa, name), group in grouped(points, "kappa", "number"):
        family = f"at kappa = {kappa:g}: {name}, original - decoupled"
        for point in group:
            if point["streams"] >= FEWEST:
                comparisons.append(
                    Comparison(
                        f"{family}, d = {point['d']}", 0.0, point["difference"], point["error"], point["streams"] - 1,
                        LARGE_D, family, f"d = {point['d']}", point["decoupled"],
                    )  # fmt: skip
                )
        sizes, sides = [point["d"] for point in group], {point["difference"] > 0 for point in group}
        if len(sides) == 1:  # a difference that changes its sign has no exponent
            size = [abs(point["difference"]) for point in group]
            what = f"exponent of d at kappa = {kappa:g} in the difference: {name}, original - decoupled"
            errors, freedom = _pooled(group)
            falling = trend(what, sizes, size, errors, side=BELOW, freedom=freedom)
            comparisons += [falling] if falling else []
    return comparisons


def _last_pairs(rows: list[Row]) -> list[tuple[Row, Row]]:
    """The runs of both problems, stream by stream, at the largest p that all streams stored, below the first that one
    of them did not."""
    last: list[tuple[Row, Row]] = []
    for _, group in grouped(rows, "p"):
        runs = {(row["problem"], row["seed"]): row for row in group}
        seeds = sorted({seed for problem, seed in runs if problem == "original" and ("decoupled", seed) in runs})
        if any(row["status"] not in STORED for row in group):
            break
        if seeds:
            last = [(runs["original", seed], runs["decoupled", seed]) for seed in seeds]
    return last


def _pooled(points: list[dict]) -> tuple[list[float], int]:
    """Standard errors of the differences. Two streams do not tell their scatter, so all dimensions tell it together, in
    units of the difference."""
    streams = np.array([point["streams"] for point in points])
    shares = np.array([point["error"] / point["difference"] for point in points]) * np.sqrt(streams)
    freedom = int((streams - 1).sum())
    scatter = math.sqrt(float(((streams - 1) * shares**2).sum()) / freedom)
    return [scatter * abs(point["difference"]) / math.sqrt(point["streams"]) for point in points], freedom
