"""How much more the original problem stores than the formula for the decoupled one says, and how that falls with d."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import curve_fit
from scipy.special import chdtrc, ndtri

from loadstone.evidence.groups import FORMULA, has_groups
from loadstone.studies.kit.bounds import BELOW, trend
from loadstone.studies.kit.brackets import middles, proved_bracket, resolution
from loadstone.studies.kit.comparison import FEWEST, Comparison, freedom_of
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.storable import capacity_moments

PROVED, STORED = "proved", "stored by L-BFGS"
MINIMUM = "minimum reached"


def shift_points(rows: list[Row]) -> list[dict]:
    """For each problem and dimension, and for proved capacities and those that L-BFGS reached separately: the mean
    capacity, and by what share it exceeds the mean that the formula gives.

    The error is that of a mean of so many streams with the scatter that the formula gives: ten streams tell their own
    scatter to a quarter only, which is too little for the weights of a fit. `at most` is the excess that there would be
    if L-BFGS had missed every memory it could: at the smallest p where it ended at a minimum of the convex loss nothing
    is left to be found, but below it may have been out of passes.
    """
    moments = cache(capacity_moments)
    points = []
    for (problem, d, way), group in grouped([row | _bracket(row) for row in rows if _is_measured(row)], *_KIND):
        found = [row for row in group if row["low"] is not None]
        if not found:
            continue
        mean, scatter = moments(d)
        brackets = [(row["low"], row["high"]) for row in found]
        capacities, most = middles(brackets), np.array([row["most"] for row in found])
        error = math.hypot(scatter / math.sqrt(len(found)), resolution(brackets))
        points.append(
            {"problem": problem, "d": d, "way": way, "streams": len(found), "undecided": _undecided(group)}
            | {"capacity": float(capacities.mean()), "scatter": deviation(capacities)}
            | {"predicted": mean, "predicted scatter": scatter, "excess": float(capacities.mean() / mean - 1)}
            | {"error": error / mean}
            | {"at most": float(most.mean() / mean - 1)}
        )
    return points


_KIND = ("problem", "d", "way")


def _is_measured(row: Row) -> bool:
    usual = row.get("kappa", 1) == 1 and row.get("answers") is None and not has_groups(row)
    return usual and row["solver"] in ("capacity", "reach")


def _undecided(rows: list[Row]) -> int:
    return sum(row["solver"] == "capacity" and row["p_c"] is None for row in rows)


def _bracket(row: Row) -> Row:
    """Between which whole numbers, both included, the capacity of a stream lies; None if nothing bounds it."""
    if row["solver"] == "capacity":
        low, high = proved_bracket(row) or (None, None)
        return {"way": PROVED, "low": low, "high": high, "most": high}
    minima = [p for p, _, status, _ in row["attempts"] if status == MINIMUM]
    beyond = min(minima, default=max(p for p, *_ in row["attempts"]))
    high = row["not_stored"] - 1
    return {"way": STORED, "low": row["stored"], "high": high, "most": max(high, beyond - 1)}


@dataclass(frozen=True)
class Fit:
    """A law c size^-x, fitted by least squares with the errors of the points as weights."""

    #: In words.
    law: str
    c: float
    x: float
    #: Standard error of x; 0 where x is given.
    x_error: float
    chi_square: float
    #: Points less free parameters.
    freedom: int

    @property
    def deviations(self) -> float:
        """How many standard deviations of a normal number are as unlikely as a chi-square beyond this one."""
        # Far out the probability is 0 in floating point.
        return float(-ndtri(max(chdtrc(self.freedom, self.chi_square), 1e-300) / 2))


#: What the excess is a power of, and the power if it is given.
LAWS: dict[str, tuple[Callable[[dict], float], float | None]] = {
    "c / log p": (lambda point: math.log(point["predicted"]), 1.0),
    "c / (log p)^2": (lambda point: math.log(point["predicted"]), 2.0),
    "c d^-x": (lambda point: point["d"], None),
}


def fitted_laws(points: list[dict], excess: str = "excess") -> list[Fit]:
    """Each law fitted to the excess of the points, or to 'at most', if there are more points than parameters."""
    found = [_fitted(law, points, excess) for law, (_, x) in LAWS.items() if len(points) > (1 if x else 2)]
    return [one for one in found if one is not None]


def _fitted(law: str, points: list[dict], excess: str) -> Fit | None:
    size_of, given = LAWS[law]
    size = np.array([size_of(point) for point in points])
    y, error = (np.array([point[name] for point in points]) for name in (excess, "error"))

    def best_c(x: float) -> float:
        shape = size**-x
        return float((shape * y / error**2).sum() / (shape / error).dot(shape / error))

    x, x_error = given, 0.0
    if x is None:
        start = (best_c(0.5), 0.5)
        try:
            best, covariance = curve_fit(lambda s, c, x: c * s**-x, size, y, start, error, absolute_sigma=True)
        except RuntimeError:  # no least sum of squares: the points do not fall at all
            return None
        x, x_error = float(best[1]), float(np.sqrt(covariance[1, 1]))
    c = best_c(x)
    chi_square = float((((y - c * size**-x) / error) ** 2).sum())
    return Fit(law, c, x, x_error, chi_square, len(points) - (1 if given else 2))


def compare_shift(rows: list[Row]) -> list[Comparison]:
    """The mean capacity of decoupled streams beside the formula, by how many per cent original ones exceed it, and
    whether that falls with d."""
    comparisons: list[Comparison] = []
    for point in shift_points(rows):
        if point["streams"] < FEWEST:
            continue
        of = f"{point['way']}, {point['problem']}, d = {point['d']} ({point['streams']} streams)"
        freedom = freedom_of(point["streams"])
        # Proved or reached by L-BFGS, the streams of one d are the same.
        family, streams = f"mean capacity, {point['problem']}", f"d = {point['d']}"
        if point["problem"] == "decoupled":
            error = point["error"] * point["predicted"]
            what = f"mean capacity, {of}"
            comparisons.append(
                Comparison(what, point["predicted"], point["capacity"], error, freedom, "", family, streams)
            )
        else:
            what = f"excess over the formula in per cent, {of}"
            excess, error = 100 * point["excess"], 100 * point["error"]
            comparisons.append(
                Comparison(what, 0.0, excess, error, freedom, FORMULA, family, streams, scale=100)
            )
    original = [one for one in shift_points(rows) if one["problem"] == "original" and one["streams"] >= FEWEST]
    sizes, excess, errors = ([point[name] for point in original] for name in ("d", "excess", "error"))
    falling = trend("exponent of d in the excess over the formula, original", sizes, excess, errors, side=BELOW)
    return comparisons + ([falling] if falling else [])

