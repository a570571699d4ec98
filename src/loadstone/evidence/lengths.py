"""Why the free entropy lies below the functional: outputs of different lengths, which the functional takes as equal.

Three tests. Streams on a sphere, whose outputs have one length, should have the free entropy of the functional, and
Gaussian streams that of the functional with lengths (theory/output_lengths.py). And the differences should vanish as
1/d tends to zero, or not, if their cause falls more slowly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy.special import chdtrc

from loadstone.estimate import Estimate
from loadstone.studies.kit.comparison import CHANCE, FEWEST, Comparison
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.solution_space import NOTE, SHARED_OUTPUTS, predicted, room_of
from loadstone.studies.solution_space import points as solution_spaces
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.output_lengths import length_shift

#: Samples of the effect of lengths, which is then known to a tenth of it.
_SAMPLES = 1000
#: Shares of the capacity are told in these steps, since p is whole.
_STEPS = 20
EQUAL, DIFFERENT = "sphere", "gaussian"
WORDS = {EQUAL: "outputs of equal length", DIFFERENT: "Gaussian outputs"}


def free_entropies(rows: list[Row]) -> list[dict]:
    """For each law, problem, dimension and number of associations: by how many per cent the free entropy exceeds that
    of the functional in size, and by how many per cent the lengths make it do so (none on a sphere)."""
    points = []
    for (law,), group in grouped([row for row in rows if row.get("law") in WORDS], "law"):
        for point in solution_spaces(group):
            if point["free_entropy"] is None or point["volumes"] < FEWEST or not point["free_entropy_error"]:
                continue
            problem, d, p = (point[name] for name in ("problem", "d", "p"))
            expected, room = point["free_entropy_predicted"], room_of(problem, d, p)
            shift = Estimate(0.0, 0.0) if law == EQUAL else lowered(p, room, d)
            share = round(_STEPS * p / float(capacity_associations(d))) / _STEPS
            both = math.hypot(point["free_entropy_error"], point["free_entropy_predicted_error"])
            points.append(
                {name: point[name] for name in ("problem", "d", "p", "volumes", "free_entropy")}
                | {"law": law, "share": share, "predicted": expected, "error": both}
                | {"with_lengths": expected + shift.value, "with_lengths_error": math.hypot(both, shift.error)}
                | {"excess": 100 * (point["free_entropy"] / expected - 1), "excess_error": 100 * both / abs(expected)}
                | {"lengths": 100 * shift.value / expected, "lengths_error": 100 * shift.error / abs(expected)}
            )
    return points


def excess_in_words(rows: list[Row]) -> list[str]:
    """The mean excess of each law and problem, weighted by its errors."""
    words = []
    for (law, problem), group in grouped(free_entropies(rows), "law", "problem"):
        weights = np.array([one["excess_error"] for one in group]) ** -2.0
        excess, lengths = (np.average([one[name] for one in group], weights=weights) for name in ("excess", "lengths"))
        due = f", of which lengths explain {lengths:.1f} %" if law == DIFFERENT else ""
        words.append(
            f"The free entropy of {WORDS[law]}, {problem}, is larger in size than that of the functional by "
            f"{excess:.1f} % on average over {len(group)} sizes{due}."
        )
    return words


@cache
def lowered(p: int, room: float, d: int) -> Estimate:
    """The effect of the lengths of Gaussian outputs."""
    return length_shift(predicted(p, room).q, p, room, d, _SAMPLES)


def compare_lengths(rows: list[Row]) -> list[Comparison]:
    """Free entropies beside the functional, with lengths where they differ; and what is left of the difference, without
    and with them, where 1/d is zero."""
    points, found = free_entropies(rows), []
    for point in points:
        notes = "; ".join([NOTE] + ([SHARED_OUTPUTS] if point["problem"] == "original" else []))
        family = f"free entropy, {WORDS[point['law']]}, {point['problem']}"
        if point["law"] == DIFFERENT:
            family = f"free entropy beside the functional with lengths, {point['problem']}"
        found.append(
            Comparison(f"{family}, d = {point['d']}, p = {point['p']} ({point['volumes']} streams)",
                       point["with_lengths"], point["free_entropy"], point["with_lengths_error"], point["volumes"] - 1,
                       notes, family, f"d = {point['d']}")
        )  # fmt: skip
    for (law, problem, share), group in grouped(points, "law", "problem", "share"):
        if law == DIFFERENT and len(group) > 2:
            size, sizes = f"{problem}, {share:g} of the capacity", [one["d"] for one in group]
            for words, left in (("the functional", 0), ("the functional with lengths", 1)):
                excess = [one["excess"] - left * one["lengths"] for one in group]
                errors = [math.hypot(one["excess_error"], left * one["lengths_error"]) for one in group]
                value, error, freedom = at_infinity(sizes, excess, errors, sum(one["volumes"] - 1 for one in group))
                family = f"excess of the free entropy over {words} at 1/d = 0"
                found.append(
                    Comparison(f"{family}, {size}", 0.0, value, error, freedom, "a straight line in 1/d", family,
                               size, 100.0)
                )  # fmt: skip
    return found


def at_infinity(
    sizes: Sequence[float], values: Sequence[float], errors: Sequence[float], freedom: float
) -> tuple[float, float, float]:
    """Where a straight line through the values against 1/d meets 1/d = 0, its standard error, and degrees of freedom.

    Where the values scatter about the line by more than their errors explain, its error is larger by as much.
    """
    weights = 1 / np.asarray(errors, float) ** 2
    design = np.stack([np.ones(len(sizes)), 1 / np.asarray(sizes, float)], axis=1)
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    fitted = covariance @ design.T @ (weights * np.asarray(values, float))
    chi_square, rest = float(weights @ (np.asarray(values) - design @ fitted) ** 2), len(sizes) - 2
    error = math.sqrt(covariance[0, 0])
    if chdtrc(rest, chi_square) < CHANCE:
        error, freedom = error * math.sqrt(chi_square / rest), float(rest)
    return float(fitted[0]), error, freedom
