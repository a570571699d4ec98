"""Loss and accuracy of trained memories above capacity, with the parameter-free curves of the minimiser."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.interpolate import PchipInterpolator

from loadstone.evidence.curves import compare_curves, curve_points, trained_law
from loadstone.studies.kit.panels import MARKS, STYLE, NothingToDrawError, colour, counted, save, trained_keys
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.minimiser import Minimiser

_LABELS = {"loss": "cross-entropy (nats)", "accuracy": "accuracy"}
#: The curves are steep close to capacity, so they also have points that exceed it by these fractions.
_EXCESS = (0.006, 0.02, 0.05)


def draw_curves(rows: list[Row], stem: Path) -> list[Path]:
    """Left loss, right accuracy; points are means over seeds with the error of the mean."""
    above = [point for point in curve_points(rows) if point["p"] > capacity_associations(point["d"])]
    return _draw(above, "Above capacity: Adam (the paper's protocol), and predicted without a free parameter", stem)


def draw_beyond(rows: list[Row], stem: Path) -> list[Path]:
    """The same on both sides of the capacity, at sizes beyond the paper's."""
    title = "Beyond the paper's sizes: Adam (the paper's protocol), and predicted"
    return _draw(curve_points(rows), title, stem, growth=1.3)


def _draw(points: list[dict], title: str, stem: Path, growth: float = 0.0) -> list[Path]:
    """Marks grow by `growth` from one d to the next, so that points that coincide can all be seen."""
    dimensions = sorted({point["d"] for point in points})
    if not points:
        raise NothingToDrawError("no memory of full rank was trained at these sizes")
    laws = {d: _law([point["p"] for point in points if point["d"] == d], d) for d in dimensions}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.9))
        for panel, quantity in zip(axes, _LABELS):
            for d in dimensions:
                _curve(panel, d, laws[d], quantity)
            for problem, d in sorted({(point["problem"], point["d"]) for point in points}, reverse=True):
                chosen = [point for point in points if point["problem"] == problem and point["d"] == d]
                _points(panel, chosen, quantity, 4.5 + growth * dimensions.index(d))
            panel.set(xlabel=r"load $\alpha = p \log p / d^2$", ylabel=_LABELS[quantity])
            panel.set_ylim(bottom=0)
        seeds = counted((point["seeds"] for point in points), "seeds")
        figure.suptitle(f"{title} ({seeds})", fontsize=10)
        handles = [*trained_keys(points), Line2D([], [], color="0.3", lw=1.4, label="predicted")]
        columns = -(-len(handles) // 2)
        figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False)
        figure.tight_layout(rect=(0, 0.11, 1, 1))
        theory = [{"d": d} | vars(found) for d in dimensions for found in laws[d]]
        return save(figure, stem, {"points": points, "predicted": theory})


def _law(sizes: list[int], d: int) -> list[Minimiser]:
    least = float(capacity_associations(d))
    near = {int(np.ceil(least * (1 + excess))) for excess in _EXCESS}
    return [trained_law(p, d) for p in sorted(near | {p for p in sizes if p > least})]


def _curve(panel: Axes, d: int, law: list[Minimiser], quantity: str) -> None:
    """The prediction above capacity, which begins at capacity with loss 0 and accuracy 1."""
    least = float(load(capacity_associations(d), d))
    loads = np.array([least] + [found.load for found in law])
    values = np.array([{"loss": 0.0, "accuracy": 1.0}[quantity]] + [getattr(found, quantity) for found in law])
    # As a function of the root of the distance to capacity the curve is smooth, so a few points are enough.
    fine = np.linspace(0, np.sqrt(loads[-1] - least), 200)
    curve = PchipInterpolator(np.sqrt(loads - least), values)(fine)
    panel.plot(least + fine**2, curve, color=colour(d), lw=1.4)
    panel.axvline(least, color=colour(d), lw=0.8, ls=":")


def _points(panel: Axes, points: list[dict], quantity: str, size: float) -> None:
    mark, face = MARKS[points[0]["problem"]]
    ink = colour(points[0]["d"])
    loads, values = ([point[name] for point in points] for name in ("load", quantity))
    errors = [point[f"{quantity}_deviation"] / np.sqrt(point["seeds"]) for point in points]
    panel.errorbar(loads, values, errors, fmt=mark, color=ink, mfc=face or ink, ms=size, lw=1)


CURVES = Figure(
    name="curves",
    sweep=from_catalogue("curves"),
    draw=draw_curves,
    compare=compare_curves,
    caption=Caption(
        title="What is left when not everything fits",
        drawn=(
            "Cross-entropy and accuracy of memories that Adam (the paper's protocol) trains with more associations "
            "than the capacity that is predicted for their size."
        ),
        theory=(
            "The curves come from two equations for the minimiser of the loss, without a free parameter; they hold "
            "for large d and begin at the capacity of each size (dotted)."
        ),
    ),
)

BEYOND = Figure(
    name="beyond",
    sweep=from_catalogue("beyond"),
    draw=draw_beyond,
    compare=compare_curves,
    caption=Caption(
        title="Larger sizes than the paper's",
        drawn=(
            "Loss and accuracy on both sides of the capacity, by Adam with the paper's protocol: large original "
            "problems, and decoupled ones whose outputs are stored in half precision, or regenerated in every step "
            "and not stored at all."
        ),
        theory=(
            "Below the capacity of each size (dotted) everything can be stored, though training may fail before; "
            "above it the curves are those of the minimiser of the loss."
        ),
    ),
)
