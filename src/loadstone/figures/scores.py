"""Scores of targets and of all other outputs ('others'), in units of the deviation of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.others import compare_others
from loadstone.evidence.scores import (
    as_in_the_paper,
    compare_gaps,
    compare_hebbian_scores,
    compare_scores,
    widths_in_words,
)
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import OTHERS, STYLE, TARGET, NothingToDrawError, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue, no_comparison
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.hebbian import score_moments, target_mean
from loadstone.theory.load import load
from loadstone.theory.scores import rival_density, rival_deviation, target_density

#: How many bins of a record are joined to one of the figure.
_JOINED = 4


def draw_scores(rows: list[Row], stem: Path) -> list[Path]:
    """Targets (red) and others (grey) of all associations: a row for each load, a column for each problem."""
    return _grid(as_in_the_paper(rows), stem, _all_associations, "Scores of all associations")


def draw_single(rows: list[Row], stem: Path) -> list[Path]:
    """The same for one association, with its target and its best rival marked."""
    shown = as_in_the_paper(rows)
    first = min((row["seed"] for row in shown), default=0)
    return _grid([row for row in shown if row["seed"] == first], stem, _one_association, "Scores of one association")


def draw_hebbian(rows: list[Row], stem: Path) -> list[Path]:
    """Scores of the Hebbian rule on and off the diagonal, with normal laws for this size and for the limit."""
    return _grid(rows, stem, _hebbian, "Scores of the Hebbian rule")


def _grid(
    rows: list[Row], stem: Path, draw: Callable[[Axes, list[Row], int, int], dict], title: str
) -> list[Path]:
    problems = [problem for problem in ("original", "decoupled") if any(row["problem"] == problem for row in rows)]
    sizes = sorted({row["p"] for row in rows})
    if not sizes:
        raise NothingToDrawError("there are no runs with scores")
    d = rows[0]["d"]
    across = len(problems) == 1
    shape = (1, len(sizes)) if across else (len(sizes), len(problems))
    numbers = []
    with plt.rc_context(STYLE):
        size = (3.2 * shape[1], 0.9 + (2.5 if across else 1.9) * shape[0])
        figure, axes = plt.subplots(*shape, figsize=size, sharex=not across, squeeze=False)
        for index, p in enumerate(sizes):
            for column, problem in enumerate(problems):
                panel = axes[0, index] if across else axes[index, column]
                chosen = [row for row in rows if row["problem"] == problem and row["p"] == p]
                if not chosen:
                    panel.set_axis_off()
                    continue
                numbers.append({"problem": problem, "d": d, "p": p, "seeds": len(chosen)} | draw(panel, chosen, p, d))
                panel.set_title(rf"{problem}, $\alpha$ = {load(p, d):.2f} (p = {p})", fontsize=8.5)
                panel.set_yticks([])
        for panel in axes[-1]:
            panel.set_xlabel("score / deviation of the others")
        lines = legend(figure, 3 if across else 2)
        seeds = len({row["seed"] for row in rows})
        count = f"{seeds} seeds" if seeds > 1 else "1 seed"
        figure.suptitle(f"{title}, d = {d} ({count})", y=0.99, fontsize=10)
        figure.tight_layout(rect=(0, (0.12 + 0.2 * lines) / size[1], 1, 1))
        return save(figure, stem, {"panels": numbers})


def _all_associations(panel: Axes, rows: list[Row], p: int, d: int) -> dict:
    full = p == round(float(capacity_associations(d)))
    # The laws are for scores in units of the length of their query; a common unit would add the spread of the lengths.
    targets = "own" if full and "own" in rows[0]["scores"] else "target"
    edges, density = _densities(rows, (targets, "others"))
    _shade(panel, edges, density["others"], OTHERS, "others")
    _shade(panel, edges, density[targets], TARGET, "targets")
    if full:
        grid = np.linspace(-4, 8, 601)
        unit = float(rival_deviation(p))
        others = unit * np.asarray(rival_density(unit * grid, p))
        panel.plot(grid, others, color="0.25", lw=1.1, ls="--", label="others, law at capacity")
        panel.plot(grid, target_density(grid, p), color=TARGET, lw=1.1, ls="--", label="targets, law at capacity")
        words = "at capacity; targets in\nunits of their query's length"
        panel.annotate(words, (0.02, 0.97), xycoords="axes fraction", fontsize=7.5, color="0.25", va="top")
    panel.set(xlim=(-4.5, 6.5))
    found = {"target": density[targets], "others": density["others"]}
    return {"edges": edges.tolist()} | {name: values.tolist() for name, values in found.items()}


def _one_association(panel: Axes, rows: list[Row], p: int, d: int) -> dict:
    (row,) = rows
    first, edges = row["scores"]["first"], _edges(row)
    density = _normal(np.array(first["others"]), edges)
    edges, density = _coarse(edges, density, 2 * _JOINED)
    _shade(panel, edges, density, OTHERS, "others")
    panel.axvline(first["target"], color=TARGET, lw=1.6, label="target")
    panel.axvline(first["rival"], color="black", lw=1, ls=":", label="best rival")
    stored = "stored" if first["target"] > first["rival"] else "not stored"
    panel.annotate(stored, (0.03, 0.88), xycoords="axes fraction", fontsize=8, color="0.25")
    panel.set(xlim=(-4.5, 6.5))
    return {"edges": edges.tolist(), "others": density.tolist(), "target": first["target"], "rival": first["rival"]}


def _hebbian(panel: Axes, rows: list[Row], p: int, d: int) -> dict:
    edges, density = _densities(rows, ("target", "others"))
    # The outermost bins of a record also count everything beyond them, so they are not shown.
    for name, ink, words in (("others", OTHERS, "off the diagonal"), ("target", TARGET, "on the diagonal")):
        _shade(panel, edges[1:-1], density[name][1:-1], ink, words)
    grid = np.linspace(-5, edges[-1], 651)
    centre = float(target_mean(p, load(p, d)))
    _, mean, deviation = score_moments(p, d)
    for middle, width, ink, style, name in (
        (0, 1, "0.25", "--", "normal of deviation 1"),
        (mean, deviation, TARGET, "--", "normal with the exact moments"),
        (centre, 1, TARGET, ":", "normal of the limit p >> d"),
    ):
        law = np.exp(-(((grid - middle) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
        panel.plot(grid, law, style, color=ink, lw=1.1, label=name)
    panel.set(xlim=(-5, edges[-2]))
    laws = {"limit_mean": centre, "exact_mean": mean, "exact_deviation": deviation}
    return {"edges": edges.tolist()} | laws | {name: one.tolist() for name, one in density.items()}


def _densities(rows: list[Row], names: tuple[str, ...]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Histograms of all seeds together, as densities."""
    edges = _edges(rows[0])
    found = {}
    for name in names:
        counts = np.sum([row["scores"][name] for row in rows], axis=0)
        coarse, found[name] = _coarse(edges, _normal(counts, edges), _JOINED)
    return coarse, found


def _edges(row: dict) -> np.ndarray:
    histogram = row["scores"]
    return np.linspace(histogram["low"], histogram["high"], len(histogram["others"]) + 1)


def _normal(counts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return counts / (counts.sum() * (edges[1] - edges[0]))


def _coarse(edges: np.ndarray, density: np.ndarray, together: int) -> tuple[np.ndarray, np.ndarray]:
    return edges[::together], density.reshape(-1, together).mean(axis=1)


def _shade(panel: Axes, edges: np.ndarray, density: np.ndarray, ink: str, name: str) -> None:
    panel.stairs(density, edges, fill=True, color=ink, alpha=0.45, label=name)
    panel.stairs(density, edges, color=ink, lw=0.8)


def _compare_scores(rows: list[Row]) -> list[Comparison]:
    shown = as_in_the_paper(rows)
    return compare_scores(shown) + compare_others(shown) + compare_gaps(shown)


SCORES = Figure(
    name="scores",
    sweep=from_catalogue("scores"),
    draw=draw_scores,
    compare=_compare_scores,
    remarks=widths_in_words,
    caption=Caption(
        title="Scores of the targets and of all others",
        drawn=(
            "Scores of the targets and of all other outputs, in units of the standard deviation of the others, at "
            "three loads and at the capacity of this size. Memories trained by Adam with the paper's protocol, which "
            "stops at 99.9 % where that is reached."
        ),
        theory=(
            "At capacity the scores of one association are those of random numbers, except that the target and the "
            "outputs that would beat it are moved to their common mean: this gives both laws (dashed) without a free "
            "parameter. In that panel each target is in units of the length of its query, as in the law."
        ),
    ),
)

SINGLE = Figure(
    name="single",
    sweep=from_catalogue("scores"),
    draw=draw_single,
    compare=no_comparison,
    caption=Caption(
        title="One association at a time",
        drawn=(
            "The scores that one input gives to all outputs: its target (red line), its best rival (dotted) and the "
            "others. The same memories, trained by Adam."
        ),
        theory=(
            "An association is stored if the red line is to the right of the dotted one. Below capacity a memory "
            "exists for which this holds for all associations at once."
        ),
    ),
)

HEBBIAN = Figure(
    name="hebbian",
    sweep=from_catalogue("hebbian"),
    draw=draw_hebbian,
    compare=compare_hebbian_scores,
    caption=Caption(
        title="Scores of the Hebbian rule",
        drawn=(
            "Scores of the targets (on the diagonal) and of all other outputs (off the diagonal), in units of the "
            "standard deviation of the others."
        ),
        theory=(
            "Two normal laws: with the exact moments for this size (dashed), and with those of the limit p >> d "
            "(dotted)."
        ),
    ),
)
