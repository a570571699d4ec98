"""Memories that prove a capacity: their singular values beside those of Gaussian matrices, original beside decoupled.

If the direction of W were uniform, a proved memory would have the moments of a Gaussian matrix of its size. What it has
in excess says how far it is from that, and falls with d if the law at capacity, a quarter circle, is right. From the
fourth moment follows how much |W e|^2 scatters over inputs: its relative variance is 2 <s^4> / (<s^2>^2 d), so the
concentration on which Gaussian equivalence rests is a statement about this number.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from loadstone.evidence.shift import Fit, fitted_laws
from loadstone.studies.kit.bounds import ABOVE, BELOW, BoundComparison, trend
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load

#: Numbers of one memory, by name: what is averaged over streams.
FOURTH, TOP = "<s^4>/<s^2>^2", "largest singular value over root mean square"
_DRAWN = 400


def moments(singular_values: np.ndarray) -> dict[str, float]:
    """Both numbers of one matrix. Neither depends on its scale."""
    squares = np.asarray(singular_values, float) ** 2
    mean = float(squares.mean())
    return {FOURTH: float((squares**2).mean()) / mean**2, TOP: math.sqrt(float(squares.max()) / mean)}


@cache
def gaussian_moments(d: int) -> dict[str, tuple[float, float]]:
    """Mean over d x d Gaussian matrices of each number, and its standard error."""
    random = np.random.default_rng(d)
    found = [moments(np.linalg.svd(random.standard_normal((d, d)), compute_uv=False)) for _ in range(_DRAWN)]
    return {name: _mean([one[name] for one in found]) for name in (FOURTH, TOP)}


def witness_points(rows: list[Row]) -> list[dict]:
    """For each problem and dimension: the means over proved memories, and their excess over Gaussian matrices."""
    points = []
    for (problem, d), group in grouped([row for row in rows if _is_proved(row)], "problem", "d"):
        found = [moments(np.array(row["singular_values"])) for row in group]
        point = {"problem": problem, "d": d, "streams": len(group)}
        point["predicted"] = float(np.mean([row["p_c"] for row in group]))  # p, of which a law may be a power
        for name in (FOURTH, TOP):
            mean, error = _mean([one[name] for one in found])
            gaussian, gaussian_error = gaussian_moments(d)[name]
            point[name] = {"mean": mean, "error": error, "gaussian": gaussian}
            point[name] |= {"excess": mean - gaussian, "excess_error": math.hypot(error, gaussian_error)}
        points.append(point)
    return points


def falling_excess(points: list[dict], problem: str) -> Fit | None:
    """The excess of the fourth moment as c d^-x; None with fewer than three dimensions."""
    chosen = [
        point | {"excess": point[FOURTH]["excess"], "error": point[FOURTH]["excess_error"]}
        for point in points
        if point["problem"] == problem and point["streams"] >= FEWEST
    ]
    return next((fit for fit in fitted_laws(chosen) if fit.law == "c d^-x"), None)


def compare_witnesses(rows: list[Row]) -> list[Comparison]:
    """Both numbers beside those of Gaussian matrices, the exponent with which the excess falls beside 1, and three
    strands of the equivalence of both problems: capacity, target scores, spectra."""
    points = witness_points(rows)
    comparisons = []
    for point in points:
        if point["streams"] < FEWEST:
            continue
        for name in (FOURTH, TOP):
            one, of = point[name], f"of proved memories, {point['problem']}"
            comparisons.append(
                Comparison(
                    f"{name} {of}, d = {point['d']}", one["gaussian"], one["mean"], one["excess_error"],
                    point["streams"] - 1, LARGE_D, f"{name} {of}", f"d = {point['d']}",
                )  # fmt: skip
            )
    for problem in sorted({point["problem"] for point in points}):
        if fit := falling_excess(points, problem):
            what = f"exponent x of the excess of {FOURTH} as d^-x, {problem}"
            comparisons.append(Comparison(what, 1.0, fit.x, fit.x_error, family="exponent x of the excess as d^-x"))
    strands = _strands(rows)
    return comparisons + strands + _in_the_limit(points) + _equal_in_the_limit(strands)


def _in_the_limit(points: list[dict]) -> list[Comparison]:
    """What is said of large d, as trends with d: the largest singular value does not grow, the share of directions that
    a memory uses, <s^2>^2 / <s^4>, does not vanish, and the fourth moment converges faster than the threshold."""
    found: list[Comparison | None] = []
    for problem in sorted({point["problem"] for point in points}):
        chosen = [point for point in points if point["problem"] == problem and point["streams"] >= FEWEST]
        d, top, fourth = ([point[name] for point in chosen] for name in ("d", TOP, FOURTH))
        freedom = sum(point["streams"] - 1 for point in chosen)
        of_top = [one["mean"] for one in top], [one["error"] for one in top]
        found.append(trend(f"exponent of d in the {TOP}, {problem}", d, *of_top, side=BELOW, freedom=freedom))
        shares = [1 / one["mean"] for one in fourth], [one["error"] / one["mean"] ** 2 for one in fourth]
        what = f"exponent of d in the share of directions used, {problem}"
        found.append(trend(what, d, *shares, side=ABOVE, freedom=freedom))
        if fit := falling_excess(points, problem):
            what = f"exponent x of the excess of {FOURTH} as d^-x, beside that of the threshold, {problem}"
            found.append(
                BoundComparison(what, _threshold_exponent(d), fit.x, fit.x_error, family=what, side=ABOVE)
            )
    return [one for one in found if one is not None]


def _threshold_exponent(dimensions: list[int]) -> float:
    """x of alpha_c - 1/2 as d^-x between the smallest and the largest dimension, by the exact law."""
    ends = np.array([min(dimensions), max(dimensions)])
    above = np.log(np.asarray(load(np.asarray(capacity_associations(ends)), ends)) - 0.5)
    return float(-np.diff(above)[0] / np.diff(np.log(ends))[0])


def _equal_in_the_limit(strands: list[Comparison]) -> list[Comparison]:
    """Whether original and decoupled come closer as d grows, in each strand: the exponent of d in their difference."""
    found = []
    for (family,), group in grouped([{"family": one.family, "one": one} for one in strands], "family"):
        chosen = [row["one"] for row in group]
        d = [int(one.streams.removeprefix("d = ")) for one in chosen]
        shares = [abs(one.difference / one.percent) for one in chosen], [one.error / one.percent for one in chosen]
        freedom = sum(one.freedom for one in chosen)
        found.append(trend(f"exponent of d in the difference: {family}", d, *shares, side=BELOW, freedom=freedom))
    return [one for one in found if one is not None]


def _strands(rows: list[Row]) -> list[Comparison]:
    """original - decoupled, zero in the limit by the paper's conjecture, in per cent of the decoupled value."""
    strands = {
        "capacity": lambda row: float(row["p_c"]),
        "mean of the target's score": lambda row: float(row["own_target"]["mean"]),
        FOURTH: lambda row: moments(np.array(row["singular_values"]))[FOURTH],
    }
    proved = [row for row in rows if _is_proved(row) and "own_target" in row]
    comparisons = []
    for name, number in strands.items():
        for (d,), group in grouped(proved, "d"):
            found = {problem: [number(row) for row in some] for (problem,), some in grouped(group, "problem")}
            if len(found) < 2 or min(map(len, found.values())) < FEWEST:
                continue
            (shared, one), (apart, other) = _mean(found["original"]), _mean(found["decoupled"])
            freedom = sum(map(len, found.values())) - 2
            what = f"{name}, original - decoupled, d = {d}"
            family, streams = f"{name}, original - decoupled", f"d = {d}"
            comparisons.append(
                Comparison(what, 0.0, shared - apart, math.hypot(one, other), freedom, LARGE_D, family, streams, apart)
            )
    return comparisons


def _is_proved(row: Row) -> bool:
    """Full memories of as many answers as facts, whose capacity is known."""
    plain = row.get("family", "full") == "full" and row.get("answers") is None
    return row["solver"] == "capacity" and plain and row["p_c"] is not None and row.get("singular_values") is not None


def _mean(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), deviation(values) / math.sqrt(len(values))
