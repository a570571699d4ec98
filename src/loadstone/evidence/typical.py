"""Singular values below capacity of three memories that stand for all solutions: a typical one, their centre, and the
one of largest margin.

At full rank all three have a quarter circle at every load, by the variational formula of the paper: they are Gaussian
matrices as far as their singular values go (docs/theory/typical.md). So their fourth moment should tend to that of
Gaussian matrices of the same size as d grows, at a given share of the capacity.
"""

from __future__ import annotations

import math

import numpy as np

from loadstone.evidence.witnesses import FOURTH, moments
from loadstone.studies.kit.bounds import BELOW, trend
from loadstone.studies.kit.comparison import FEWEST, LARGE_D, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations

#: The three memories, as records name them, in words.
MEMORIES = {"typical": "typical solutions", "centre": "their centre", "largest margin": "the largest margin"}
#: Shares of the capacity are told in these steps, since p is whole.
_STEPS = 20


def gaussian_fourth(d: int) -> float:
    """<s^4> / <s^2>^2 of d x d Gaussian matrices. E Tr (W^T W)^2 = 2 d^3 + d^2, E |W|^4 = d^4 + 2 d^2, and the ratio
    does not depend on |W|."""
    return (2 * d**2 + d) / (d**2 + 2)


def typical_points(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and number of associations: the mean over streams of the excess of each memory."""
    points = []
    for (problem, d, p), group in grouped([row for row in rows if _has_spectra(row)], "problem", "d", "p"):
        share = round(_STEPS * p / float(capacity_associations(d))) / _STEPS
        point = {"problem": problem, "d": d, "p": p, "share": share, "streams": len(group)}
        found = [_excesses(row) for row in group]
        for name in MEMORIES:
            values = [one[name] for one in found if name in one]
            if values:
                error = deviation(values) / math.sqrt(len(values))
                point[name] = {"excess": float(np.mean(values)), "error": error, "streams": len(values)}
        points.append(point)
    return points


def compare_typical(rows: list[Row]) -> list[Comparison]:
    """The fourth moment of typical solutions beside that of Gaussian matrices, and for all three memories whether they
    come closer as d grows: the exponent of d in their difference, at each share of the capacity."""
    points = typical_points(rows)
    comparisons: list[Comparison | None] = []
    for point in points:
        found, d = point["typical"], point["d"]
        if found["streams"] >= FEWEST and found["error"] > 0:
            words, gaussian = f"{FOURTH} of typical solutions, {point['problem']}", gaussian_fourth(d)
            comparisons.append(
                Comparison(f"{words}, d = {d}, p = {point['p']}", gaussian, gaussian + found["excess"], found["error"],
                           found["streams"] - 1, LARGE_D, words, f"d = {d}")
            )  # fmt: skip
    for (problem, share), group in grouped(points, "problem", "share"):
        for name, words in MEMORIES.items():
            chosen = [point for point in group if name in point and point[name]["streams"] >= FEWEST]
            sizes, excess, errors = [point["d"] for point in chosen], [], []
            for point in chosen:
                excess.append(abs(point[name]["excess"]))
                errors.append(point[name]["error"])
            what = f"exponent of d in the excess of {FOURTH} below capacity, {words}, {problem}, {share:g} of capacity"
            freedom = sum(point[name]["streams"] - 1 for point in chosen)
            comparisons.append(trend(what, sizes, excess, errors, side=BELOW, freedom=freedom))
    return [one for one in comparisons if one is not None]


def excesses_in_words(rows: list[Row]) -> list[str]:
    """The excess of each memory at the largest dimension, and how much of the centre is noise of the chains."""
    points = typical_points(rows)
    largest = max((point["d"] for point in points), default=0)
    words = [
        f"{FOURTH} above Gaussian matrices, {point['problem']}, d = {point['d']}, {point['share']:g} of capacity: "
        + ", ".join(f"{point[name]['excess']:.3f} ({words})" for name, words in MEMORIES.items() if name in point)
        + "."
        for point in points
        if point["d"] == largest
    ]
    noise = [1 - row["overlap"] / row["centre_length"] ** 2 for row in rows if _has_spectra(row)]
    if noise:
        mean, most = 100 * float(np.mean(noise)), 100 * max(noise)
        words.append(f"Of the centre's square {mean:.1f} % is noise of finite chains on average, at most {most:.1f} %.")
    return words


def _excesses(row: Row) -> dict[str, float]:
    """Of one stream; a typical solution is the last memory of any chain."""
    values = {name: [one["singular_values"]] for name, one in row["memories"].items()}
    values["typical"] = row["typical_singular_values"]
    return {
        name: float(np.mean([moments(np.array(one))[FOURTH] for one in some])) - gaussian_fourth(row["d"])
        for name, some in values.items()
    }


def _has_spectra(row: Row) -> bool:
    """Full memories where each input has an output of its own, sampled."""
    plain = row.get("family", "full") == "full" and row.get("answers") is None
    return row["solver"] == "space" and plain and "typical_singular_values" in row
