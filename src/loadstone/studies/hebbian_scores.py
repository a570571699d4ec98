"""Which scores does the Hebbian rule give on the diagonal (targets), and off it (all other outputs)?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import OTHERS, TARGET, Axes, Figure
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import SEEDS, Spec, associations, spec
from loadstone.studies.kit.score_panels import densities, draw_panels, moment_errors, of_each_panel, shade
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.hebbian import score_moments, target_mean
from loadstone.theory.load import load


def runs(scale: str) -> list[Spec]:
    """The Hebbian rule at its capacity, a load of 1/8, and above."""
    d = {"quick": 200, "paper": 500}[scale]
    return [
        spec("original", d, associations(alpha, d), seed, solver="hebbian")
        for alpha in (0.125, 0.3, 1.0)
        for seed in range(SEEDS[scale])
    ]


class Points(NamedTuple):
    """Densities of the scores at each size and the moments of their laws, and the moments on the diagonal."""

    panels: list[dict]
    diagonal: list[dict]


def points(rows: list[Row]) -> Points:
    """Histograms at each size, and their moments on the diagonal."""
    return Points(of_each_panel(rows, _histograms), diagonal(rows))


def _histograms(rows: list[Row]) -> dict:
    p, d = rows[0]["p"], rows[0]["d"]
    shown = densities([row["scores"] for row in rows], "target", "others")
    _, mean, scatter = score_moments(p, d)
    laws = {"limit_mean": float(target_mean(p, load(p, d))), "exact_mean": mean, "exact_deviation": scatter}
    return {"edges": shown["edges"], **laws, **shown}


def diagonal(rows: list[Row]) -> list[dict]:
    """Mean and deviation of the scores on the diagonal, in units of the deviation off it, and the exact ones."""
    points = []
    for (_, d, p), group in grouped(rows, "problem", "d", "p"):
        _, mean, scatter = score_moments(p, d)
        errors = moment_errors(scatter, p * len(group))
        for name, predicted in {"mean": mean, "deviation": scatter}.items():
            measured = float(np.mean([row["scores"][f"target_{name}"] for row in group]))
            numbers = {"predicted": predicted, "measured": measured, "error": errors[name]}
            points.append({"d": d, "p": p, "name": name, "numbers": numbers})
    return points


def compare(points: Points) -> list[Comparison]:
    """Mean and deviation on the diagonal at each load."""
    comparisons = []
    for point in points.diagonal:
        family, where = f"{point['name']} on the diagonal", f"d = {point['d']}, load {load(point['p'], point['d']):.3f}"
        comparisons.append(Comparison.of(family, point, **point["numbers"], where=where, dof=math.inf))
    return comparisons


def draw(figure: Figure, points: Points) -> None:
    """Scores on and off the diagonal, with normal laws for this size and for the limit."""
    draw_panels(figure, points.panels, _draw_laws, "Scores of the Hebbian rule")


def _draw_laws(panel: Axes, point: dict) -> None:
    edges = point["edges"]
    # The outermost bins of a record also count everything beyond them, so they are not shown.
    for name, ink, words in (("others", OTHERS, "off the diagonal"), ("target", TARGET, "on the diagonal")):
        shade(panel, edges[1:-1], point[name][1:-1], ink, words)
    grid = np.linspace(-5, edges[-1], 651)
    for mean, deviation, ink, style, name in (
        (0, 1, "0.25", "--", "normal of deviation 1"),
        (point["exact_mean"], point["exact_deviation"], TARGET, "--", "normal with the exact moments"),
        (point["limit_mean"], 1, TARGET, ":", "normal of the limit p >> d"),
    ):
        law = np.exp(-(((grid - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
        panel.plot(grid, law, style, color=ink, lw=1.1, label=name)
    panel.set(xlim=(-5, edges[-2]))


HEBBIAN = Study(
    "hebbian",
    "Which scores does the Hebbian rule give on and off the diagonal?",
    runs,
    points,
    draw,
    Caption(
        "Scores of the Hebbian rule",
        "Scores of the targets (on the diagonal) and of all other outputs (off the diagonal), in units of the "
        "standard deviation of the others.",
        "Two normal laws: with the exact moments for this size (dashed), and with those of the limit p >> d (dotted).",
    ),
    compare,
    plotted=lambda points: {"panels": points.panels},
)
