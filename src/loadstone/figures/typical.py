"""Singular values below capacity: of memories that stand for all solutions, and the law of memories of low rank."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.typical import MEMORIES, compare_typical, excesses_in_words, typical_points
from loadstone.studies.kit.panels import COLOURS, MARKS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import capacity
from loadstone.theory.spectra import at_capacity, initial_factored, quarter_circle
from loadstone.theory.typical import typical

_INKS = dict(zip(MEMORIES, (COLOURS[0], COLOURS[1], COLOURS[2])))
_BINS, _FINER = np.linspace(0, 3, 16), np.linspace(0, 3, 41)
#: The law of low rank is drawn for this kappa, at these shares of its capacity.
_KAPPA, _SHARES = 0.5, (0.5, 0.8, 0.95)
_DIMENSION, _SHADES = 60, ("0.6", COLOURS[4], COLOURS[5], COLOURS[3], "black")


def draw_typical(rows: list[Row], stem: Path) -> list[Path]:
    """Left singular values of three memories, in the middle their excess over Gaussian matrices, right low rank."""
    points = typical_points(rows)
    if not points:
        raise NothingToDrawError("no memories were sampled")
    shown = max(points, key=lambda point: (point["d"], point["problem"] == "decoupled", point["share"]))
    with plt.rc_context(STYLE):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 4.2))
        histograms = _densities(left, rows, shown)
        _excess(middle, points, shown["share"])
        law = _low_rank(right)
        for panel in (left, right):
            panel.set(xlabel="singular value / root mean square", ylabel="density")
        left.set_title(f"{shown['problem']}, d = {shown['d']}, {shown['share']:g} of capacity")
        right.set_title(rf"low rank, $\kappa$ = {_KAPPA:g}: the law")
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Singular values below capacity ({streams} a point)", fontsize=10)
        _keys(middle, points)
        lines = legend(figure, 5)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"points": points, "histograms": histograms, "law": law})


def _densities(panel: Axes, rows: list[Row], shown: dict) -> dict[str, list[float]]:
    chosen = [row for row in rows if all(row[name] == shown[name] for name in ("problem", "d", "p"))]
    chosen = [row for row in chosen if "typical_singular_values" in row]
    found = {}
    for name, words in MEMORIES.items():
        values = [row["memories"][name]["singular_values"] for row in chosen if name in row["memories"]]
        if name == "typical":
            values = [one for row in chosen for one in row["typical_singular_values"]]
        found[name] = _density(np.array(values), _BINS)
        panel.stairs(found[name], _BINS, color=_INKS[name], lw=1.3, label=words)
    grid = np.linspace(0, 2, 201)
    panel.plot(grid, quarter_circle().density(grid), color="black", lw=1.3, label="quarter circle, all loads")
    return found


def _excess(panel: Axes, points: list[dict], share: float) -> None:
    """Against the dimension, at one share of the capacity."""
    for problem, (mark, face) in MARKS.items():
        for name, ink in _INKS.items():
            some = [one for one in points if (one["problem"], one["share"]) == (problem, share) and name in one]
            if some:
                x, y = [one["d"] for one in some], [one[name]["excess"] for one in some]
                error = [one[name]["error"] for one in some]
                panel.errorbar(x, y, error, fmt=f"{mark}-", color=ink, mfc=face or ink, ms=4, lw=1)
    sizes = sorted({point["d"] for point in points})
    panel.axhline(0, color="0.4", lw=1, ls="--")
    panel.set(xscale="log", xlabel="dimension d", title=rf"excess of $\langle s^4\rangle$, {share:g} of capacity")
    panel.set_ylabel(r"$\langle s^4\rangle/\langle s^2\rangle^2$ above Gaussian matrices")
    panel.set_xticks(sizes, [str(d) for d in sizes])
    panel.minorticks_off()


def _keys(panel: Axes, points: list[dict]) -> None:
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        panel.plot([], [], mark, color="0.3", mfc=face or "0.3", ms=4, label=problem)


def _low_rank(panel: Axes) -> list[dict]:
    """From a random product at no load to a part of the quarter circle at capacity."""
    levels, curves = (np.arange(4000) + 0.5) / 4000, []
    laws = (law(_KAPPA).nonzero() for law in (initial_factored, at_capacity))
    no_load, full = (np.asarray(law.quantile(levels))[None] for law in laws)
    densities = {"no load": _density(no_load, _FINER)}
    for share in _SHARES:
        found = typical(share * float(capacity(_KAPPA)), _KAPPA, _DIMENSION)
        density = densities[f"{share:g} of capacity"] = _density(found.singular_values, _FINER)
        curves.append({"kappa": _KAPPA, "load": found.load(), "overlap": found.overlap, "density": density})
    densities["at capacity"] = _density(full, _FINER)
    for (words, density), ink in zip(densities.items(), _SHADES):
        panel.stairs(density, _FINER, color=ink, lw=1.3, label=words)
    return curves


def _density(values: np.ndarray, bins: np.ndarray) -> list[float]:
    """Of the singular values of several matrices, each in units of its root mean square."""
    scaled = values / np.sqrt((values**2).mean(axis=1, keepdims=True))
    return (np.histogram(scaled, bins)[0] / (scaled.size * (bins[1] - bins[0]))).tolist()


TYPICAL = Figure(
    "typical",
    from_catalogue("space"),
    draw_typical,
    compare_typical,
    Caption(
        "Singular values of solutions below capacity",
        "Left the singular values of typical solutions, of their centre and of the memory of largest margin, in units "
        "of their root mean square, at the largest dimension and share of the capacity; in the middle by how much "
        "their fourth moment exceeds that of Gaussian matrices, against the dimension; means over streams with "
        "standard errors.",
        "At full rank the variational formula of the paper gives a quarter circle for all three at every load. Right "
        "its law for memories of half the full rank, Q R^T with Gaussian factors: from that of a random product to the "
        "upper half of a quarter circle. No free parameter.",
    ),
    excesses_in_words,
)
