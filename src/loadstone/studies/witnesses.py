"""Which singular values have the memories that prove a capacity, and are those of both problems alike?

If the direction of W were uniform, a proved memory would have the moments of a Gaussian matrix of its size. What it has
in excess says how far it is from that, and falls with d if the law at capacity, a quarter circle, is right. From the
fourth moment follows how much |W e|^2 scatters over inputs: its relative variance is 2 <s^4> / (<s^2>^2 d), so the
concentration on which Gaussian equivalence rests is a statement about this number.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from loadstone.estimate import Estimate, mean_of
from loadstone.studies.kit.bounds import ABOVE, BoundComparison, trend
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.fitted_laws import Fit, fitted_laws
from loadstone.studies.kit.panels import COLOURS, Axes, Figure, subplots
from loadstone.studies.kit.points import errorbars, finish, log_ticks, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import PROVED, Spec, exact_capacities
from loadstone.studies.kit.singular_values import FOURTH, TOP, moments, scaled_density
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.spectra import quarter_circle

#: How many Gaussian matrices of each size are drawn.
_DRAWN = 400
#: Numbers of one stream in which both problems are compared.
_NUMBERS = {
    "capacity": lambda row: float(row["p_c"]),
    "mean of the target's score": lambda row: float(row["own_target"]["mean"]),
    FOURTH: lambda row: moments(row["singular_values"])[FOURTH],
}
#: Colour and mark of the excess of each problem.
_MARKS = {"original": (COLOURS[1], "s"), "decoupled": (COLOURS[0], "o")}
#: Colours of the dimensions, in this order: in those of other figures 20 and 50 share one.
_INKS = (COLOURS[4], COLOURS[0], COLOURS[2], COLOURS[5]) * 4
_BINS = np.linspace(0, 3, 25)


def runs(scale: str) -> list[Spec]:
    """The exact capacities of 'capacity', whose records hold the memories that prove them."""
    return exact_capacities(PROVED[scale])


class Points(NamedTuple):
    #: For each problem and dimension, the means of both moments over the memories, and by how much they exceed those of
    #: Gaussian matrices.
    excesses: list[dict]
    #: For each number in which both problems are compared and each dimension, the difference of the means over streams,
    #: and the mean of the decoupled problem.
    original_minus_decoupled: list[dict]
    #: For each problem and dimension, the density of all singular values in units of their root mean square.
    histograms: list[dict]


def points(rows: list[Row]) -> Points:
    """Moments and histograms of the proved memories, and both problems compared."""
    # Full memories of as many answers as facts, whose capacity is known.
    full = [row for row in rows if row.get("family", "full") == "full" and row.get("answers") is None]
    known = [row for row in full if row["solver"] == "capacity" and row["p_c"] is not None]
    proved = [row for row in known if row.get("singular_values") is not None]
    of_kind = grouped(proved, "problem", "d")
    excesses = [_excess(problem, d, group) for (problem, d), group in of_kind]
    histograms = [{"problem": problem, "d": d} | _histogram(group) for (problem, d), group in of_kind]
    return Points(excesses, _original_minus_decoupled(proved), histograms)


def _excess(problem: str, d: int, rows: list[Row]) -> dict:
    of_memories = [moments(row["singular_values"]) for row in rows]
    point: dict = {"problem": problem, "d": d, "streams": len(rows)}
    point["predicted"] = float(np.mean([row["p_c"] for row in rows]))  # p, of which a law may be a power
    for name, gaussian in gaussian_moments(d).items():
        mean, error = mean_of([one[name] for one in of_memories])
        point[name] = {
            "mean": mean, "error": error, "gaussian": gaussian.value,
            "excess": mean - gaussian.value, "excess_error": math.hypot(error, gaussian.error),
        }  # fmt: skip
    return point


@cache
def gaussian_moments(d: int) -> dict[str, Estimate]:
    """The mean of each moment over d x d Gaussian matrices."""
    random = np.random.default_rng(d)
    drawn = [moments(np.linalg.svd(random.standard_normal((d, d)), compute_uv=False)) for _ in range(_DRAWN)]
    return {name: mean_of([one[name] for one in drawn]) for name in (FOURTH, TOP)}


def _histogram(rows: list[Row]) -> dict[str, list[float]]:
    density = scaled_density(np.array([row["singular_values"] for row in rows]), _BINS)
    return {"edges": _BINS.tolist(), "density": density}


def _original_minus_decoupled(rows: list[Row]) -> list[dict]:
    differences = []
    for name, number in _NUMBERS.items():
        for (d,), group in grouped([row for row in rows if "own_target" in row], "d"):
            values = {problem: [number(row) for row in some] for (problem,), some in grouped(group, "problem")}
            if len(values) < 2 or min(map(len, values.values())) < FEWEST:
                continue
            original, decoupled = mean_of(values["original"]), mean_of(values["decoupled"])
            differences.append(
                {"number": name, "d": d, "streams": sum(map(len, values.values())), "decoupled": decoupled.value}
                | {"difference": original.value - decoupled.value, "error": math.hypot(original.error, decoupled.error)}
            )
    return differences


def falling_excess(excesses: list[dict], problem: str) -> Fit | None:
    """The excess of the fourth moment as c d^-x; None with fewer than three dimensions."""
    used = [
        point | {"excess": point[FOURTH]["excess"], "error": point[FOURTH]["excess_error"]}
        for point in excesses
        if point["problem"] == problem and point["streams"] >= FEWEST
    ]
    return next((fit for fit in fitted_laws(used) if fit.law == "c d^-x"), None)


def compare(points: Points) -> list[Comparison]:
    """Both moments against those of Gaussian matrices, the exponent with which the excess falls against 1, and three
    parts of the equivalence of both problems: capacity, target scores, spectra. And statements about large d."""
    problems = sorted({point["problem"] for point in points.excesses})
    repeated = [point for point in points.excesses if point["streams"] >= FEWEST]
    comparisons: list[Comparison] = []
    for point in repeated:
        for name in (FOURTH, TOP):
            family, moment = f"{name} of proved memories, {point['problem']}", point[name]
            numbers = moment["gaussian"], moment["mean"], moment["excess_error"], LARGE_D
            comparisons.append(Comparison.of(family, point, *numbers))
    for problem in problems:
        if fit := falling_excess(repeated, problem):
            what = f"exponent x of the excess of {FOURTH} as d^-x, {problem}"
            comparisons.append(Comparison(what, 1.0, fit.x, fit.x_error, family="exponent x of the excess as d^-x"))
    for one in points.original_minus_decoupled:
        # Zero in the limit by the paper's conjecture; in per cent of the decoupled value.
        family, numbers = f"{one['number']}, original - decoupled", (0.0, one["difference"], one["error"], LARGE_D)
        comparisons.append(Comparison.of(family, one, *numbers, dof=one["streams"] - 2, scale=one["decoupled"]))
    for problem in problems:
        comparisons += _trends(problem, [point for point in repeated if point["problem"] == problem])
    return comparisons + _equality_trends(points.original_minus_decoupled)


def _trends(problem: str, excesses: list[dict]) -> list[Comparison]:
    """Statements about large d: the largest singular value does not grow, the share of directions that a memory uses,
    <s^2>^2 / <s^4>, does not vanish, and the fourth moment converges faster than the threshold."""
    d, streams, top, fourth = values_of(excesses, "d", "streams", TOP, FOURTH)
    dof = sum(streams) - len(streams)
    mean, error = values_of(top, "mean", "error")
    growth = trend(f"exponent of d in the {TOP}, {problem}", d, mean, error, dof=dof)
    fourths, errors = map(np.array, values_of(fourth, "mean", "error"))
    what = f"exponent of d in the share of directions used, {problem}"
    used = trend(what, d, 1 / fourths, errors / fourths**2, side=ABOVE, dof=dof)
    trends: list[Comparison] = [one for one in (growth, used) if one is not None]
    if fit := falling_excess(excesses, problem):
        what = f"exponent x of the excess of {FOURTH} as d^-x, beside that of the threshold, {problem}"
        trends.append(BoundComparison(what, _threshold_exponent(d), fit.x, fit.x_error, family=what, side=ABOVE))
    return trends


def _threshold_exponent(dimensions: list[int]) -> float:
    """x of alpha_c - 1/2 as d^-x between the smallest and the largest dimension, by the exact law."""
    ends = np.array([min(dimensions), max(dimensions)])
    above = np.log(np.asarray(load(np.asarray(capacity_associations(ends)), ends)) - 0.5)
    return float(-np.diff(above)[0] / np.diff(np.log(ends))[0])


def _equality_trends(differences: list[dict]) -> list[Comparison]:
    """Whether original and decoupled come closer as d grows, in each number: the exponent of d in their difference."""
    trends = []
    for (number,), group in grouped(differences, "number"):
        d, streams, difference, error, decoupled = values_of(group, "d", "streams", "difference", "error", "decoupled")
        per_cent, dof = np.abs(decoupled) / 100, sum(streams) - 2 * len(streams)
        what = f"exponent of d in the difference: {number}, original - decoupled"
        trends.append(trend(what, d, np.abs(difference / per_cent), error / per_cent, dof=dof))
    return [one for one in trends if one is not None]


def remarks(points: Points) -> list[str]:
    """How much |W e|^2 scatters over inputs, which follows from the fourth moment."""
    return [
        f"|W e|^2 of a new input scatters by {math.sqrt(2 * point[FOURTH]['mean'] / point['d']):.3f} of its mean "
        f"({point['problem']}, d = {point['d']}); for a Gaussian matrix it would be "
        f"{math.sqrt(2 * point[FOURTH]['gaussian'] / point['d']):.3f}."
        for point in points.excesses
    ]


def draw(figure: Figure, points: Points) -> None:
    """Left and middle: singular values of both problems beside the quarter circle; right: the excess against d."""
    excesses = some(points.excesses, "no memory proves a capacity")
    inks = dict(zip(sorted({point["d"] for point in excesses}), _INKS))
    panels = subplots(figure, 1, 3, size=(9.6, 3.8))
    for panel, problem in zip(panels, ("decoupled", "original")):
        _draw_spectra(panel, [one for one in points.histograms if one["problem"] == problem], inks)
        panel.set(title=f"{problem}, proved", xlabel="singular value / root mean square", ylabel="density")
    _draw_excesses(panels[2], excesses)
    finish(figure, "Memories that prove a capacity ({} a curve)", excesses, 4, (0, 0.055))


def _draw_spectra(panel: Axes, histograms: list[dict], inks: dict[int, str]) -> None:
    for one in histograms:
        panel.stairs(one["density"], one["edges"], color=inks[one["d"]], lw=1.3, label=f"d = {one['d']}")
    grid = np.linspace(0, 2, 201)
    panel.plot(grid, quarter_circle().density(grid), color="black", lw=1.3, label="quarter circle, large d")


def _draw_excesses(panel: Axes, excesses: list[dict]) -> None:
    for problem, (ink, mark) in _MARKS.items():
        of_problem = [point | point[FOURTH] for point in excesses if point["problem"] == problem]
        above = [point for point in of_problem if point["excess"] > 0]
        errorbars(panel, above, ("d", "excess", "excess_error"), ink, (mark, None))
        if fit := falling_excess(excesses, problem):
            d = np.geomspace(10, 60, 40)
            words = rf"{problem}: ${fit.c:.1f}\, d^{{-x}}$, $x$ = {fit.x:.2f} $\pm$ {fit.x_error:.2f}"
            panel.plot(d, fit.c * d**-fit.x, color=ink, lw=1.1, label=words)
    panel.set(xscale="log", yscale="log", xlabel="dimension d", title=r"excess of $\langle s^4\rangle$")
    panel.set_ylabel(r"$\langle s^4\rangle/\langle s^2\rangle^2$ above Gaussian matrices")
    low, high = panel.get_ylim()
    ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1, 2, 5) if low <= tick <= high]
    panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    log_ticks(panel, [point["d"] for point in excesses])


WITNESSES = Study(
    "witnesses",
    "Which singular values have the memories that prove a capacity, and are those of both problems alike?",
    runs,
    points,
    draw,
    Caption(
        "Spectra of the memories that prove a capacity",
        "Singular values of the memories that store a stream up to its exact capacity, in units of their root mean "
        "square, and by how much the fourth moment exceeds that of Gaussian matrices of the same size.",
        "At capacity and for large d the law is a quarter circle, that of Gaussian matrices. At finite d there is no "
        "prediction for a proved memory; a correction of order 1/d has the exponent 1. The paper conjectures that "
        "original and decoupled memories share their capacity, scores and spectra in the limit.",
    ),
    compare,
    remarks,
    lambda points: {"points": points.excesses, "histograms": points.histograms},
)
