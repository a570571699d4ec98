"""Which singular values have memories below capacity?

Three memories represent all solutions: a typical one, their centre, and the one of largest margin. At full rank all
three have a quarter circle at every load, by the variational formula of the paper: they are Gaussian matrices as far as
their singular values go (docs/theory/typical.md). So their fourth moment should tend to that of Gaussian matrices of
the same size as d grows, at a given share of the capacity.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies import solution_space
from loadstone.studies.kit.bounds import trend
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.panels import COLOURS, MARKS, Axes, Figure, mark_keys, subplots
from loadstone.studies.kit.points import errorbars, finish, log_ticks, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.sampled import MEMORIES, nearest_share, sampled
from loadstone.studies.kit.singular_values import FOURTH, moments, scaled_density
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity
from loadstone.theory.spectra import at_capacity, initial_factored, quarter_circle
from loadstone.theory.typical import typical

_INKS = dict(zip(MEMORIES, COLOURS))
_BINS, _FINER = np.linspace(0, 3, 16), np.linspace(0, 3, 41)
#: The law of low rank is drawn for this kappa, at these shares of its capacity.
_KAPPA, _SHARES = 0.5, (0.5, 0.8, 0.95)
DIMENSION, _SHADES = 60, ("0.6", COLOURS[4], COLOURS[5], COLOURS[3], "black")


class Points(NamedTuple):
    #: For each problem, dimension and number of associations, the mean over streams by how much the fourth moment of
    #: each memory exceeds that of Gaussian matrices.
    excesses: list[dict]
    #: Which share of the square of each centre is noise of finite chains.
    noise: list[float]
    #: The largest of the sizes, and there the density of the singular values of each memory.
    shown: dict
    histograms: dict[str, list[float]]


def points(rows: list[Row]) -> Points:
    """Excesses at all sizes, and singular values at the largest."""
    solutions = sampled(rows, "typical_singular_values")
    excesses = [_point(problem, d, p, group) for (problem, d, p), group in grouped(solutions, "problem", "d", "p")]
    shown = max(excesses, key=lambda point: (point["d"], point["problem"] == "decoupled", point["share"]), default={})
    largest = [row for row in solutions if all(row[name] == shown[name] for name in ("problem", "d", "p"))]
    noise = [1 - row["overlap"] / row["centre_length"] ** 2 for row in solutions]
    return Points(excesses, noise, shown, _histograms(largest) if largest else {})


def _point(problem: str, d: int, p: int, rows: list[Row]) -> dict:
    point = {"problem": problem, "d": d, "p": p, "share": nearest_share(p, d), "streams": len(rows)}
    of_streams = [_excesses(row) for row in rows]
    for name in MEMORIES:
        if values := [one[name] for one in of_streams if name in one]:
            excess, error = mean_of(values)
            point[name] = {"excess": excess, "error": error, "streams": len(values)}
    return point


def _singular_values(row: Row) -> dict[str, list[list[float]]]:
    """Of the memories of one stream; a typical solution is the last memory of any chain."""
    values = {name: [memory["singular_values"]] for name, memory in row["memories"].items()}
    return values | {"typical": row["typical_singular_values"]}


def _excesses(row: Row) -> dict[str, float]:
    return {
        name: float(np.mean([moments(one)[FOURTH] for one in values])) - gaussian_fourth(row["d"])
        for name, values in _singular_values(row).items()
    }


def gaussian_fourth(d: int) -> float:
    """<s^4> / <s^2>^2 of d x d Gaussian matrices. E Tr (W^T W)^2 = 2 d^3 + d^2, E |W|^4 = d^4 + 2 d^2, and the ratio
    does not depend on |W|."""
    return (2 * d**2 + d) / (d**2 + 2)


def _histograms(rows: list[Row]) -> dict[str, list[float]]:
    of_rows = [_singular_values(row) for row in rows]
    values = {name: [one for row in of_rows for one in row.get(name, ())] for name in MEMORIES}
    return {name: scaled_density(np.array(held), _BINS) for name, held in values.items() if held}


def compare(points: Points) -> list[Comparison]:
    """The fourth moment of typical solutions against that of Gaussian matrices, and for all three memories whether they
    come closer as d grows: the exponent of d in their difference, at each share of the capacity."""
    comparisons: list[Comparison | None] = []
    for point in points.excesses:
        typical_one, gaussian = point | point["typical"], gaussian_fourth(point["d"])
        if typical_one["streams"] >= FEWEST and typical_one["error"] > 0:
            family, where = f"{FOURTH} of typical solutions, {point['problem']}", f"d = {point['d']}, p = {point['p']}"
            numbers = gaussian, gaussian + typical_one["excess"], typical_one["error"], LARGE_D, where
            comparisons.append(Comparison.of(family, typical_one, *numbers))
    for (problem, share), group in grouped(points.excesses, "problem", "share"):
        for name, words in MEMORIES.items():
            of_memory = [point | point[name] for point in group if name in point]
            repeated = [point for point in of_memory if point["streams"] >= FEWEST]
            d, excess, errors, streams = values_of(repeated, "d", "excess", "error", "streams")
            what = f"exponent of d in the excess of {FOURTH} below capacity, {words}, {problem}, {share:g} of capacity"
            comparisons.append(trend(what, d, np.abs(excess), errors, dof=sum(streams) - len(streams)))
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


@cache
def _low_rank(dimension: int) -> tuple[dict[str, list[float]], list[dict]]:
    """The law of memories of low rank: densities of singular values from a random product at no load to a part of the
    quarter circle at capacity, and those between with their load and the overlap of two solutions."""
    levels, curves = (np.arange(4000) + 0.5) / 4000, []
    no_load, full = (
        scaled_density(np.asarray(law(_KAPPA).nonzero().quantile(levels))[None], _FINER)
        for law in (initial_factored, at_capacity)
    )
    densities = {"no load": no_load}
    for share in _SHARES:
        law = typical(share * float(capacity(_KAPPA)), _KAPPA, dimension)
        density = densities[f"{share:g} of capacity"] = scaled_density(law.singular_values, _FINER)
        curves.append({"kappa": _KAPPA, "load": law.load(), "overlap": law.overlap, "density": density})
    return densities | {"at capacity": full}, curves


def draw(figure: Figure, points: Points) -> None:
    """Left singular values of three memories, in the middle their excess over Gaussian matrices, right low rank."""
    some(points.excesses, "no memories were sampled")
    shown = points.shown
    left, middle, right = subplots(figure, 1, 3, size=(9.6, 4.2))
    for name, density in points.histograms.items():
        left.stairs(density, _BINS, color=_INKS[name], lw=1.3, label=MEMORIES[name])
    grid = np.linspace(0, 2, 201)
    left.plot(grid, quarter_circle().density(grid), color="black", lw=1.3, label="quarter circle, all loads")
    _draw_excess(middle, points.excesses, shown["share"])
    for (words, density), ink in zip(_low_rank(DIMENSION)[0].items(), _SHADES):
        right.stairs(density, _FINER, color=ink, lw=1.3, label=words)
    for panel in (left, right):
        panel.set(xlabel="singular value / root mean square", ylabel="density")
    left.set_title(f"{shown['problem']}, d = {shown['d']}, {shown['share']:g} of capacity")
    right.set_title(rf"low rank, $\kappa$ = {_KAPPA:g}: the law")
    for line in mark_keys(points.excesses, ms=4):
        middle.add_line(line)
    finish(figure, "Singular values below capacity ({} a point)", points.excesses, 5)


def _draw_excess(panel: Axes, excesses: list[dict], share: float) -> None:
    """Against the dimension, at one share of the capacity."""
    for problem, mark in MARKS.items():
        for name, ink in _INKS.items():
            here = [one for one in excesses if (one["problem"], one["share"]) == (problem, share) and name in one]
            if here:
                chosen = [point | point[name] for point in here]
                errorbars(panel, chosen, ("d", "excess", "error"), ink, mark, ls="-", ms=4)
    panel.axhline(0, color="0.4", lw=1, ls="--")
    panel.set(xlabel="dimension d", title=rf"excess of $\langle s^4\rangle$, {share:g} of capacity")
    panel.set_ylabel(r"$\langle s^4\rangle/\langle s^2\rangle^2$ above Gaussian matrices")
    log_ticks(panel, [point["d"] for point in excesses])


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
    lambda points: {
        "points": points.excesses,
        "histograms": points.histograms,
        "law": _low_rank(DIMENSION)[1],
    },  # fmt: skip
)
