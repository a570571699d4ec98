"""Thresholds: proved capacities, and the loads at which training first fails, beside the predicted capacities."""

from __future__ import annotations

import math

import numpy as np

from loadstone.evidence.comparison import FEWEST, Comparison
from loadstone.evidence.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.storable import capacity_moments

TRAINING_STOPS_SHORT = "512 steps of training fail before the capacity is reached"


def proved_capacities(rows: list[Row]) -> dict[tuple[str, int], list[int]]:
    """Exact capacities of the streams of each problem and dimension; undecided streams are left out."""
    proved = [row for row in rows if row["solver"] == "capacity" and row["p_c"] is not None]
    return {key: [row["p_c"] for row in group] for key, group in grouped(proved, "problem", "d")}


def proved_thresholds(rows: list[Row]) -> list[dict]:
    """Mean load at the proved capacity of each problem and dimension, with its standard error."""
    points = []
    for (problem, d), capacities in proved_capacities(rows).items():
        # If p associations are storable but not p + 1, the threshold lies between the two.
        sizes = np.array(capacities) + 0.5
        loads = np.asarray(load(sizes, d))
        points.append(
            {"problem": problem, "d": d, "seeds": len(sizes), "p": float(np.mean(sizes))}
            | {"alpha": float(np.mean(loads)), "error": deviation(loads) / math.sqrt(len(sizes))}
        )
    return points


def trained_thresholds(rows: list[Row]) -> list[dict]:
    """The load at which training first fails, for each problem, dimension, rank fraction and stop rule.

    For each seed it is the middle between the last load at which the stop rule was met and the next one. `alpha` is the
    mean over the seeds, `spread` the standard error of this mean; `error` includes the width of the step between loads
    too. A seed that never or always meets its stop rule shows no threshold and is left out; `seeds` counts the others.
    """
    trained = [
        row | {"stop": row["protocol"]["stop"]}
        for row in rows
        if row["solver"] == "adam" and row["protocol"]["stop"] != "none"
    ]
    points = []
    for (problem, d, kappa, stop), group in grouped(trained, "problem", "d", "kappa", "stop"):
        around = [pair for _, one_seed in grouped(group, "seed") if (pair := _last_and_next(one_seed))]
        if not around:
            continue
        loads = np.array([[float(load(p, d)) for p in pair] for pair in around])
        middles, step = loads.mean(axis=1), float(np.diff(loads, axis=1).max())
        spread = deviation(middles) / math.sqrt(len(middles))
        points.append(
            {"problem": problem, "d": d, "kappa": kappa, "stop": stop, "seeds": len(middles)}
            # A threshold that is uniform within a step has a deviation of the step's width / sqrt(12).
            | {"alpha": float(middles.mean()), "error": math.hypot(spread, step / math.sqrt(12))}
            | {"spread": spread, "p": float(np.mean(around))}
        )
    return points


def _last_and_next(rows: list[Row]) -> tuple[int, int] | None:
    """The last p before the first failure of one seed, and the p of that failure."""
    met = {row["p"]: row["status"] in ("stored", "stop rule met") for row in rows}
    sizes = sorted(met)
    first = next((index for index, p in enumerate(sizes) if not met[p]), 0)
    return (sizes[first - 1], sizes[first]) if first > 0 else None


def reached_thresholds(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and rank fraction: the mean p up to which L-BFGS stored everything, its standard
    error, and the capacity that is predicted for the rank that the memories had."""
    reached = [row for row in rows if row["solver"] == "reach"]
    points = []
    for (problem, d, kappa, rank), group in grouped(reached, "problem", "d", "kappa", "rank"):
        sizes = np.array([(row["stored"] + row["not_stored"]) / 2 for row in group])
        widths = np.array([row["not_stored"] - row["stored"] for row in group])
        spread = deviation(sizes) / math.sqrt(len(sizes))
        # A threshold that is uniform within its bracket has a deviation of the width / sqrt(12).
        resolution = math.sqrt(float((widths**2).sum()) / 12) / len(sizes)
        points.append(
            {"problem": problem, "d": d, "kappa": kappa, "rank": rank, "seeds": len(sizes), "p": float(sizes.mean())}
            | {"spread": spread, "error": math.hypot(spread, resolution)}
            | {"predicted": float(capacity_associations(d, rank / d))}
        )
    return points


def compare_reach(rows: list[Row]) -> list[Comparison]:
    """How far L-BFGS stores, beside the predicted capacity."""
    comparisons = []
    for point in reached_thresholds(rows):
        if point["seeds"] < FEWEST:
            continue
        what = f"associations that L-BFGS stores, {point['problem']}, d = {point['d']}, kappa = {point['kappa']:g}"
        note = "the original problem can store a little more at small d" if point["problem"] == "original" else ""
        if point["rank"] < point["d"]:
            note = "below full rank the prediction is an upper bound in the limit of large d"
        freedom = (point["seeds"] - 1) * (point["error"] / point["spread"]) ** 4 if point["spread"] > 0 else math.inf
        comparisons.append(Comparison(what, point["predicted"], point["p"], point["error"], freedom, note))
    return comparisons


def compare_capacity(rows: list[Row]) -> list[Comparison]:
    """Mean and deviation of the proved capacities; the prediction is for the decoupled problem."""
    comparisons = []
    for (problem, d), found in proved_capacities(rows).items():
        count = len(found)
        if count < FEWEST:
            continue
        mean, scatter = capacity_moments(d)
        note = "the original problem can store a little more at small d" if problem == "original" else ""
        of = f"of the proved capacity, {problem}, d = {d} ({count} streams)"
        errors = scatter / math.sqrt(count), scatter / math.sqrt(2 * (count - 1))
        comparisons.append(Comparison(f"mean {of}", mean, float(np.mean(found)), errors[0], note=note))
        comparisons.append(Comparison(f"deviation {of}", scatter, deviation(found), errors[1], note=note))
    return comparisons


def compare_thresholds(rows: list[Row]) -> list[Comparison]:
    """Where training first fails, beside the capacity predicted for that size and rank."""
    comparisons = []
    for point in trained_thresholds(rows):
        d, kappa = point["d"], point["kappa"]
        predicted = float(load(capacity_associations(d, kappa), d))
        what = f"load at which training fails ({point['stop']} stop), {point['problem']}, d = {d}, kappa = {kappa:g}"
        # Satterthwaite's degrees of freedom: the spread over seeds is estimated, the width of the step is known.
        estimated = point["spread"] > 0
        freedom = (point["seeds"] - 1) * (point["error"] / point["spread"]) ** 4 if estimated else math.inf
        comparisons.append(Comparison(what, predicted, point["alpha"], point["error"], freedom, TRAINING_STOPS_SHORT))
    return comparisons
