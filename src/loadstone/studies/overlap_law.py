"""How much does the overlap of two solutions scatter from stream to stream, and by which law?

The overlap is about a mean over p associations. If these were independent, it would scatter as p^(-1/2) and be normal.
The sampling error of each overlap by finite chains is subtracted from this scatter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from loadstone.estimate import deviation, mean_of
from loadstone.studies import solution_space
from loadstone.studies.kit.bounds import trend
from loadstone.studies.kit.comparison import Comparison, short_number, with_error
from loadstone.studies.kit.panels import COLOURS, MARKS, PREDICTION, Axes, Figure, subplots
from loadstone.studies.kit.points import finish, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.sampled import nearest_share, sampled
from loadstone.studies.kit.study import Caption, Study

#: The fewest streams of which the scatter is estimated, and the fewest of which the shape is.
_FEWEST, _FEWEST_FOR_SHAPE = 3, 8
CENTRAL_LIMIT = "as for a mean over independent associations"
_BINS = np.linspace(-3.5, 3.5, 15)


class Points(NamedTuple):
    """What is read off the sampled streams.

    spreads: for each problem, dimension and number of associations, how the overlap scatters over streams.
    shapes: skewness and fourth moment less 3 of all streams of a problem, compared with those of a normal law.
    histograms: for each problem, the density of all overlaps in units of their deviation.
    """

    spreads: list[dict]
    shapes: list[Comparison]
    histograms: dict[str, list[float]]


def points(rows: list[Row]) -> Points:
    """The scatter of the overlap over streams, and the shape of its law."""
    spreads = _spreads(rows)
    shapes = [one for (problem,), group in grouped(spreads, "problem") for one in _shape(problem, group)]
    return Points(spreads, shapes, _histograms(spreads))


def _spreads(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and number of associations: the deviation of the overlap over streams, of which
    `sampling` is from finite chains and `spread` is left for the streams; and the overlaps in units of it."""
    spreads = []
    for (problem, d, p), group in grouped(sampled(rows, "overlap_error"), "problem", "d", "p"):
        values, errors = map(np.array, values_of(group, "overlap", "overlap_error"))
        scatter, sampling = deviation(values), float(np.sqrt((errors**2).mean()))
        if len(group) < _FEWEST or scatter <= sampling:
            continue
        spread = math.sqrt(scatter**2 - sampling**2)
        spreads.append(
            {"problem": problem, "d": d, "p": p, "streams": len(group), "overlap": float(values.mean())}
            | {"share": nearest_share(p, d), "scatter": scatter, "sampling": sampling, "spread": spread}
            | {"spread_error": scatter**2 / spread / math.sqrt(2 * (len(group) - 1))}
            | {"seeds": [row["seed"] for row in group]}
            | {"standardised": ((values - values.mean()) / values.std()).tolist()}
        )
    return spreads


def _shape(problem: str, spreads: list[dict]) -> list[Comparison]:
    """Skewness and fourth moment less 3, as means of Hermite polynomials. Streams at several p are nested, so each
    stream counts once, with its mean over p. Samples of n normal numbers have a fourth moment of 3 (n - 1) / (n + 1).
    """
    of_streams: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    for point in spreads:
        for seed, z in zip(point["seeds"], point["standardised"]):
            terms = (z**3 - 3 * z, z**4 - 6 * z**2 + 3, -6 / (point["streams"] + 1))
            of_streams.setdefault((point["d"], seed), []).append(terms)
    if len(of_streams) < _FEWEST_FOR_SHAPE:
        return []
    third, fourth, normal = np.array([np.mean(terms, axis=0) for terms in of_streams.values()]).T
    size = f"{problem} ({len(third)} streams)"
    return [
        Comparison(f"{words} of the overlap over streams, {size}", float(expected), *mean_of(values), len(values) - 1,
                   CENTRAL_LIMIT, f"{words} of the overlap over streams", problem, 0.0)
        for words, expected, values in (("skewness", 0.0, third), ("fourth moment less 3", normal.mean(), fourth))
    ]  # fmt: skip


def _histograms(spreads: list[dict]) -> dict[str, list[float]]:
    standardised = {
        problem: [value for point in spreads if point["problem"] == problem for value in point["standardised"]]
        for problem in MARKS
    }
    return {
        problem: (np.histogram(values, _BINS)[0] / (len(values) * (_BINS[1] - _BINS[0]))).tolist()
        for problem, values in standardised.items()
        if values
    }


def compare(points: Points) -> list[Comparison]:
    """The exponent of p in the spread at each share of the capacity; third and fourth moment of all streams."""
    comparisons = []
    for (problem, share), group in grouped(points.spreads, "problem", "share"):
        family = f"exponent of p in the spread of the overlap over streams, {problem}"
        what, dof = f"{family}, {share:g} of the capacity", sum(point["streams"] - 1 for point in group)
        p, spread, error = values_of(group, "p", "spread", "spread_error")
        if fit := trend(what, p, spread, error, dof=dof):
            numbers = -0.5, fit.measured, fit.error, fit.dof
            comparisons.append(Comparison(what, *numbers, CENTRAL_LIMIT, family, f"{share:g}"))
    return comparisons + points.shapes


def remarks(points: Points) -> list[str]:
    """How much of the scatter over streams is from finite chains, and what is known of the shape."""
    sentences = [
        f"{one.what[0].upper()}{one.what[1:]}: {with_error(one.measured, one.error)}, for a normal law "
        f"{one.predicted:.2f}; a difference of less than {short_number(one.min_detectable)} would not have been seen."
        for one in points.shapes
    ]
    shares = [100 * (point["sampling"] / point["scatter"]) ** 2 for point in points.spreads]
    if shares:
        sentences.append(
            f"Of the variance of the overlap over streams {np.mean(shares):.1f} % is noise of finite chains on "
            f"average, at most {max(shares):.1f} %; it is taken off."
        )
    return sentences


def draw(figure: Figure, points: Points) -> None:
    """Left and in the middle the spread against p, for each problem; right all overlaps in units of their deviation."""
    spreads = some(points.spreads, "there are too few streams to tell how overlaps scatter")
    problems = list(points.histograms)
    panels = subplots(figure, 1, len(problems) + 1, size=(3.2 * (len(problems) + 1), 4.0), squeeze=False)[0]
    inks = dict(zip(sorted({point["share"] for point in spreads}), COLOURS))
    for panel, problem in zip(panels, problems):
        _draw_spreads(panel, [point for point in spreads if point["problem"] == problem], inks)
        panel.set_title(problem)
        panel.sharey(panels[0])
    panels[0].set_ylabel("deviation of the overlap over streams")
    _draw_shapes(panels[-1], points.histograms)
    finish(figure, "How the overlap of two solutions scatters over streams ({} a point)", spreads, 4)


def _draw_spreads(panel: Axes, spreads: list[dict], inks: dict[float, str]) -> None:
    for (share,), group in grouped(spreads, "share"):
        p, spread, error, sampling = map(np.array, values_of(group, "p", "spread", "spread_error", "sampling"))
        words = f"{share:g} of the capacity"
        panel.errorbar(p, spread, error, fmt="o", color=inks[share], ms=4, lw=1, label=words)
        panel.plot(p, sampling, "x", color=inks[share], ms=4)
        level = np.exp(np.average(np.log(spread * np.sqrt(p)), weights=(spread / error) ** 2))
        ends = np.array([p.min(), p.max()])
        panel.plot(ends, level / np.sqrt(ends), "--", color=inks[share], lw=1)
    panel.plot([], [], "--", color="0.3", lw=1, label=r"$\propto p^{-1/2}$")
    panel.plot([], [], "x", color="0.3", ms=4, label="noise of finite chains")
    panel.set(xscale="log", yscale="log", xlabel="associations p")


def _draw_shapes(panel: Axes, densities: dict[str, list[float]]) -> None:
    for (problem, density), ink in zip(densities.items(), ("0.3", COLOURS[4])):
        panel.stairs(density, _BINS, color=ink, lw=1.3, label=f"{problem}, all points")
    grid = np.linspace(-3.5, 3.5, 141)
    panel.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color=PREDICTION, lw=1.2, label="normal law")
    panel.set(xlabel="(overlap - mean) / deviation", ylabel="density", title="shape")


def _plotted(points: Points) -> dict[str, object]:
    shown = [{name: point[name] for name in point if name != "seeds"} for point in points.spreads]
    return {"points": shown, "histograms": points.histograms}


OVERLAPS = Study(
    "overlaps",
    "How much does the overlap of two solutions scatter from stream to stream, and by which law?",
    solution_space.runs,
    points,
    draw,
    Caption(
        "How the overlap of two solutions scatters from stream to stream",
        "The deviation over streams of the overlap, without the noise of finite chains (crosses), against the number "
        "of associations at three shares of the capacity; right all overlaps less their mean, in units of their "
        "deviation.",
        "An overlap that is a mean over p independent associations would scatter as p^(-1/2) (dashed, through the "
        "points) and be normal.",
    ),
    compare,
    remarks,
    _plotted,
)
