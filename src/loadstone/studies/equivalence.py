"""Do memories recall as many facts with shared outputs as with separate ones, and with the same loss?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from loadstone.studies.above_capacity import beside_the_minimiser, loss_and_accuracy
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.load_curves import draw_curves, load_curves
from loadstone.studies.kit.panels import Figure
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, by_lbfgs, protocol, trained
from loadstone.studies.kit.study import Caption, Study


def runs(scale: str) -> list[Spec]:
    """Both problems at full rank: the paper's protocol, and L-BFGS."""
    return trained(scale, (1.0,)) + by_lbfgs(scale, (1.0,))


class Points(NamedTuple):
    """What is drawn and compared.

    curves: accuracy or loss against the load.
    differences: decoupled - original in their mean over the loads.
    minimised: memories for which L-BFGS reached the minimum of the loss.
    """

    curves: list[dict]
    differences: list[dict]
    minimised: list[dict]


def points(rows: list[Row]) -> Points:
    """Accuracy of both problems, and of the minimum of the loss."""
    return Points(load_curves(rows, "accuracy"), differences(rows, "accuracy"), minimised(rows))


def points_of_loss(rows: list[Row]) -> Points:
    """The loss of the memories that the paper's protocol trains."""
    by_adam = [row for row in rows if row["solver"] == "adam"]
    return Points(load_curves(by_adam, "loss"), differences(by_adam, "loss"), [])


def differences(rows: list[Row], quantity: str) -> list[dict]:
    """decoupled - original in the mean of a quantity over the loads, for each solver, rank fraction and dimension, with
    its standard error from the scatter of the seeds, of which both problems need two."""
    points = []
    for (solver, kappa, d), group in grouped(rows, "solver", "kappa", "d"):
        means = {(problem, seed): np.mean([row[quantity] for row in of_seed])
                 for (problem, seed), of_seed in grouped(group, "problem", "seed")}  # fmt: skip
        original, decoupled = (
            np.array([mean for (problem, _), mean in means.items() if problem == name])
            for name in ("original", "decoupled")
        )
        if min(len(original), len(decoupled)) < FEWEST:
            continue
        error = math.sqrt(sum(np.var(means, ddof=1) / len(means) for means in (original, decoupled)))
        points.append(
            {"solver": solver, "kappa": kappa, "d": d, "freedom": len(original) + len(decoupled) - 2}
            | {"difference": float(decoupled.mean() - original.mean()), "error": error}
            | {"original": float(original.mean())}
        )
    return points


def minimised(rows: list[Row]) -> list[dict]:
    """Loss and accuracy of L-BFGS at full rank where it ended at the minimum of the loss in all streams: where some
    were stored, the others are not a fair sample."""
    searched = grouped((row for row in rows if row["solver"] == "lbfgs"), "problem", "kappa", "d", "p")
    at_minimum = [group for _, group in searched if {row["status"] for row in group} == {"minimum reached"}]
    return loss_and_accuracy([row for group in at_minimum for row in group], "lbfgs")


def compare(points: Points) -> list[Comparison]:
    """The two problems compared, and what L-BFGS reaches above capacity."""
    return compare_problems(points.differences, "accuracy") + compare_minimised(points)


def compare_losses(points: Points) -> list[Comparison]:
    """decoupled - original in mean loss over the loads: zero in theory."""
    return compare_problems(points.differences, "loss")


def compare_problems(differences: list[dict], quantity: str) -> list[Comparison]:
    """decoupled - original in the mean of a quantity over the loads: zero in theory."""
    comparisons = []
    for point in differences:
        by = " by L-BFGS" if point["solver"] == "lbfgs" else ""
        by += f" at kappa = {point['kappa']:g}" if point["kappa"] < 1 else ""
        family, dof = f"{quantity} over all loads{by}, decoupled - original", point["freedom"]
        numbers = 0.0, point["difference"], point["error"]
        comparisons.append(Comparison.of(family, point, *numbers, dof=dof, scale=point["original"]))
    return comparisons


def compare_minimised(points: Points) -> list[Comparison]:
    """Accuracy of L-BFGS at full rank above capacity, where it ends at the minimum of the loss, against the predicted
    accuracy of that minimum."""
    return [one for point in points.minimised for one in beside_the_minimiser(point, "accuracy", ", L-BFGS")]


def draw(figure: Figure, points: Points) -> None:
    """Accuracy against load at full rank, both problems."""
    draw_curves(figure, points.curves, "accuracy", "Original and decoupled: accuracy against load")


def draw_loss(figure: Figure, points: Points) -> None:
    """Cross-entropy of the memories that the paper's protocol trains."""
    draw_curves(figure, points.curves, "loss", "Cross-entropy against load")


EQUIVALENCE = Study(
    "equivalence",
    "Do memories recall as many facts with shared outputs as with separate ones?",
    runs,
    points,
    draw,
    Caption(
        "Shared and separate outputs side by side",
        "Accuracy of trained memories against the load, for the original problem (all inputs share one set of outputs; "
        "solid lines) and the decoupled one (every input has a separate set of outputs; dashed, the band is one "
        "standard deviation). Plain lines: Adam with the paper's protocol. Marks: L-BFGS, until everything is stored "
        "or the minimum of the loss is reached; the accuracy of that minimum is predicted.",
        "The paper conjectures that both have the same capacity, a load of 1/2 as d grows (red). At finite size the "
        "predicted transition lies higher and approaches 1/2 slowly, as log log p / log p.",
    ),
    compare,
    plotted=lambda points: {"quantity": "accuracy", "curves": points.curves},
)

LOSS = Study(
    "loss",
    "To which loss does training come at each load?",
    protocol,
    points_of_loss,
    draw_loss,
    Caption(
        "The loss against the load",
        "Cross-entropy of the memories of 'accuracy' that Adam trained with the paper's protocol.",
        "Below capacity the loss can be made as small as one likes, above capacity it cannot. Both problems have the "
        "same loss in theory. The figure 'curves' shows the predicted values above capacity.",
    ),
    compare_losses,
    plotted=lambda points: {"quantity": "loss", "curves": points.curves},
)
