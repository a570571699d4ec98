"""How much is recalled, and at which loss, when there are more facts than a memory can store?"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from loadstone.estimate import deviation
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.panels import Axes, Figure, colour, key, mark_of, subplots, trained_keys
from loadstone.studies.kit.points import finish, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import DIMENSIONS, Spec, associations, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.minimiser import Minimiser, minimiser

#: For each scale: loads and seeds. 'quick' has more seeds than elsewhere, so that the means are known well enough to be
#: compared with theory.
_LOADS = {"quick": ((0.9, 1.0, 1.1, 1.2, 1.4, 1.6), 6), "paper": ((0.8, 0.9, 1.0, 1.2), 5)}
_LABELS = {"loss": "cross-entropy (nats)", "accuracy": "accuracy"}
#: The curves are steep close to capacity, so they also have points that exceed it by these fractions.
_EXCESS = (0.006, 0.02, 0.05)


def runs(scale: str) -> list[Spec]:
    """Training above capacity, where the paper's protocol converges."""
    loads, seeds = _LOADS[scale]
    return [
        spec(problem, d, associations(load, d), seed)
        for problem, dimensions in DIMENSIONS[scale].items()
        for d in dimensions
        for load in loads
        if associations(load, d) > share_of_capacity(1, d)
        for seed in range(seeds)
    ]


def runs_of_larger_sizes(scale: str) -> list[Spec]:
    """Sizes that the paper does not have, a few loads around the threshold: large original problems, and decoupled ones
    whose outputs are stored in float16 or not stored at all."""
    original, halves, regenerated = {60: [0.7, 0.9, 1.1]}, {30: [0.8, 1.1]}, {24: [0.8, 1.1]}
    if scale == "paper":
        original = {1024: [0.6, 0.7, 0.725, 0.75, 0.8], 2048: [0.65, 0.7]}
        halves, regenerated = {300: [0.6, 0.7, 0.75, 0.8]}, {400: [0.6, 0.7, 0.75, 0.8]}
    kinds = [
        (original, partial(spec, "original")),
        (halves, partial(spec, "decoupled", hold="stored", stored_dtype="float16")),
        (regenerated, partial(spec, "decoupled", hold="regenerated")),
    ]
    return [
        kind(d=d, p=associations(load, d), seed=seed)
        for sizes, kind in kinds
        for d, loads in sizes.items()
        for load in loads
        # The largest take minutes each: one seed.
        for seed in range(2 if d < 400 else 1)
    ]


class Points(NamedTuple):
    """Trained memories, and the minimisers of the loss above the capacity of each dimension."""

    trained: list[dict]
    predicted: dict[int, list[Minimiser]]


def points(rows: list[Row]) -> Points:
    """Memories trained above the capacity that is predicted for their size, and the prediction."""
    above = [point for point in loss_and_accuracy(rows) if point["p"] > capacity_associations(point["d"])]
    return Points(above, _predicted(above))


def points_on_both_sides(rows: list[Row]) -> Points:
    """The same with memories trained below the capacity."""
    trained = loss_and_accuracy(rows)
    return Points(trained, _predicted(trained))


def loss_and_accuracy(rows: list[Row], solver: str = "adam") -> list[dict]:
    """Memories of full rank: mean, and deviation over seeds, of loss and accuracy, and how many of them met a stop rule
    before the end of their schedule."""
    trained = [row for row in rows if row["solver"] == solver and row["kappa"] == 1]
    points = []
    for (problem, d, p), group in grouped(trained, "problem", "d", "p"):
        point = {"problem": problem, "d": d, "p": p, "load": float(load(p, d)), "seeds": len(group)}
        point["stopped"] = sum(row["status"] in ("stored", "stop rule met") for row in group)
        for quantity in _LABELS:
            values = [row[quantity] for row in group]
            point |= {quantity: float(np.mean(values)), f"{quantity}_deviation": deviation(values)}
        points.append(point)
    return points


def _predicted(trained: list[dict]) -> dict[int, list[Minimiser]]:
    """For each dimension the minimisers at its sizes above capacity, and at a few close to the capacity."""
    predicted = {}
    for (d,), group in grouped(trained, "d"):
        most = float(capacity_associations(d))
        near = {int(np.ceil(most * (1 + excess))) for excess in _EXCESS}
        predicted[d] = [trained_law(p, d) for p in sorted(near | {point["p"] for point in group if point["p"] > most})]
    return predicted


@lru_cache(maxsize=1024)
def trained_law(p: int, d: int) -> Minimiser:
    """The minimiser to about 0.2 %; takes a second for each size."""
    return minimiser(p, d, samples=1024)


def compare(points: Points) -> list[Comparison]:
    """Loss and accuracy above capacity compared with those of the minimiser of the loss."""
    return [one for point in points.trained for name in _LABELS for one in beside_the_minimiser(point, name)]


def beside_the_minimiser(point: dict, quantity: str, by: str = "") -> list[Comparison]:
    """A loss or an accuracy above capacity beside the minimiser's; nothing for sizes with one seed, which show no
    scatter, and where a stop rule ended a run before the minimum. by: how it was trained, in words."""
    if point["seeds"] < FEWEST or point["stopped"] or point["p"] <= capacity_associations(point["d"]):
        return []
    law = trained_law(point["p"], point["d"])
    error = math.hypot(point[f"{quantity}_deviation"] / math.sqrt(point["seeds"]), getattr(law, f"{quantity}_error"))
    return [
        Comparison(
            f"{quantity}, {point['problem']}, d = {point['d']}, load {point['load']:.2f}{by}",
            getattr(law, quantity), point[quantity], error, point["seeds"] - 1, LARGE_D,
            f"{quantity} above capacity, {point['problem']}{by}", f"d = {point['d']}",
        )
    ]  # fmt: skip


def draw(figure: Figure, points: Points) -> None:
    """Left loss, right accuracy; points are means over seeds with the error of the mean."""
    _draw(figure, points, "Above capacity: Adam (the paper's protocol), and predicted without a free parameter", 0.0)


def draw_larger_sizes(figure: Figure, points: Points) -> None:
    """The same on both sides of the capacity, at sizes beyond the paper's."""
    _draw(figure, points, "Beyond the paper's sizes: Adam (the paper's protocol), and predicted", 1.3)


def _draw(figure: Figure, points: Points, title: str, growth: float) -> None:
    """Marks grow by `growth` from one d to the next, so that points that coincide can all be seen."""
    trained, dimensions = points.trained, sorted(points.predicted)
    some(trained, "no memory of full rank was trained at these sizes")
    for panel, quantity in zip(subplots(figure, 1, 2, size=(7.4, 3.9)), _LABELS):
        for d in dimensions:
            _draw_predicted(panel, d, points.predicted[d], quantity)
        for problem, d in sorted({(point["problem"], point["d"]) for point in trained}, reverse=True):
            group = [point for point in trained if point["problem"] == problem and point["d"] == d]
            loads, values, scatter, seeds = values_of(group, "load", quantity, f"{quantity}_deviation", "seeds")
            style = mark_of(problem, colour(d)) | {"ms": 4.5 + growth * dimensions.index(d), "lw": 1}
            panel.errorbar(loads, values, np.divide(scatter, np.sqrt(seeds)), **style)
        panel.set(xlabel=r"load $\alpha = p \log p / d^2$", ylabel=_LABELS[quantity], ylim=(0, None))
    keys = [*trained_keys(trained), key("predicted", color="0.3", lw=1.4)]
    finish(figure, f"{title} ({{}})", trained, -(-len(keys) // 2), (0.11, 0), keys)


def _draw_predicted(panel: Axes, d: int, law: list[Minimiser], quantity: str) -> None:
    """The prediction above capacity, which begins at capacity with loss 0 and accuracy 1."""
    from scipy.interpolate import PchipInterpolator

    least = float(load(capacity_associations(d), d))
    loads = np.array([least] + [minimum.load for minimum in law])
    values = np.array([{"loss": 0.0, "accuracy": 1.0}[quantity]] + [getattr(minimum, quantity) for minimum in law])
    # As a function of the root of the distance to capacity the curve is smooth, so a few points are enough.
    fine = np.linspace(0, np.sqrt(loads[-1] - least), 200)
    curve = PchipInterpolator(np.sqrt(loads - least), values)(fine)
    panel.plot(least + fine**2, curve, color=colour(d), lw=1.4)
    panel.axvline(least, color=colour(d), lw=0.8, ls=":")


def plotted(points: Points) -> dict[str, list[dict]]:
    """The trained memories and the predicted curves."""
    curves = [{"d": d} | vars(minimum) for d, law in points.predicted.items() for minimum in law]
    return {"points": points.trained, "predicted": curves}


CURVES = Study(
    "curves",
    "How much is recalled when there are more facts than can be stored?",
    runs,
    points,
    draw,
    Caption(
        "What is left when not everything fits",
        "Cross-entropy and accuracy of memories that Adam (the paper's protocol) trains with more associations than "
        "the capacity that is predicted for their size.",
        "The curves come from two equations for the minimiser of the loss, without a free parameter; they hold for "
        "large d and begin at the capacity of each size (dotted).",
    ),
    compare,
    plotted=plotted,
)

BEYOND = Study(
    "beyond",
    "Does the theory hold at sizes larger than the paper's?",
    runs_of_larger_sizes,
    points_on_both_sides,
    draw_larger_sizes,
    Caption(
        "Larger sizes than the paper's",
        "Loss and accuracy on both sides of the capacity, by Adam with the paper's protocol: large original problems, "
        "and decoupled ones whose outputs are stored in half precision, or regenerated in every step and not stored at "
        "all.",
        "Below the capacity of each size (dotted) everything can be stored, though training may fail before; above it "
        "the curves are those of the minimiser of the loss.",
    ),
    compare,
    plotted=plotted,
)
