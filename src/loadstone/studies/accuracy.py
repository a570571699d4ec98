"""How many facts do memories of three ranks recall at each load, and the Hebbian rule?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from loadstone.studies.equivalence import compare_problems, differences
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.counts import count_comparison
from loadstone.studies.kit.load_curves import draw_curves, load_curves
from loadstone.studies.kit.panels import Figure
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import KAPPAS, Spec, by_lbfgs, protocol
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.hebbian import finite_probability_all_stored

#: Loads at which the law is surer than this that everything is stored, or not, say nothing.
_SURE = 1e-4


def runs(scale: str) -> list[Spec]:
    """Both problems at three rank fractions by the paper's protocol and by L-BFGS, and the Hebbian rule."""
    return protocol(scale) + by_lbfgs(scale, KAPPAS)


class Points(NamedTuple):
    """What is drawn and compared.

    curves: accuracy against the load.
    differences: decoupled - original in its mean over the loads, below full rank ('equivalence' has them at full rank).
    all_stored: how often the Hebbian rule stores everything.
    """

    curves: list[dict]
    differences: list[dict]
    all_stored: list[dict]


def points(rows: list[Row]) -> Points:
    """Accuracy at each rank, and how often the Hebbian rule stores everything."""
    low = [row for row in rows if row["kappa"] < 1]
    return Points(load_curves(rows, "accuracy"), differences(low, "accuracy"), all_stored(rows))


def all_stored(rows: list[Row]) -> list[dict]:
    """For each dimension the share of Hebbian memories that store every association, over all loads at which that is
    open, its law and the standard error by the law.

    A few seeds a load tell little, but all loads of a dimension together do. The loads of one seed are one nested
    stream, whose outcomes are not independent: the error allows for the worst case, that they rise and fall together.
    """
    points = []
    for (d,), group in grouped((row for row in rows if row["solver"] == "hebbian"), "d"):
        law = {p: finite_probability_all_stored(p, d) for p in {row["p"] for row in group}}
        undecided = [row for row in group if _SURE < law[row["p"]] < 1 - _SURE]
        if not undecided:
            continue
        deviations = {p: math.sqrt(share * (1 - share)) for p, share in law.items()}
        # Within a stream deviations add, not variances.
        of_streams = [sum(deviations[row["p"]] for row in stream) for _, stream in grouped(undecided, "seed")]
        points.append(
            {"d": d, "predicted": float(np.mean([law[row["p"]] for row in undecided]))}
            | {"share": float(np.mean([row["violations"] == 0 for row in undecided]))}
            | {"error": math.sqrt(sum(scatter**2 for scatter in of_streams)) / len(undecided)}
        )
    return points


def compare(points: Points) -> list[Comparison]:
    """Both problems below full rank, and the Hebbian rule."""
    problems = compare_problems(points.differences, "accuracy")
    return problems + compare_all_stored(points.all_stored) + compare_hebbian_accuracy(points.curves)


def compare_all_stored(points: list[dict]) -> list[Comparison]:
    """How often the Hebbian rule stores everything, compared with the law at finite size."""
    family, note = "share of Hebbian memories that store everything", "failures are taken as independent"
    return [
        Comparison.of(family, point, point["predicted"], point["share"], point["error"], note, dof=math.inf, scale=1.0)
        for point in points
    ]


def compare_hebbian_accuracy(curves: list[dict]) -> list[Comparison]:
    """Accuracy of the Hebbian rule compared with its law at finite size. The associations of one memory are nearly
    independent: how many are recalled is nearly binomial."""
    family, note = "Hebbian accuracy", "the law takes the rivals of one association as independent"
    comparisons: list[Comparison] = []
    for curve in (curve for curve in curves if curve["solver"] == "hebbian"):
        streams, numbers = f"d = {curve['d']}", (curve[name] for name in ("p", "load", "mean", "predicted", "seeds"))
        for p, alpha, mean, predicted, seeds in zip(*numbers):
            what, cases = f"{family}, {streams}, load {alpha:.2f}", p * seeds
            comparisons.append(count_comparison(what, predicted, round(cases * mean), cases, note, family, streams))
    return comparisons


def draw(figure: Figure, points: Points) -> None:
    """Accuracy against load for each rank fraction, and the Hebbian rule at full rank."""
    draw_curves(figure, points.curves, "accuracy", "Accuracy against load")


ACCURACY = Study(
    "accuracy",
    "How many facts do memories of three ranks recall, and the Hebbian rule?",
    runs,
    points,
    draw,
    Caption(
        "Accuracy at three ranks, and by the Hebbian rule",
        "Accuracy against the load for memories of rank kappa d with kappa = 1/4, 1/2 and 1, trained by Adam with the "
        "paper's protocol (plain lines) and by L-BFGS (marks), and for the Hebbian rule (dotted), which adds up the "
        "products u e^T without training.",
        "The replica-symmetric capacity for large d falls with the rank (red). The limit of the Hebbian rule is a load "
        "of 1/8; its accuracy at each d is predicted without a free parameter (thin lines).",
    ),
    compare,
    plotted=lambda points: {"quantity": "accuracy", "curves": points.curves},
)
