"""The same runs with products of few digits and of many: what float16 changes in what is concluded.

Two runs that begin alike and differ in the last digits of their products take paths that part. So the question is not
whether they end alike, run by run, but whether accuracy and loss are shifted on average.
"""

from __future__ import annotations

import math

import numpy as np

from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.load import load

MANY = "float32"
QUANTITIES = ("accuracy", "loss")


def digits_of(row: Row) -> str:
    """The precision of the products of a run; 'auto' is what its device took."""
    asked = row["protocol"]["precision"]
    return row.get("circumstances", {}).get("auto_precision", asked) if asked == "auto" else asked


def control_points(rows: list[Row]) -> list[dict]:
    """For each dimension and number of associations: the mean over seeds of accuracy and loss in float32, and the mean
    difference of each run in float16 from its twin in float32, with its standard error."""
    trained = [row | {"digits": digits_of(row)} for row in rows if row["solver"] == "adam"]
    points = []
    for (d, p), group in grouped(trained, "d", "p"):
        by_digits = {digits: {row["seed"]: row for row in some} for (digits,), some in grouped(group, "digits")}
        many = by_digits.pop(MANY, {})
        for digits, few in by_digits.items():
            shared = sorted(few.keys() & many.keys())
            if not shared:
                continue
            point = {"d": d, "p": p, "load": float(load(p, d)), "digits": digits, "seeds": len(shared)}
            for name in QUANTITIES:
                differences = [few[seed][name] - many[seed][name] for seed in shared]
                point[name] = float(np.mean([many[seed][name] for seed in shared]))
                point[f"{name}_difference"] = float(np.mean(differences))
                # An accuracy counts whole associations: p of them leave 1/p open, with a deviation of 1 / (p sqrt(12)).
                least = 1 / (p * math.sqrt(12)) if name == "accuracy" else 0.0
                point[f"{name}_error"] = math.hypot(deviation(differences), least) / math.sqrt(len(shared))
                point[f"{name}_differences"] = differences
            points.append(point)
    return points


def compare_control(rows: list[Row]) -> list[Comparison]:
    """Differences of accuracy and loss beside none, in per cent of their values in float32."""
    comparisons = []
    for point in control_points(rows):
        for name in QUANTITIES:
            # Losses that are equal to the last digit show no scatter, and leave nothing to be compared.
            if point["seeds"] < FEWEST or not point[f"{name}_error"]:
                continue
            family = f"{name}, {point['digits']} - {MANY}"
            what = f"{family}, d = {point['d']}, load {point['load']:.2f}"
            comparisons.append(
                Comparison(
                    what, 0.0, point[f"{name}_difference"], point[f"{name}_error"], point["seeds"] - 1, "", family,
                    f"d = {point['d']}", point[name],
                )  # fmt: skip
            )
    return comparisons
