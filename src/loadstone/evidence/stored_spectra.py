"""Singular values of the last memories that store their associations, of the runs that the accuracy figure shows.

For each stream it is the run at the largest load below the first at which the stop rule was not met. Their distance to
the law at capacity should vanish as d grows, as that of Gaussian matrices does. Distances to a wrong law fall with d
too, at first, because fewer values scatter more about any law; but by less than those of Gaussian matrices. So what is
tested is whether the excess over Gaussian matrices falls.
"""

from __future__ import annotations

import math

import numpy as np

from loadstone.studies.kit.bounds import BELOW, trend
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.distances import capacity_reference, kolmogorov
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.spectra import at_capacity

#: Words for the solvers of the accuracy figure that search.
SOLVERS = {"adam": "Adam", "lbfgs": "L-BFGS"}
#: How a search ends that met its stop rule.
STORED = ("stored", "stop rule met")


def last_stored(rows: list[Row]) -> list[Row]:
    """The run of each stream at the largest p that was stored, below the smallest that was not."""
    found = []
    searched = [row for row in rows if row["solver"] in SOLVERS and "singular_values" in row]
    for _, group in grouped(searched, "solver", "kappa", "problem", "d", "seed"):
        failed = min((row["p"] for row in group if row["status"] not in STORED), default=math.inf)
        stored = [row for row in group if row["status"] in STORED and row["p"] < failed]
        found += [max(stored, key=lambda row: row["p"])] if stored else []
    return found


def spectrum_points(rows: list[Row]) -> list[dict]:
    """For each solver, rank fraction, problem and dimension: the mean distance to the law at capacity over streams, and
    that of Gaussian matrices cut to the same rank."""
    points = []
    for (solver, kappa, problem, d), group in grouped(last_stored(rows), "solver", "kappa", "problem", "d"):
        rank = len(group[0]["singular_values"])
        law = at_capacity(rank / d).nonzero()
        distances = [kolmogorov(np.array(row["singular_values"]), law) for row in group]
        points.append(
            {"solver": solver, "kappa": kappa, "problem": problem, "d": d, "streams": len(group)}
            | {"p": float(np.mean([row["p"] for row in group])), "distance": float(np.mean(distances))}
            | {"error": deviation(distances) / math.sqrt(len(group)), "gaussian": capacity_reference(d, rank)[0]}
        )
    return points


def compare_stored_spectra(rows: list[Row]) -> list[Comparison]:
    """Whether the distance to the law, less that of Gaussian matrices, falls as d grows: its exponent of d, for each
    solver, problem and rank."""
    comparisons = []
    points = [point for point in spectrum_points(rows) if point["streams"] >= FEWEST and point["error"] > 0]
    for (solver, problem, kappa), group in grouped(points, "solver", "problem", "kappa"):
        sizes, distances = ([point[name] for point in group] for name in ("d", "distance"))
        streams = np.array([point["streams"] for point in group])
        # Two streams do not tell their scatter, so all dimensions tell it together, relative to the distance.
        shares = np.array([point["error"] / point["distance"] for point in group]) * np.sqrt(streams)
        freedom = int((streams - 1).sum())
        scatter = math.sqrt(float(((streams - 1) * shares**2).sum()) / freedom)
        errors = scatter * np.array(distances) / np.sqrt(streams)
        what = f"exponent of d in the excess distance to the law, {SOLVERS[solver]}, {problem}, kappa = {kappa:g}"
        excess = [point["distance"] - point["gaussian"] for point in group]
        comparisons.append(trend(what, sizes, excess, errors.tolist(), side=BELOW, freedom=freedom))
    return [one for one in comparisons if one is not None]


def distances_in_words(rows: list[Row]) -> list[str]:
    """The distance at the smallest and at the largest d, beside that of Gaussian matrices."""
    words = []
    for (solver, problem, kappa), group in grouped(spectrum_points(rows), "solver", "problem", "kappa"):
        ends = " and ".join(
            f"{point['distance']:.3f} at d = {point['d']} (Gaussian matrices: {point['gaussian']:.3f})"
            for point in (group[0], group[-1])[: len(group)]
        )
        words.append(f"Distance to the law, {SOLVERS[solver]}, {problem}, kappa = {kappa:g}: {ends}.")
    return words
