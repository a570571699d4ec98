"""How the threshold approaches 1/2: log(alpha_c(p) - 1/2) against log log p.

Three kinds of points: proved capacities of streams, and where training by the paper's stop rule (99.9 %) or by the
exact one (every association) first fails. The curve log p / D(p) has no free parameter.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from loadstone.figures.style import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.figures.thresholds import proved_capacities, trained_thresholds
from loadstone.theory.capacity import finite_capacity
from loadstone.theory.load import load

_MARKS = {"proved": "o", "exact stop": "^", "paper's stop": "v"}
_INKS = {"original": COLOURS[1], "decoupled": COLOURS[0]}


def draw_finite_size(rows: list[dict], stem: Path) -> list[Path]:
    """Both problems, all sizes; each point with the error of its mean and the width of the grid of loads."""
    points = _proved(rows) + _trained(rows)
    if not points:
        raise NothingToDrawError("no threshold is known")
    with plt.rc_context(STYLE):
        figure, panel = plt.subplots(figsize=(4.8, 4.6))
        # Sizes beyond the points show where the curve bends towards slope -1.
        p = np.unique(np.geomspace(20, 1e6, 80).astype(int))
        panel.plot(_x(p), np.log(finite_capacity(p) - 0.5), color=PREDICTION, lw=1.4, label=r"$\log p / D(p)$, exact")
        start = float(np.log(finite_capacity(p[-1]) - 0.5))
        panel.plot(_x(p), start - (_x(p) - _x(p[-1])), color="0.6", lw=1, ls="--", label="slope $-1$")
        for (problem, kind), group in sorted(_groups(points).items()):
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


def _proved(rows: list[dict]) -> list[dict]:
    """Mean capacity of the streams of each kind and dimension: a capacity of p lies between p and p + 1."""
    points = []
    for (problem, d), capacities in sorted(proved_capacities(rows).items()):
        sizes = np.array(capacities) + 0.5
        alphas = load(sizes, d)
        error = float(np.std(alphas, ddof=1) / np.sqrt(len(sizes))) if len(sizes) > 1 else 0.0
        points.append(
            {"problem": problem, "d": d, "kind": "proved", "seeds": len(sizes), "p": float(np.mean(sizes))}
            | {"alpha": float(np.mean(alphas)), "error": error}
        )
    return points


def _trained(rows: list[dict]) -> list[dict]:
    """Of full memories."""
    kinds = {"paper": "paper's stop", "exact": "exact stop"}
    points = [point for point in trained_thresholds(rows) if point["kappa"] == 1]
    return [point | {"kind": kinds[point["stop"]]} for point in points]


def _counts(points: list[dict]) -> str:
    """How many streams or seeds are behind a point."""
    words = []
    for name, of in (("streams proved", ("proved",)), ("seeds trained", ("exact stop", "paper's stop"))):
        counts = [point["seeds"] for point in points if point["kind"] in of]
        if counts:
            words.append(counted(counts, name))
    return ", ".join(words)


def _groups(points: list[dict]) -> dict[tuple[str, str], list[dict]]:
    groups = defaultdict(list)
    for point in points:
        if point["alpha"] > 0.5:
            groups[point["problem"], point["kind"]].append(point)
    return groups


def _x(p: np.ndarray | float) -> np.ndarray | float:
    return np.log(np.log(p))
