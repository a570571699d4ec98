"""Do the singular values of the last memories that store their associations approach the law at capacity as d grows?

The runs are those of the accuracy figure; of each stream it is the run at the largest load below the first at which the
stop rule was not met. The distance of its singular values to the law should vanish as d grows, as that of Gaussian
matrices does. Distances to a wrong law fall with d too, at first, because fewer values scatter more about any law; but
by less than those of Gaussian matrices. So what is tested is whether the excess over Gaussian matrices falls.

At low rank the original problem is also set beside the decoupled one, by the spectra and scores of memories that store
equally many associations. Both problems of a stream have the same inputs, so they are compared stream by stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies import accuracy
from loadstone.studies.kit.bounds import BoundComparison, trend
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.panels import COLOURS, MARKS, Axes, Figure, subplots
from loadstone.studies.kit.points import errorbars, finish, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.singular_values import FOURTH, capacity_reference, kolmogorov, moments
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.spectra import at_capacity

#: Words for the solvers of the accuracy figure that search.
_SOLVERS = {"adam": "Adam", "lbfgs": "L-BFGS"}
_INKS = dict(zip(_SOLVERS, COLOURS))
#: How a search ends that met its stop rule.
_STORED = ("stored", "stop rule met")
#: Numbers of one run in which the two problems are compared, by name.
NUMBERS: dict[str, Callable[[Row], float]] = {
    FOURTH: lambda row: moments(row["singular_values"])[FOURTH],
    "mean of the target's score": lambda row: row["scores"]["own_target"]["mean"],
}


class Points(NamedTuple):
    #: How far the spectra of the last memories stored are from the law at capacity.
    distances: list[dict]
    #: original - decoupled at low rank, in each of the `NUMBERS`.
    differences: list[dict]


def points(rows: list[Row]) -> Points:
    """Distances to the law, and differences between the two problems."""
    searched = [row for row in rows if row["solver"] in _SOLVERS and "singular_values" in row]
    return Points(distances(searched), original_minus_decoupled(searched))


def distances(rows: list[Row]) -> list[dict]:
    """For each solver, rank fraction, problem and dimension: the mean distance to the law at capacity over streams, and
    that of Gaussian matrices cut to the same rank."""
    points = []
    for (solver, kappa, problem, d), group in grouped(last_stored(rows), "solver", "kappa", "problem", "d"):
        rank = len(group[0]["singular_values"])
        law = at_capacity(rank / d).nonzero()
        distance, error = mean_of([kolmogorov(row["singular_values"], law) for row in group])
        points.append(
            {"solver": solver, "kappa": kappa, "problem": problem, "d": d, "streams": len(group)}
            | {"p": float(np.mean([row["p"] for row in group])), "distance": distance}
            | {"error": error, "gaussian": capacity_reference(d, rank)[0]}
        )
    return points


def last_stored(rows: list[Row]) -> list[Row]:
    """The run of each stream at the largest p that was stored, below the smallest that was not."""
    last = []
    for _, group in grouped(rows, "solver", "kappa", "problem", "d", "seed"):
        failed = min((row["p"] for row in group if row["status"] not in _STORED), default=math.inf)
        stored = [row for row in group if row["status"] in _STORED and row["p"] < failed]
        last += [max(stored, key=lambda row: row["p"])] if stored else []
    return last


def original_minus_decoupled(rows: list[Row]) -> list[dict]:
    """For each rank fraction below one, dimension and number: the mean difference original - decoupled over streams, by
    L-BFGS, at the largest p that all streams of both problems stored."""
    points = []
    low = [row for row in rows if row["solver"] == "lbfgs" and row["kappa"] < 1]
    for (kappa, d), group in grouped(low, "kappa", "d"):
        pairs = _last_pairs(group)
        for name, number in NUMBERS.items():
            values = [(number(one), number(other)) for one, other in pairs if "own_target" in one["scores"]]
            if len(values) < FEWEST:
                continue
            difference, error = mean_of([original - decoupled for original, decoupled in values])
            points.append(
                {"kappa": kappa, "d": d, "p": pairs[0][0]["p"], "number": name, "streams": len(values)}
                | {"difference": difference, "error": error}
                | {"decoupled": float(np.mean([decoupled for _, decoupled in values]))}
            )
    return points


def _last_pairs(rows: list[Row]) -> list[tuple[Row, Row]]:
    """The runs of both problems, stream by stream, at the largest p that all streams stored, below the first that one
    of them did not."""
    last: list[tuple[Row, Row]] = []
    for _, group in grouped(rows, "p"):
        if any(row["status"] not in _STORED for row in group):
            break
        runs = {(row["problem"], row["seed"]): row for row in group}
        seeds = sorted({seed for problem, seed in runs if problem == "original" and ("decoupled", seed) in runs})
        if seeds:
            last = [(runs["original", seed], runs["decoupled", seed]) for seed in seeds]
    return last


def compare(points: Points) -> list[Comparison]:
    """Whether distances to the law fall to those of Gaussian matrices as d grows: the exponent of d in their excess.
    And the two problems compared: each difference compared with zero, and its exponent of d."""
    comparisons: list[Comparison] = []
    repeated = [point for point in points.distances if point["streams"] >= FEWEST and point["error"] > 0]
    for (solver, problem, kappa), group in grouped(repeated, "solver", "problem", "kappa"):
        what = f"exponent of d in the excess distance to the law, {_SOLVERS[solver]}, {problem}, kappa = {kappa:g}"
        excess = [point["distance"] - point["gaussian"] for point in group]
        comparisons += _falling(what, group, excess, "distance")
    differences = [point for point in points.differences if point["error"] > 0]
    for (kappa, name), group in grouped(differences, "kappa", "number"):
        family = f"at kappa = {kappa:g}: {name}, original - decoupled"
        comparisons += [
            Comparison.of(family, point, 0.0, point["difference"], point["error"], LARGE_D, scale=point["decoupled"])
            for point in group
        ]
        if len({point["difference"] > 0 for point in group}) == 1:  # one that changes its sign has no exponent
            what = f"exponent of d at kappa = {kappa:g} in the difference: {name}, original - decoupled"
            comparisons += _falling(what, group, [abs(point["difference"]) for point in group], "difference")
    return comparisons


def _falling(what: str, points: list[dict], values: list[float], name: str) -> list[BoundComparison]:
    """Whether values fall as d grows, as a list of at most one comparison.

    Two streams do not show their scatter, so it is pooled over all dimensions, in units of the field `name`.
    """
    d, streams, sizes, error = map(np.array, values_of(points, "d", "streams", name, "error"))
    shares = error / sizes * np.sqrt(streams)
    dof = int((streams - 1).sum())
    scatter = math.sqrt(float(((streams - 1) * shares**2).sum()) / dof)
    one = trend(what, d, values, scatter * np.abs(sizes) / np.sqrt(streams), dof=dof)
    return [] if one is None else [one]


def remarks(points: Points) -> list[str]:
    """The distance at the smallest and at the largest d, compared with that of Gaussian matrices."""
    sentences = []
    for (solver, problem, kappa), group in grouped(points.distances, "solver", "problem", "kappa"):
        ends = " and ".join(
            f"{point['distance']:.3f} at d = {point['d']} (Gaussian matrices: {point['gaussian']:.3f})"
            for point in (group[0], group[-1])[: len(group)]
        )
        sentences.append(f"Distance to the law, {_SOLVERS[solver]}, {problem}, kappa = {kappa:g}: {ends}.")
    return sentences


def draw(figure: Figure, points: Points) -> None:
    """Distance against dimension, one panel for each rank fraction."""
    of_ranks = grouped(some(points.distances, "no run was stored"), "kappa")
    panels = subplots(figure, 1, len(of_ranks), size=(2.9 * len(of_ranks) + 0.6, 4.0), sharey=True, squeeze=False)[0]
    for panel, ((kappa,), group) in zip(panels, of_ranks):
        _draw_distances(panel, group)
        panel.set_title(rf"$\kappa = {kappa:g}$")
    panels[0].set_ylabel("distance to the law at capacity")
    finish(figure, "Spectra of the last memories that met their stop rule ({} a point)", points.distances, 3)


def _draw_distances(panel: Axes, points: list[dict]) -> None:
    gaussian = sorted({(point["d"], point["gaussian"]) for point in points})
    panel.plot(*zip(*gaussian), color="0.4", lw=1, ls="--", label="Gaussian matrices")
    for solver, words in _SOLVERS.items():
        for problem, mark in MARKS.items():
            if chosen := [one for one in points if (one["solver"], one["problem"]) == (solver, problem)]:
                fields, label = ("d", "distance", "error"), f"{problem}, {words}"
                errorbars(panel, chosen, fields, _INKS[solver], mark, ls="-", ms=4.5, label=label)
    dimensions = sorted({point["d"] for point in points})
    panel.set(xscale="log", yscale="log", xlabel="dimension d")
    panel.set_xticks(dimensions, [str(d) for d in dimensions], rotation=60, fontsize=8)
    panel.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


STORED_SPECTRA = Study(
    "stored-spectra",
    "Do the spectra of the last memories stored approach the law at capacity?",
    accuracy.runs,
    points,
    draw,
    Caption(
        "How far spectra lie from their law",
        "Kolmogorov distance of the non-zero singular values from the law at capacity, against the dimension, for the "
        "runs of the accuracy figure: of each stream the last run that met its stop rule (99.9 % for Adam, everything "
        "for L-BFGS). Means over streams with standard errors.",
        "At capacity and for large d singular values follow the upper part of a quarter circle. Gaussian matrices of "
        "the same size (dashed) do, cut to the same rank; so what the distance exceeds theirs by should fall with d. "
        "The last run stored lies a little below capacity, the more so where loads are far apart.",
    ),
    compare,
    remarks,
    lambda points: {"points": points.distances},
)
