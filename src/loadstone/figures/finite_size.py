"""How the threshold approaches 1/2: log(alpha_c(p) - 1/2) against log log p.

Three kinds of points: proved capacities of streams, and where training by the paper's stop rule (99.9 %) or by the
exact one (every association) first fails. The curve log p / D(p) has no free parameter.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from loadstone.evidence.scores import compare_proved_scores
from loadstone.evidence.slopes import compare_slopes
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.studies.kit.thresholds import compare_capacity, compare_thresholds, proved_thresholds, trained_thresholds
from loadstone.theory.capacity import finite_capacity

_MARKS = {"proved": "o", "exact stop": "^", "paper's stop": "v"}
_INKS = {"original": COLOURS[1], "decoupled": COLOURS[0]}


def draw_finite_size(rows: list[Row], stem: Path) -> list[Path]:
    """Both problems, all sizes; error bars include the error of the mean and the step between loads."""
    points = _points(rows)
    if not points:
        raise NothingToDrawError("no threshold is known")
    with plt.rc_context(STYLE):
        figure, panel = plt.subplots(figsize=(4.8, 4.6))
        # Sizes beyond the points show where the curve bends towards slope -1.
        p = np.unique(np.geomspace(20, 1e6, 80).astype(int))
        panel.plot(_x(p), np.log(finite_capacity(p) - 0.5), color=PREDICTION, lw=1.4, label=r"$\log p / D(p)$, exact")
        start = float(np.log(finite_capacity(p[-1]) - 0.5))
        panel.plot(_x(p), start - (_x(p) - _x(p[-1])), color="0.6", lw=1, ls="--", label="slope $-1$")
        for (problem, kind), group in grouped([point for point in points if point["alpha"] > 0.5], "problem", "kind"):
            x, alpha, error = (np.array([point[name] for point in group]) for name in ("p", "alpha", "error"))
            high, low = np.log(alpha + error - 0.5), np.log(np.maximum(alpha - error - 0.5, 1e-3))
            y = np.log(alpha - 0.5)
            panel.errorbar(
                _x(x), y, [y - low, high - y], fmt=_MARKS[kind], color=_INKS[problem], ms=5, lw=1,
                mfc=_INKS[problem] if kind == "proved" else "white", label=f"{problem}, {kind}",
            )  # fmt: skip
        panel.set(xlabel=r"$\log \log p$", ylabel=r"$\log(\alpha_c(p) - 1/2)$")
        panel.set_title(f"Finite-size threshold\n({_counts(points)})", fontsize=9.5)
        lines = legend(figure, 2)
        figure.tight_layout(rect=(0, 0.043 * lines, 1, 1))
        return save(figure, stem, {"points": points})


def _points(rows: list[Row]) -> list[dict]:
    """Thresholds of memories of full rank: proved, and where training fails by either stop rule."""
    kinds = {"paper": "paper's stop", "exact": "exact stop"}
    proved = [point | {"kind": "proved"} for point in proved_thresholds(rows)]
    trained = [point | {"kind": kinds[point["stop"]]} for point in trained_thresholds(rows) if point["kappa"] == 1]
    return proved + trained


def _counts(points: list[dict]) -> str:
    """How many streams or seeds a point is the mean of, in words."""
    words = []
    for name, of in (("streams proved", ("proved",)), ("seeds trained by Adam", ("exact stop", "paper's stop"))):
        counts = [point["seeds"] for point in points if point["kind"] in of]
        if counts:
            words.append(counted(counts, name))
    return ", ".join(words)


def _x(p: np.ndarray | float) -> np.ndarray | float:
    return np.log(np.log(p))


def _compare(rows: list[Row]) -> list[Comparison]:
    return compare_slopes(rows) + compare_capacity(rows) + compare_proved_scores(rows) + compare_thresholds(rows)


FINITE_SIZE = Figure(
    name="finite-size",
    sweep=from_catalogue("finite-size"),
    draw=draw_finite_size,
    compare=_compare,
    caption=Caption(
        title="How far the threshold lies from 1/2",
        drawn=(
            "The distance of the threshold from its limit, on scales where a law of 1 / log p is a line of slope -1: "
            "proved capacities, and the loads at which Adam with the paper's schedule fails by either stop rule."
        ),
        theory=(
            "The red curve, log p / D(p), has no free parameter. The paper expects a slope of -1; that of the exact "
            "curve at these sizes is smaller in size, because of terms of order log log p / log p."
        ),
    ),
)
