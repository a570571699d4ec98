"""Does float16 change what is found? Accuracy and loss of the same runs with products in float16 and in float32.

On an accelerator the paper's protocol runs with products in float16 (sums in float32), because these are fastest. Some
of its runs are done again here in float32, from the same start on the same associations. Two runs that begin alike and
differ in the last digits of their products drift apart. So the question is not whether they end alike, run by run, but
whether accuracy and loss are shifted on average.
"""

from __future__ import annotations

import math

import numpy as np

from loadstone.estimate import deviation
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.panels import Figure, colour, subplots
from loadstone.studies.kit.points import errorbars, finish, some
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, associations, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.load import load

#: For each scale: dimensions, loads, seeds, and the precision that float32 is set beside. The precision of the paper's
#: runs is 'auto', which is float16 on the device of the shipped records; a processor would take float32 for it.
_RUNS: dict[str, tuple[tuple[int, ...], tuple[float, ...], int, str]] = {
    "quick": ((20,), (0.7, 0.9), 3, "float16"),
    "paper": ((100, 300), (0.6, 0.7, 0.75, 0.8, 0.9), 5, "auto"),
}
_PRECISE = "float32"
_QUANTITIES = ("accuracy", "loss")


def runs(scale: str) -> list[Spec]:
    """The paper's protocol at full rank, original problem, in either precision."""
    dimensions, loads, seeds, coarse = _RUNS[scale]
    return [
        spec("original", d, associations(load, d), seed, precision=precision)
        for precision in (coarse, _PRECISE)
        for d in dimensions
        for load in loads
        for seed in range(seeds)
    ]


def points(rows: list[Row]) -> list[dict]:
    """For each dimension and number of associations: the mean over seeds of accuracy and loss in float32, and the mean
    difference of each run in float16 from the same run in float32, with its standard error."""
    trained = [row | {"digits": precision_of(row)} for row in rows if row["solver"] == "adam"]
    points = []
    for (d, p), group in grouped(trained, "d", "p"):
        by_digits = {digits: {row["seed"]: row for row in runs} for (digits,), runs in grouped(group, "digits")}
        precise = by_digits.pop(_PRECISE, {})
        for digits, coarse in by_digits.items():
            shared = sorted(coarse.keys() & precise.keys())
            if not shared:
                continue
            point = {"d": d, "p": p, "load": float(load(p, d)), "digits": digits, "seeds": len(shared)}
            for name in _QUANTITIES:
                differences = [coarse[seed][name] - precise[seed][name] for seed in shared]
                point[name] = float(np.mean([precise[seed][name] for seed in shared]))
                point[f"{name}_difference"] = float(np.mean(differences))
                # An accuracy counts whole associations: p of them leave 1/p open, with a deviation of 1 / (p sqrt(12)).
                least = 1 / (p * math.sqrt(12)) if name == "accuracy" else 0.0
                point[f"{name}_error"] = math.hypot(deviation(differences), least) / math.sqrt(len(shared))
                point[f"{name}_differences"] = differences
            points.append(point)
    return points


def precision_of(row: Row) -> str:
    """The precision of the products of a run; 'auto' is what its device took."""
    requested = row["protocol"]["precision"]
    return row.get("circumstances", {}).get("auto_precision", requested) if requested == "auto" else requested


def compare(points: list[dict]) -> list[Comparison]:
    """Differences of accuracy and loss compared with zero, in per cent of their values in float32."""
    comparisons = []
    for point in points:
        for name in _QUANTITIES:
            # Losses that are equal to the last digit show no scatter, and leave nothing to be compared.
            if point["seeds"] < FEWEST or not point[f"{name}_error"]:
                continue
            family, where = f"{name}, {point['digits']} - {_PRECISE}", f"d = {point['d']}, load {point['load']:.2f}"
            difference, error = point[f"{name}_difference"], point[f"{name}_error"]
            comparisons.append(Comparison.of(family, point, 0.0, difference, error, where=where, scale=point[name]))
    return comparisons


def draw(figure: Figure, points: list[dict]) -> None:
    """The difference between both runs of each seed, and the mean with its standard error, against the load."""
    some(points, "no run was done in both precisions")
    for panel, name in zip(subplots(figure, 1, 2, size=(7.6, 3.9)), _QUANTITIES):
        for (d,), of_size in grouped(points, "d"):
            for point in of_size:
                differences = point[f"{name}_differences"]
                # Runs of one load side by side.
                x = point["load"] + 0.003 * (np.arange(len(differences)) - (len(differences) - 1) / 2)
                panel.plot(x, differences, ".", color=colour(d), alpha=0.4, ms=4)
            fields = ("load", f"{name}_difference", f"{name}_error")
            errorbars(panel, of_size, fields, colour(d), lw=1.2, label=f"d = {d}")
        panel.axhline(0, color="0.3", lw=1, zorder=0)
        panel.set(xlabel=r"load $p \log p / d^2$", ylabel=f"{name}, {points[0]['digits']} - float32")
    finish(figure, "The same runs with products of fewer digits ({} a point)", points, 4)


CONTROL = Study(
    "control",
    "Does float16 change what is found?",
    runs,
    points,
    draw,
    Caption(
        "Whether float16 changes what is found",
        "Accuracy and loss of the paper's protocol with products in float16 (sums in float32), less those of the same "
        "run with products in float32: the same associations from the same start. Small points are runs, large ones "
        "means over seeds with standard errors.",
        "Paths part because digits differ, so single runs differ; the means should not. Loss and accuracy of the final "
        "memory are measured in float32 in both cases.",
    ),
    compare,
)
