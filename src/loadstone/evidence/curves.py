"""Loss and accuracy of trained memories above capacity, beside those of the minimiser of the loss."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.minimiser import Minimiser, minimiser

QUANTITIES = ("loss", "accuracy")


def curve_points(rows: list[Row]) -> list[dict]:
    """Trained memories of full rank: mean, and deviation over seeds, of loss and accuracy, and how many of them met a
    stop rule before the end of their schedule."""
    trained = [row for row in rows if row["solver"] == "adam" and row["kappa"] == 1]
    points = []
    for (problem, d, p), group in grouped(trained, "problem", "d", "p"):
        point = {"problem": problem, "d": d, "p": p, "load": float(load(p, d)), "seeds": len(group)}
        point["stopped"] = sum(row["status"] in ("stored", "stop rule met") for row in group)
        for quantity in QUANTITIES:
            values = [row[quantity] for row in group]
            point |= {quantity: float(np.mean(values)), f"{quantity}_deviation": deviation(values)}
        points.append(point)
    return points


@lru_cache(maxsize=1024)
def trained_law(p: int, d: int) -> Minimiser:
    """The minimiser to about 0.2 %; takes a second for each size."""
    return minimiser(p, d, samples=1024)


def compare_curves(rows: list[Row]) -> list[Comparison]:
    """Loss and accuracy above capacity beside the minimiser's. Left out are sizes with one seed, which show no scatter,
    and those where a stop rule ended a run before the minimum."""
    comparisons = []
    for point in curve_points(rows):
        if point["seeds"] < FEWEST or point["stopped"] or point["p"] <= capacity_associations(point["d"]):
            continue
        law = trained_law(point["p"], point["d"])
        for name in QUANTITIES:
            error = math.hypot(point[f"{name}_deviation"] / math.sqrt(point["seeds"]), getattr(law, f"{name}_error"))
            what = f"{name}, {point['problem']}, d = {point['d']}, load {point['load']:.2f}"
            freedom = point["seeds"] - 1
            family, streams = f"{name} above capacity, {point['problem']}", f"d = {point['d']}"
            comparisons.append(
                Comparison(what, getattr(law, name), point[name], error, freedom, LARGE_D, family, streams)
            )
    return comparisons
