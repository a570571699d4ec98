"""Which singular values have memories below capacity?

Three memories stand for all solutions: a typical one, their centre, and the one of largest margin. At full rank all
three have a quarter circle at every load, by the variational formula of the paper: they are Gaussian matrices as far as
their singular values go (docs/theory/typical.md). So their fourth moment should tend to that of Gaussian matrices of
the same size as d grows, at a given share of the capacity.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies import solution_space
from loadstone.studies.kit.bounds import BELOW, trend
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.moments import FOURTH, moments
from loadstone.studies.kit.panels import COLOURS, MARKS, NothingToDrawError, counted, legend, subplots
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.sampled import MEMORIES, nearest_share, sampled
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity
from loadstone.theory.spectra import at_capacity, initial_factored, quarter_circle
from loadstone.theory.typical import typical

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INKS = dict(zip(MEMORIES, (COLOURS[0], COLOURS[1], COLOURS[2])))
_BINS, _FINER = np.linspace(0, 3, 16), np.linspace(0, 3, 41)
#: The law of low rank is drawn for this kappa, at these shares of its capacity.
_KAPPA, _SHARES = 0.5, (0.5, 0.8, 0.95)
_DIMENSION, _SHADES = 60, ("0.6", COLOURS[4], COLOURS[5], COLOURS[3], "black")


class Points(NamedTuple):
    """What is read off the sampled streams.

    excesses: for each problem, dimension and number of associations, the mean over streams by how much the fourth
        moment of each memory exceeds that of Gaussian matrices.
    noise: which share of the square of each centre is noise of finite chains.
    histograms: the density of the singular values of each memory, at the size that `shown` tells.
    """

    excesses: list[dict]
    noise: list[float]
    shown: dict
    histograms: dict[str, list[float]]


def points(rows: list[Row]) -> Points:
    """Excesses at all sizes, and singular values at the largest."""
    held = sampled(rows, "typical_singular_values")
    excesses = [_point(problem, d, p, group) for (problem, d, p), group in grouped(held, "problem", "d", "p")]
    shown = max(excesses, key=lambda point: (point["d"], point["problem"] == "decoupled", point["share"]), default={})
    largest = [row for row in held if all(row[name] == shown[name] for name in ("problem", "d", "p"))]
    noise = [1 - row["overlap"] / row["centre_length"] ** 2 for row in held]
    return Points(excesses, noise, shown, _histograms(largest) if largest else {})


def _point(problem: str, d: int, p: int, rows: list[Row]) -> dict:
    point = {"problem": problem, "d": d, "p": p, "share": nearest_share(p, d), "streams": len(rows)}
    of_streams = [_excesses(row) for row in rows]
    for name in MEMORIES:
        if values := [one[name] for one in of_streams if name in one]:
            excess, error = mean_of(values)
            point[name] = {"excess": excess, "error": error, "streams": len(values)}
    return point


def _excesses(row: Row) -> dict[str, float]:
    """Of one stream; a typical solution is the last memory of any chain."""
    values = {name: [one["singular_values"]] for name, one in row["memories"].items()}
    values["typical"] = row["typical_singular_values"]
    return {
        name: float(np.mean([moments(np.array(one))[FOURTH] for one in some])) - gaussian_fourth(row["d"])
        for name, some in values.items()
    }


def gaussian_fourth(d: int) -> float:
    """<s^4> / <s^2>^2 of d x d Gaussian matrices. E Tr (W^T W)^2 = 2 d^3 + d^2, E |W|^4 = d^4 + 2 d^2, and the ratio
    does not depend on |W|."""
    return (2 * d**2 + d) / (d**2 + 2)


def _histograms(rows: list[Row]) -> dict[str, list[float]]:
    densities = {}
    for name in MEMORIES:
        values = [row["memories"][name]["singular_values"] for row in rows if name in row["memories"]]
        if name == "typical":
            values = [one for row in rows for one in row["typical_singular_values"]]
        if values:
            densities[name] = _density(np.array(values), _BINS)
    return densities


def _density(values: np.ndarray, bins: np.ndarray) -> list[float]:
    """Of the singular values of several matrices, each in units of its root mean square."""
    scaled = values / np.sqrt((values**2).mean(axis=1, keepdims=True))
    return (np.histogram(scaled, bins)[0] / (scaled.size * (bins[1] - bins[0]))).tolist()


def compare(points: Points) -> list[Comparison]:
    """The fourth moment of typical solutions beside that of Gaussian matrices, and for all three memories whether they
    come closer as d grows: the exponent of d in their difference, at each share of the capacity."""
    comparisons: list[Comparison | None] = []
    for point in points.excesses:
        typical_one, d = point["typical"], point["d"]
        if typical_one["streams"] >= FEWEST and typical_one["error"] > 0:
            words, gaussian = f"{FOURTH} of typical solutions, {point['problem']}", gaussian_fourth(d)
            comparisons.append(
                Comparison(f"{words}, d = {d}, p = {point['p']}", gaussian, gaussian + typical_one["excess"],
                           typical_one["error"], typical_one["streams"] - 1, LARGE_D, words, f"d = {d}")
            )  # fmt: skip
    for (problem, share), group in grouped(points.excesses, "problem", "share"):
        for name, words in MEMORIES.items():
            chosen = [point for point in group if name in point and point[name]["streams"] >= FEWEST]
            sizes = [point["d"] for point in chosen]
            excess, errors = [abs(point[name]["excess"]) for point in chosen], [one[name]["error"] for one in chosen]
            what = f"exponent of d in the excess of {FOURTH} below capacity, {words}, {problem}, {share:g} of capacity"
            freedom = sum(point[name]["streams"] - 1 for point in chosen)
            comparisons.append(trend(what, sizes, excess, errors, side=BELOW, freedom=freedom))
    return [one for one in comparisons if one is not None]


def remarks(points: Points) -> list[str]:
    """The excess of each memory at the largest dimension, and how much of the centre is noise of the chains."""
    largest = max((point["d"] for point in points.excesses), default=0)
    sentences = [
        f"{FOURTH} above Gaussian matrices, {point['problem']}, d = {point['d']}, {point['share']:g} of capacity: "
        + ", ".join(f"{point[name]['excess']:.3f} ({words})" for name, words in MEMORIES.items() if name in point)
        + "."
        for point in points.excesses
        if point["d"] == largest
    ]
    if points.noise:
        mean, most = 100 * float(np.mean(points.noise)), 100 * max(points.noise)
        sentences.append(
            f"Of the centre's square {mean:.1f} % is noise of finite chains on average, at most {most:.1f} %."
        )
    return sentences


class LowRank(NamedTuple):
    """The law of memories of low rank below capacity.

    densities: of singular values, from a random product at no load to a part of the quarter circle at capacity.
    curves: those between, with their load and the overlap of two solutions.
    """

    densities: dict[str, list[float]]
    curves: list[dict]


@cache
def _low_rank(dimension: int) -> LowRank:
    levels, curves = (np.arange(4000) + 0.5) / 4000, []
    no_load, full = (
        _density(np.asarray(law(_KAPPA).nonzero().quantile(levels))[None], _FINER)
        for law in (initial_factored, at_capacity)
    )
    densities = {"no load": no_load}
    for share in _SHARES:
        law = typical(share * float(capacity(_KAPPA)), _KAPPA, dimension)
        density = densities[f"{share:g} of capacity"] = _density(law.singular_values, _FINER)
        curves.append({"kappa": _KAPPA, "load": law.load(), "overlap": law.overlap, "density": density})
    return LowRank(densities | {"at capacity": full}, curves)


def draw(figure: Figure, points: Points) -> None:
    """Left singular values of three memories, in the middle their excess over Gaussian matrices, right low rank."""
    if not points.excesses:
        raise NothingToDrawError("no memories were sampled")
    shown = points.shown
    left, middle, right = subplots(figure, 1, 3, size=(9.6, 4.2))
    for name, density in points.histograms.items():
        left.stairs(density, _BINS, color=_INKS[name], lw=1.3, label=MEMORIES[name])
    grid = np.linspace(0, 2, 201)
    left.plot(grid, quarter_circle().density(grid), color="black", lw=1.3, label="quarter circle, all loads")
    _draw_excess(middle, points.excesses, shown["share"])
    for (words, density), ink in zip(_low_rank(_DIMENSION).densities.items(), _SHADES):
        right.stairs(density, _FINER, color=ink, lw=1.3, label=words)
    for panel in (left, right):
        panel.set(xlabel="singular value / root mean square", ylabel="density")
    left.set_title(f"{shown['problem']}, d = {shown['d']}, {shown['share']:g} of capacity")
    right.set_title(rf"low rank, $\kappa$ = {_KAPPA:g}: the law")
    streams = counted((point["streams"] for point in points.excesses), "streams")
    figure.suptitle(f"Singular values below capacity ({streams} a point)", fontsize=10)
    for problem in sorted({point["problem"] for point in points.excesses}, reverse=True):
        mark, face = MARKS[problem]
        middle.plot([], [], mark, color="0.3", mfc=face or "0.3", ms=4, label=problem)
    lines = legend(figure, 5)
    figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))


def _draw_excess(panel: Axes, excesses: list[dict], share: float) -> None:
    """Against the dimension, at one share of the capacity."""
    for problem, (mark, face) in MARKS.items():
        for name, ink in _INKS.items():
            some = [one for one in excesses if (one["problem"], one["share"]) == (problem, share) and name in one]
            if some:
                x, y = [one["d"] for one in some], [one[name]["excess"] for one in some]
                error = [one[name]["error"] for one in some]
                panel.errorbar(x, y, error, fmt=f"{mark}-", color=ink, mfc=face or ink, ms=4, lw=1)
    sizes = sorted({point["d"] for point in excesses})
    panel.axhline(0, color="0.4", lw=1, ls="--")
    panel.set(xscale="log", xlabel="dimension d", title=rf"excess of $\langle s^4\rangle$, {share:g} of capacity")
    panel.set_ylabel(r"$\langle s^4\rangle/\langle s^2\rangle^2$ above Gaussian matrices")
    panel.set_xticks(sizes, [str(d) for d in sizes])
    panel.minorticks_off()


def _plotted(points: Points) -> dict[str, object]:
    return {"points": points.excesses, "histograms": points.histograms, "law": _low_rank(_DIMENSION).curves}


TYPICAL = Study(
    "typical",
    "Which singular values have memories below capacity?",
    solution_space.runs,
    points,
    draw,
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
    compare,
    remarks,
    _plotted,
)
