"""Accuracy or loss against the load: the curves of trained memories, and how they are drawn.

Original (solid), decoupled (dashed, with deviation), the Hebbian rule (dotted). Plain lines are the paper's protocol,
lines with marks L-BFGS. One panel for each rank fraction, with the capacity predicted for large d in red.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.estimate import deviation
from loadstone.studies.kit.panels import PREDICTION, Axes, Figure, NothingToDrawError, colour, counted, key, subplots
from loadstone.studies.kit.rows import Row, grouped
from loadstone.theory.capacity import HEBBIAN_CAPACITY, capacity
from loadstone.theory.hebbian import finite_accuracy
from loadstone.theory.load import load

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


def load_curves(rows: list[Row], quantity: str) -> list[dict]:
    """Mean, deviation and number of seeds at each load: one curve for each rank fraction, problem, solver and d.

    Curves of the Hebbian rule also have its predicted accuracy.
    """
    curves = []
    for (kappa, problem, solver, d), of_curve in grouped(rows, "kappa", "problem", "solver", "d"):
        values = {p: [row[quantity] for row in group] for (p,), group in grouped(of_curve, "p")}
        curve = {"kappa": kappa, "problem": problem, "solver": solver, "d": d, "p": list(values)}
        curve["load"] = [float(load(p, d)) for p in values]
        curve["mean"] = [float(np.mean(numbers)) for numbers in values.values()]
        curve["deviation"] = [deviation(numbers) for numbers in values.values()]
        curve["seeds"] = [len(numbers) for numbers in values.values()]
        if solver == "hebbian":
            curve["predicted"] = [finite_accuracy(p, d) for p in values]
        curves.append(curve)
    return curves


def draw_curves(figure: Figure, curves: list[dict], quantity: str, title: str) -> None:
    """A panel for each rank fraction."""
    kappas = sorted({curve["kappa"] for curve in curves})
    dimensions = sorted({curve["d"] for curve in curves})
    if not dimensions:
        raise NothingToDrawError("no memory was trained")
    size = (max(5.4, 3.3 * len(kappas)), 4.2)
    panels = subplots(figure, 1, len(kappas), size=size, sharey=True, squeeze=False)[0]
    for panel, kappa in zip(panels, kappas):
        _panel(panel, [curve for curve in curves if curve["kappa"] == kappa], kappa, quantity)
    panels[0].set_ylabel(_LABELS[quantity])
    used = {(curve["problem"], curve["solver"]) for curve in curves}
    keys = [key(f"d = {d}", color=colour(d)) for d in dimensions]
    keys += [key(f"{way[0]}, {_SOLVERS[way[1]]}", **_style(*way, "0.3")) for way in _STYLES if way in used]
    if any("predicted" in curve for curve in curves):
        keys.append(key("Hebbian, predicted", color="0.45", lw=0.6))
    keys += [key("predicted threshold, large d", color=PREDICTION, lw=1, ls=(0, (6, 2)))]
    columns = 3 if len(kappas) == 1 else 4
    figure.legend(handles=keys, loc="lower center", ncols=columns, frameon=False, bbox_to_anchor=(0.5, 0))
    seeds = counted((count for curve in curves for count in curve["seeds"]), "seeds")
    words = f"{title} ({seeds} a point)\nAdam: the paper's protocol; bands: one standard deviation"
    figure.suptitle(words, y=0.985, fontsize=10)
    figure.tight_layout(rect=(0, 0.048 * -(-len(keys) // columns), 1, 1))


def _style(problem: str, solver: str, ink: str) -> dict[str, Any]:
    line, mark, filled = _STYLES[problem, solver]
    face, width = ink if filled else "white", 0.8 if mark else 1.4
    return {"ls": line, "marker": mark, "ms": 3.5, "mfc": face, "color": ink, "lw": width}


def _panel(panel: Axes, curves: list[dict], kappa: float, quantity: str) -> None:
    for curve in curves:
        ink = colour(curve["d"])
        loads, mean, deviation = (np.array(curve[name]) for name in ("load", "mean", "deviation"))
        panel.plot(loads, mean, **_style(curve["problem"], curve["solver"], ink))
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
