"""Thresholds: proved capacities, the loads at which training first fails, and the predicted capacities."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from loadstone.arguments import rank_of
from loadstone.estimate import deviation, mean_of
from loadstone.studies.kit.bounds import ABOVE, BoundComparison
from loadstone.studies.kit.brackets import Bracket, middles, proved_bracket, reached_sizes, resolution
from loadstone.studies.kit.censored import censored_mean
from loadstone.studies.kit.comparison import FEWEST, STORES_MORE, Comparison, dof_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.capacity import capacity, capacity_associations
from loadstone.theory.load import associations, load
from loadstone.theory.storable import capacity_moments

TRAINING_STOPS_SHORT = "512 steps of training fail before the capacity is reached"
#: The prediction is for every association.
NEARLY_ALL = "the rule asks for 99.9 % only, which can be had a little above the capacity for all"


#: A problem and a dimension.
Kind = tuple[str, int]


def proved_capacities(rows: list[Row]) -> dict[Kind, list[Bracket]]:
    """The capacities of the streams of each problem and dimension, as brackets: exact ones and undecided ones."""
    proved = [row | {"bracket": proved_bracket(row)} for row in rows if row["solver"] == "capacity"]
    bounded = [row for row in proved if row["bracket"]]
    return {kind: [row["bracket"] for row in group] for kind, group in grouped(bounded, "problem", "d")}


def proved_thresholds(capacities: Mapping[Kind, list[Bracket]]) -> list[dict]:
    """Mean load at the proved capacity of each problem and dimension, with its standard error."""
    points = []
    for (problem, d), brackets in capacities.items():
        # If p associations are storable but not p + 1, the threshold lies between the two.
        sizes = middles(brackets) + 0.5
        loads = np.asarray(load(sizes, d))
        unresolved = resolution(brackets) * float(loads.mean() / sizes.mean())
        alpha, error = mean_of(loads, unresolved)
        points.append(
            {"problem": problem, "d": d, "seeds": len(sizes), "p": float(np.mean(sizes))}
            | {"alpha": alpha, "error": error}
        )
    return points


def trained_thresholds(rows: list[Row]) -> list[dict]:
    """The load at which training first fails, for each problem, dimension, rank fraction and stop rule.

    For each seed it is the middle between the last load at which the stop rule was met and the next one. A seed that
    fails at the first load, or never, has its threshold below or above all loads, and enters the mean as that
    (censored.py); `censored` counts them among the `seeds`. `alpha` is the mean over the seeds, `spread` the
    standard error of this mean; `error` includes the width of the step between loads too.
    """
    trained = [row | {"stop": row["protocol"]["stop"]} for row in rows if row["solver"] == "adam"]
    trained = [row for row in trained if row["stop"] != "none"]
    points = []
    for (problem, d, kappa, stop), group in grouped(trained, "problem", "d", "kappa", "stop"):
        around = [_last_and_next(of_seed) for _, of_seed in grouped(group, "seed")]
        between = [(low, high) for low, high in around if low is not None and high is not None]
        if not between:
            continue
        loads = np.asarray(load(np.array(between), d))
        # A threshold that is uniform within a step has a deviation of the step's width / sqrt(12).
        step = float(np.diff(loads, axis=1).max()) / math.sqrt(12)
        below = [float(load(high, d)) for low, high in around if low is None and high is not None]
        above = [float(load(low, d)) for low, high in around if high is None and low is not None]
        mean = censored_mean(loads.mean(axis=1).tolist(), below, above, least=step if below or above else 0.0)
        if mean is None:
            continue
        points.append(
            {"problem": problem, "d": d, "kappa": kappa, "stop": stop, "seeds": len(around)}
            | {"censored": len(below) + len(above)}
            | {"alpha": mean.mean, "error": math.hypot(mean.error, step), "spread": mean.error}
            | {"p": float(associations(mean.mean, d))}
        )
    return points


def _last_and_next(rows: list[Row]) -> tuple[int | None, int | None]:
    """The last p before the first failure of one seed, and the p of that failure; None where there is no such p."""
    met = {row["p"]: row["status"] in ("stored", "stop rule met") for row in rows}
    sizes = sorted(met)
    first = next((index for index, p in enumerate(sizes) if not met[p]), len(sizes))
    return (sizes[first - 1] if first else None), (sizes[first] if first < len(sizes) else None)


def reached_thresholds(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and rank fraction: the mean p up to which L-BFGS stored everything, its standard
    error, the capacity that is predicted for the rank that the memories had, and of how many streams the next p was not
    stored because the passes had run out."""
    searched = [row for row in rows if row["solver"] == "reach"]
    points = []
    for (problem, d, kappa, rank), group in grouped(searched, "problem", "d", "kappa", "rank"):
        sizes, unresolved = reached_sizes(group)
        mean, spread = mean_of(sizes)
        points.append(
            {"problem": problem, "d": d, "kappa": kappa, "rank": rank, "seeds": len(sizes), "p": mean}
            | {"spread": spread, "error": math.hypot(spread, unresolved)}
            | {"predicted": float(capacity_associations(d, rank / d))}
            | {"out_of_passes": sum(_ran_out(row) for row in group)}
        )
    return points


def _ran_out(row: Row) -> bool:
    """Whether the smallest p that was not stored might have been with more passes."""
    return any(p == row["not_stored"] and status == "out of passes" for p, _, status, _ in row["attempts"])


def compare_reach(reached: list[dict], kind: str = "associations that L-BFGS stores") -> list[Comparison]:
    """How far L-BFGS stores (`reached_thresholds`), compared with the predicted capacity."""
    comparisons = []
    for point in reached:
        if point["seeds"] < FEWEST:
            continue
        what = f"{kind}, {point['problem']}, d = {point['d']}, kappa = {point['kappa']:g}"
        note = STORES_MORE if point["problem"] == "original" else ""
        if point["rank"] < point["d"]:
            note = "below full rank the prediction is an upper bound in the limit of large d"
            if point["out_of_passes"]:
                note += f"; passes ran out in {point['out_of_passes']} of {point['seeds']} streams"
        dof = dof_of(point["seeds"], point["error"], point["spread"])
        family = f"{kind}, {point['problem']}, kappa = {point['kappa']:g}"
        numbers = point["predicted"], point["p"], point["error"]
        comparisons.append(Comparison(what, *numbers, dof, note, family, f"d = {point['d']}"))
    return comparisons


def compare_capacity(capacities: Mapping[Kind, list[Bracket]]) -> list[Comparison]:
    """Mean and deviation of the proved capacities; the prediction is for the decoupled problem."""
    comparisons = []
    for (problem, d), brackets in capacities.items():
        count = len(brackets)
        if count < FEWEST:
            continue
        mean, scatter = capacity_moments(d)
        note, point = STORES_MORE if problem == "original" else "", {"d": d, "streams": count}
        errors = math.hypot(scatter / math.sqrt(count), resolution(brackets)), scatter / math.sqrt(2 * (count - 1))
        pairs = (mean, float(middles(brackets).mean())), (scatter, deviation(middles(brackets)))
        for name, (predicted, measured), error in zip(("mean", "deviation"), pairs, errors):
            family, where = f"{name} of the proved capacity, {problem}", f"d = {d} ({count} streams)"
            numbers = predicted, measured, error, note, where
            comparisons.append(Comparison.of(family, point, *numbers, dof=dof_of(count)))
    return comparisons


def compare_thresholds(trained: list[dict]) -> list[Comparison]:
    """Where training first fails (`trained_thresholds`), against the capacity predicted for that size and rank."""
    comparisons = []
    for point in trained:
        d, kappa = point["d"], point["kappa"]
        # kappa = 1/4 at d = 50 is a rank of 12.
        predicted = float(load(capacity_associations(d, rank_of(kappa, d) / d), d))
        what = f"load at which training fails ({point['stop']} stop), {point['problem']}, d = {d}, kappa = {kappa:g}"
        # The spread over seeds is estimated, the width of the step is known.
        dof = dof_of(point["seeds"], point["error"], point["spread"])
        family = f"load at which training fails ({point['stop']} stop), {point['problem']}, kappa = {kappa:g}"
        note = TRAINING_STOPS_SHORT
        if point["stop"] == "paper":
            note += f"; {NEARLY_ALL}"
        if point["censored"]:
            note += f"; {point['censored']} of {point['seeds']} seeds have it outside the loads that were run"
        comparisons.append(Comparison(what, predicted, point["alpha"], point["error"], dof, note, family, f"d = {d}"))
    return comparisons


def compare_with_limit(trained: list[dict]) -> list[Comparison]:
    """Whether training with the paper's stop rule fails (`trained_thresholds`) above the capacity of the limit of large
    d, and whether both problems fail at the same load, to the resolution that training has."""
    points = [point for point in trained if point["stop"] == "paper" and point["error"] > 0]
    comparisons: list[Comparison] = []
    for point in points:
        d, kappa = point["d"], point["kappa"]
        family = f"load at which training fails above that of the limit, {point['problem']}, kappa = {kappa:g}"
        dof = dof_of(point["seeds"], point["error"], point["spread"])
        numbers = float(capacity(rank_of(kappa, d) / d)), point["alpha"], point["error"]
        comparisons.append(BoundComparison.of(family, point, *numbers, dof=dof, side=ABOVE))
    for (kappa, _), group in grouped(points, "kappa", "d"):
        by_problem = {point["problem"]: point for point in group}
        if len(by_problem) < 2 or min(point["seeds"] for point in group) < FEWEST:
            continue
        decoupled, original = by_problem["decoupled"], by_problem["original"]
        error, spread = (math.hypot(decoupled[name], original[name]) for name in ("error", "spread"))
        family = f"load at which training fails, decoupled - original, kappa = {kappa:g}"
        dof = dof_of(decoupled["seeds"] + original["seeds"] - 1, error, spread)
        numbers = 0.0, decoupled["alpha"] - original["alpha"], error
        comparisons.append(Comparison.of(family, original, *numbers, dof=dof, scale=original["alpha"]))
    return comparisons
