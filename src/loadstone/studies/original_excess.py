"""How much more does the original problem store than the formula for the decoupled one says, and how does that fall
with d? With groups of inputs that share outputs between the two (groups.py)."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import cache
from typing import NamedTuple

import numpy as np

from loadstone.estimate import deviation
from loadstone.studies import groups
from loadstone.studies.groups import FORMULA, has_groups
from loadstone.studies.kit.bounds import BELOW, trend
from loadstone.studies.kit.brackets import Bracket, middles, proved_bracket, resolution
from loadstone.studies.kit.comparison import FEWEST, Comparison, dof_of
from loadstone.studies.kit.fitted_laws import Fit, fitted_laws, judged
from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes, Figure, subplots
from loadstone.studies.kit.points import finish, log_ticks, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import PROVED as PROVED_STREAMS
from loadstone.studies.kit.runs import Spec, exact_capacities, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.storable import capacity_moments

#: Larger sizes, where proofs take minutes: what L-BFGS stores, found to 0.1 % with long searches.
_REACHED = (("original", (100, 150, 200, 300)), ("decoupled", (100,)))
_CLOSELY: dict[str, object] = {"width": 0.001, "passes": 3000}
_STREAMS = 10
PROVED, STORED = "proved", "stored by L-BFGS"
#: How each solver determines a capacity, in words.
_WAYS = {"capacity": PROVED, "reach": STORED}
_MARKS = {PROVED: "o", STORED: "^"}
_INKS = {"original": COLOURS[1], "decoupled": COLOURS[0]}
#: Line, colour, and how the legend writes each law.
_LINES = {
    "c / log p": ("--", "0.35", r"${c:.3f} / \log p$"), "c / (log p)^2": (":", "0.35", r"${c:.2f} / (\log p)^2$"),
    "c d^-x": ("-", "0.1", r"${c:.3f}\, d^{{-x}}$, $x$ = {x:.2f} $\pm$ {x_error:.2f}"),
}  # fmt: skip


def runs(scale: str) -> list[Spec]:
    """Exact capacities at small d, which the study 'capacity' has too, and at large d what L-BFGS stores."""
    if scale == "quick":
        proved = exact_capacities({d: count for d, count in PROVED_STREAMS[scale].items() if d <= 20})
        return list(dict.fromkeys(proved + groups.runs(scale)))
    proved = exact_capacities(PROVED_STREAMS[scale]) + groups.runs(scale)
    return list(dict.fromkeys(proved)) + [
        spec(problem, d, share_of_capacity(1, d), seed, solver="reach", parameters=_CLOSELY)
        for problem, dimensions in _REACHED
        for d in dimensions
        for seed in range(_STREAMS)
    ]


class Points(NamedTuple):
    """Mean capacities beside the formula: of both problems against d, and with groups of inputs that share outputs."""

    excess: list[dict]
    groups: list[dict]


def points(rows: list[Row]) -> Points:
    """What is drawn and compared."""
    return Points(excess_points(rows), groups.points(rows))


def excess_points(rows: list[Row]) -> list[dict]:
    """For each problem and dimension, and for proved capacities and those that L-BFGS reached separately: the mean
    capacity, and by what share it exceeds the mean that the formula gives.

    The error is that of a mean of so many streams with the scatter that the formula gives: ten streams tell their own
    scatter to a quarter only, which is too little for the weights of a fit. `at most` is the excess that there would be
    if L-BFGS had missed every memory it could: at the smallest p where it ended at a minimum of the convex loss nothing
    is left to be found, but below it may have been out of passes.
    """
    moments, points = cache(capacity_moments), []
    usual = [row for row in rows if row.get("kappa", 1) == 1 and row.get("answers") is None and not has_groups(row)]
    measured = [row | {"way": _WAYS[row["solver"]]} for row in usual if row["solver"] in _WAYS]
    for (problem, d, way), group in grouped(measured, "problem", "d", "way"):
        bounds = [bounds for row in group if (bounds := _bounds(row))]
        if not bounds:
            continue
        mean, scatter = moments(d)
        brackets = [bracket for bracket, _ in bounds]
        capacities, most = middles(brackets), float(np.mean([most for _, most in bounds]))
        error = math.hypot(scatter / math.sqrt(len(bounds)), resolution(brackets))
        undecided = sum(row["p_c"] is None for row in group) if way == PROVED else 0
        points.append(
            {"problem": problem, "d": d, "way": way, "streams": len(bounds), "undecided": undecided}
            | {"capacity": float(capacities.mean()), "scatter": deviation(capacities)}
            | {"predicted": mean, "predicted scatter": scatter, "excess": float(capacities.mean() / mean - 1)}
            | {"error": error / mean, "at most": most / mean - 1}
        )
    return points


def _bounds(row: Row) -> tuple[Bracket, int] | None:
    """The bracket of the capacity of a stream, and the largest that it may be if L-BFGS missed all it could; None if
    nothing bounds it."""
    if row["solver"] == "capacity":
        bracket = proved_bracket(row)
        return bracket and (bracket, bracket[1])
    minima = [p for p, _, status, _ in row["attempts"] if status == "minimum reached"]
    beyond = min(minima, default=max(p for p, *_ in row["attempts"]))
    high = row["not_stored"] - 1
    return (row["stored"], high), max(high, beyond - 1)


def _original(points: list[dict]) -> list[dict]:
    return [point for point in points if point["problem"] == "original"]


def compare(points: Points) -> list[Comparison]:
    """The mean capacity of decoupled streams against the formula, by how many per cent original ones exceed it, whether
    that falls with d, and what groups leave of it."""
    compared = [point for point in points.excess if point["streams"] >= FEWEST]
    original = _original(compared)
    sizes, excess, errors = values_of(original, "d", "excess", "error")
    falling = trend("exponent of d in the excess over the formula, original", sizes, excess, errors, side=BELOW)
    beside = [_beside_the_formula(point) for point in compared]
    return [*beside, *([falling] if falling else []), *groups.compare(points.groups)]


def _beside_the_formula(point: dict) -> Comparison:
    # Proved or reached by L-BFGS, the streams of one d are the same.
    family, streams, dof = f"mean capacity, {point['problem']}", f"d = {point['d']}", dof_of(point["streams"])
    of = f"{point['way']}, {point['problem']}, {streams} ({point['streams']} streams)"
    if point["problem"] == "decoupled":
        numbers = point["predicted"], point["capacity"], point["error"] * point["predicted"]
        return Comparison(f"mean capacity, {of}", *numbers, dof, "", family, streams)
    what, numbers = f"excess over the formula in per cent, {of}", (0.0, 100 * point["excess"], 100 * point["error"])
    return Comparison(what, *numbers, dof, FORMULA, family, streams, scale=100)


def draw(figure: Figure, points: Points) -> None:
    """First the excess of the original problem with fitted laws, then that of the decoupled one, which should be 0; and
    if there are any, the ratio to the formula against the number of groups."""
    some(points.excess, "no capacity is known")
    original, fits = _original(points.excess), fitted_laws(_original(points.excess))
    columns, width = (3, 11.6) if points.groups else (2, 8.2)
    panels = subplots(figure, 1, columns, size=(width, 4.8))
    left, right = panels[:2]
    dimensions = sorted({point["d"] for point in points.excess})
    _laws(left, fits, dimensions)
    for point in points.excess:
        (left if point["problem"] == "original" else right).errorbar(
            point["d"], 100 * point["excess"], 100 * point["error"], fmt=_MARKS[point["way"]], ms=5, lw=1, zorder=2,
            color=_INKS[point["problem"]], label=f"{point['problem']}, {point['way']}",
        )  # fmt: skip
    for point in original:
        if point["at most"] > point["excess"]:
            label = "at most, if L-BFGS missed all it could"
            left.plot(point["d"], 100 * point["at most"], "_", color=_INKS["original"], ms=9, mew=1.2, label=label)
    left.set(yscale="log", title="original")
    # Bars that reach below zero end at the lower edge.
    drawn = [100 * point["excess"] for point in original if point["excess"] > 0]
    left.set_ylim(0.5 * min(drawn, default=1), 1.6 * max(drawn, default=1))
    right.axhline(0, color=PREDICTION, lw=1.2, zorder=0)
    right.set_title("decoupled")
    _axes((left, right), dimensions)
    if points.groups:
        groups.draw(panels[2], points.groups)
    title = "Mean capacity beside the formula for the decoupled problem ({} a point)"
    finish(figure, title, points.excess + points.groups, columns, (0.01, 0.045))


def plotted(points: Points) -> dict[str, object]:
    """Points, fits and groups."""
    laws = [asdict(fit) | {"deviations": fit.deviations} for fit in fitted_laws(_original(points.excess))]
    fits = [{"freedom" if name == "dof" else name: value for name, value in law.items()} for law in laws]
    return {"points": points.excess, "fits": fits, "groups": points.groups}


def _laws(panel: Axes, fits: list[Fit], dimensions: list[int]) -> None:
    # The capacity is known for whole d: at small d a rounded one would show as a kink.
    d = np.unique(np.geomspace(dimensions[0], dimensions[-1], 60).round().astype(int))
    logarithms = np.log(np.asarray(capacity_associations(d)))
    for fit in fits:
        style, ink, law = _LINES[fit.law]
        size = d.astype(float) if fit.law == "c d^-x" else logarithms
        label = f"{law}: $\\chi^2$ = {{chi_square:.1f}} for {{dof}}, {{deviations:.1f}} $\\sigma$"
        label = label.format(**vars(fit), deviations=fit.deviations)
        panel.plot(d, 100 * fit.c * size**-fit.x, style, color=ink, lw=1.3, zorder=1, label=label)


def _axes(panels: tuple[Axes, Axes], dimensions: list[int]) -> None:
    for panel in panels:
        panel.set(xlabel="dimension d", ylabel="excess in per cent", xlim=(dimensions[0] / 1.2, dimensions[-1] * 1.2))
        log_ticks(panel, dimensions)
    low, high = panels[0].get_ylim()
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 20) if low <= tick <= high]
    panels[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def remarks(points: Points) -> list[str]:
    """Which laws remain possible, if L-BFGS reaches the capacity and if it missed all it could; and what is left of the
    excess with groups."""
    cases = {"if L-BFGS reaches the capacity": "excess", "if it missed all it could": "at most"}
    return [
        f"The fall of the excess with d, {case}: {', '.join(_in_words(fit) for fit in fits)}."
        for case, excess in cases.items()
        if (fits := fitted_laws(_original(points.excess), excess))
    ] + groups.remarks(points.groups)


def _in_words(fit: Fit) -> str:
    law = f"{fit.law} with x = {fit.x:.2f}({100 * fit.x_error:.0f})" if fit.x_error else fit.law
    return f"{law} is {judged(fit.deviations)}"


ORIGINAL_EXCESS = Study(
    "shift",
    "How much more does the original problem store than the decoupled one, and how does that fall with d?",
    runs,
    points,
    draw,
    Caption(
        "The original problem beside the formula for the decoupled one",
        "By how many per cent the mean capacity of streams exceeds the mean that the kinematic formula gives for the "
        "decoupled problem. Circles: every capacity is proved. Triangles: the largest p that L-BFGS stores, found to "
        "0.1 % with up to 3000 passes each; a bar above one marks the excess if L-BFGS had missed everything below the "
        "smallest p at which it reached a minimum of the loss. Bars are standard errors, with the scatter of the "
        "formula. Right: proved capacities of the same streams if only groups of inputs share outputs, input mu in "
        "group mu mod g; bars are standard errors of the streams' own scatter. A ratio above the dotted line would "
        "have been seen with a probability of 80 %.",
        "Decoupled: 0, without a free parameter. Original: no theory; the lines are fits with their chi-square for so "
        "many degrees of freedom, and the number of standard deviations that is as unlikely. Groups: proportional to "
        "the share of pairs of inputs that share outputs, (p/g - 1) / (p - 1), with the excess of each d fitted.",
    ),
    compare,
    remarks,
    plotted,
)
