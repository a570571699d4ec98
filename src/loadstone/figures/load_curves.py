"""Accuracy or loss against load: original (solid), decoupled (dashed, with deviation), the Hebbian rule (dotted).

Plain lines are the paper's protocol, lines with marks L-BFGS. One panel for each rank fraction, with the capacity
predicted for large d in red.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.evidence.accuracy import (
    compare_equivalence,
    compare_hebbian_accuracy,
    compare_losses,
    compare_problems,
    load_curves,
)
from loadstone.evidence.hebbian import compare_hebbian_all
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import PREDICTION, STYLE, NothingToDrawError, colour, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import HEBBIAN_CAPACITY, capacity

#: Line, mark, and whether the mark is filled.
_STYLES = {
    ("original", "adam"): ("-", "", True),
    ("decoupled", "adam"): ("--", "", True),
    ("original", "lbfgs"): ("-", "o", True),
    ("decoupled", "lbfgs"): ("--", "s", False),
    ("original", "hebbian"): (":", "", True),
}
_SOLVERS = {"adam": "Adam", "lbfgs": "L-BFGS", "hebbian": "Hebbian"}
_LABELS = {"accuracy": "accuracy", "loss": "cross-entropy (nats)"}


def draw_equivalence(rows: list[Row], stem: Path) -> list[Path]:
    """Accuracy against load at full rank, both problems."""
    return _draw(load_curves(rows, "accuracy"), "accuracy", "Original and decoupled: accuracy against load", stem)


def draw_accuracy(rows: list[Row], stem: Path) -> list[Path]:
    """The same for each rank fraction, and the Hebbian rule at full rank."""
    return _draw(load_curves(rows, "accuracy"), "accuracy", "Accuracy against load", stem)


def draw_loss(rows: list[Row], stem: Path) -> list[Path]:
    """Cross-entropy of the memories that the paper's protocol trains."""
    trained = [row for row in rows if row["solver"] == "adam"]
    return _draw(load_curves(trained, "loss"), "loss", "Cross-entropy against load", stem)


def _draw(curves: list[dict], quantity: str, title: str, stem: Path) -> list[Path]:
    kappas = sorted({curve["kappa"] for curve in curves})
    dimensions = sorted({curve["d"] for curve in curves})
    if not dimensions:
        raise NothingToDrawError("no memory was trained")
    with plt.rc_context(STYLE):
        width = max(5.4, 3.3 * len(kappas))
        figure, axes = plt.subplots(1, len(kappas), figsize=(width, 4.2), sharey=True, squeeze=False)
        for panel, kappa in zip(axes[0], kappas):
            _panel(panel, [curve for curve in curves if curve["kappa"] == kappa], kappa, quantity)
        axes[0, 0].set_ylabel(_LABELS[quantity])
        used = {(curve["problem"], curve["solver"]) for curve in curves}
        handles = [Line2D([], [], color=colour(d), label=f"d = {d}") for d in dimensions]
        handles += [_key(*way) for way in _STYLES if way in used]
        if any("predicted" in curve for curve in curves):
            handles.append(Line2D([], [], color="0.45", lw=0.6, label="Hebbian, predicted"))
        handles += [Line2D([], [], color=PREDICTION, lw=1, ls=(0, (6, 2)), label="predicted threshold, large d")]
        columns = 3 if len(kappas) == 1 else 4
        rows = -(-len(handles) // columns)
        figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False, bbox_to_anchor=(0.5, 0))
        seeds = counted((count for curve in curves for count in curve["seeds"]), "seeds")
        words = f"{title} ({seeds} a point)\nAdam: the paper's protocol; bands: one standard deviation"
        figure.suptitle(words, y=0.985, fontsize=10)
        figure.tight_layout(rect=(0, 0.048 * rows, 1, 1))
        return save(figure, stem, {"quantity": quantity, "curves": curves})


def _key(problem: str, solver: str) -> Line2D:
    style, mark, filled = _STYLES[problem, solver]
    name, face = f"{problem}, {_SOLVERS[solver]}", "0.3" if filled else "white"
    return Line2D([], [], color="0.3", ls=style, marker=mark, ms=3.5, mfc=face, lw=0.8 if mark else 1.4, label=name)


def _panel(panel: Axes, curves: list[dict], kappa: float, quantity: str) -> None:
    for curve in curves:
        (style, mark, filled), ink = _STYLES[curve["problem"], curve["solver"]], colour(curve["d"])
        loads, mean, deviation = (np.array(curve[name]) for name in ("load", "mean", "deviation"))
        fine = 0.8 if mark else 1.4
        panel.plot(loads, mean, ls=style, marker=mark, ms=3.5, mfc=ink if filled else "white", color=ink, lw=fine)
        if "predicted" in curve:
            panel.plot(loads, curve["predicted"], color="0.45", lw=0.6, zorder=1)
        panel.fill_between(loads, mean - deviation, mean + deviation, color=ink, alpha=0.13, lw=0)
    lines = [(float(capacity(kappa)), r"$\alpha_c$")]
    if any(curve["solver"] == "hebbian" for curve in curves):
        lines.append((HEBBIAN_CAPACITY, r"$\alpha_c^{\mathrm{Hebb}}$"))
    for threshold, name in lines:
        panel.axvline(threshold, color=PREDICTION, lw=1, ls=(0, (6, 2)))
        panel.annotate(
            f"{name} = {threshold:.3f}", (threshold, 1.0), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", color=PREDICTION, fontsize=7.5, ha="center", va="bottom",
        )  # fmt: skip
    panel.set(xlabel=r"load $\alpha = p \log p / d^2$", ylim=(0, 1.03 if quantity == "accuracy" else None))
    panel.set_title(rf"$\kappa = {kappa:g}$", pad=17)


def _compare_accuracy(rows: list[Row]) -> list[Comparison]:
    """Both problems below full rank ('equivalence' has them at full rank), and the Hebbian rule."""
    low = [row for row in rows if row["kappa"] < 1]
    return compare_problems(low) + compare_hebbian_all(rows) + compare_hebbian_accuracy(rows)


EQUIVALENCE = Figure(
    name="equivalence",
    sweep=from_catalogue("equivalence"),
    draw=draw_equivalence,
    compare=compare_equivalence,
    caption=Caption(
        title="Shared and separate outputs side by side",
        drawn=(
            "Accuracy of trained memories against the load, for the original problem (all inputs share one set of "
            "outputs; solid lines) and the decoupled one (every input has a separate set of outputs; dashed, the band "
            "is one standard deviation). Plain lines: Adam with the paper's protocol. Marks: L-BFGS, until everything "
            "is stored or the minimum of the loss is reached; the accuracy of that minimum is predicted."
        ),
        theory=(
            "The paper conjectures that both have the same capacity, a load of 1/2 as d grows (red). At finite size "
            "the predicted transition lies higher and approaches 1/2 slowly, as log log p / log p."
        ),
    ),
)

ACCURACY = Figure(
    name="accuracy",
    sweep=from_catalogue("accuracy"),
    draw=draw_accuracy,
    compare=_compare_accuracy,
    caption=Caption(
        title="Accuracy at three ranks, and by the Hebbian rule",
        drawn=(
            "Accuracy against the load for memories of rank kappa d with kappa = 1/4, 1/2 and 1, trained by Adam with "
            "the paper's protocol (plain lines) and by L-BFGS (marks), and for the Hebbian rule (dotted), which adds "
            "up the products u e^T without training."
        ),
        theory=(
            "The replica-symmetric capacity for large d falls with the rank (red). The limit of the Hebbian rule is a "
            "load of 1/8; its accuracy at each d is predicted without a free parameter (thin lines)."
        ),
    ),
)

LOSS = Figure(
    name="loss",
    sweep=from_catalogue("loss"),
    draw=draw_loss,
    compare=compare_losses,
    caption=Caption(
        title="The loss against the load",
        drawn="Cross-entropy of the memories of 'accuracy' that Adam trained with the paper's protocol.",
        theory=(
            "Below capacity the loss can be made as small as one likes, above capacity it cannot. Both problems have "
            "the same loss in theory. The figure 'curves' shows the predicted values above capacity."
        ),
    ),
)
