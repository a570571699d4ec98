"""How much of the free entropy is due to outputs of different lengths?

The functional takes the outputs of an association as equally long. Three tests tell whether this is why the measured
free entropy lies below it. Streams on a sphere, whose outputs have one length, should have the free entropy of the
functional; Gaussian streams that of the functional with lengths (theory/output_lengths.py); and what is left of the
difference should vanish as 1/d tends to zero.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from loadstone.estimate import Estimate
from loadstone.studies import solution_space
from loadstone.studies.kit.comparison import CHANCE, FEWEST, Comparison
from loadstone.studies.kit.panels import COLOURS, Axes, Figure, counted, subplots
from loadstone.studies.kit.points import finish, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec
from loadstone.studies.kit.sampled import nearest_share
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.solution_space import notes_on, predicted, room_of
from loadstone.theory.output_lengths import length_shift

#: The largest dimension at which streams are sampled again with embeddings on a sphere, and how full they are at most:
#: beyond a half of the capacity some volumes are too small to be seen.
_LARGEST = {"quick": 8, "paper": 16}
_FULLEST = {"quick": 0.4, "paper": 0.5}

#: Samples of the effect of lengths, which is then known to a tenth of it.
SAMPLES = 1000
#: The laws of the embeddings.
EQUAL, DIFFERENT = "sphere", "gaussian"
_OUTPUTS = {EQUAL: "outputs of equal length", DIFFERENT: "Gaussian outputs"}
#: Mark, face colour and name of each law, and by how much its points are moved to the right so that none is hidden.
_MARKS = {DIFFERENT: ("o", None, "Gaussian", 0.0), EQUAL: ("s", "white", "equal lengths", 0.0012)}


def runs(scale: str) -> list[Spec]:
    """The streams of 'space' whose volume is sampled, and as many of embeddings on a sphere."""
    gaussian = [spec for spec in solution_space.runs(scale, _FULLEST[scale]) if spec.settings.volume]
    return gaussian + [replace(spec, law=EQUAL) for spec in gaussian if spec.d <= _LARGEST[scale]]


def points(rows: list[Row]) -> list[dict]:
    """For each law, problem, dimension and number of associations whose mean free entropy is known: by how many per
    cent it exceeds that of the functional in size, and by how many the lengths make it do so (none on a sphere)."""
    return [
        _point(law, point)
        for (law,), group in grouped((row for row in rows if row.get("law") in _OUTPUTS), "law")
        for point in solution_space.points(group)
        if point["free_entropy"] is not None and point["volumes"] >= FEWEST and point["free_entropy_error"]
    ]


def _point(law: str, measured: dict) -> dict:
    problem, d, p = (measured[name] for name in ("problem", "d", "p"))
    expected = measured["free_entropy_predicted"]
    shift = Estimate(0.0, 0.0) if law == EQUAL else effect_of_lengths(p, room_of(problem, d, p), d)
    error = math.hypot(measured["free_entropy_error"], measured["free_entropy_predicted_error"])
    return {
        "problem": problem, "d": d, "p": p, "volumes": measured["volumes"], "free_entropy": measured["free_entropy"],
        "law": law, "share": nearest_share(p, d), "predicted": expected, "error": error,
        "with_lengths": expected + shift.value, "with_lengths_error": math.hypot(error, shift.error),
        "excess": 100 * (measured["free_entropy"] / expected - 1), "excess_error": 100 * error / abs(expected),
        "lengths": 100 * shift.value / expected, "lengths_error": 100 * shift.error / abs(expected),
    }  # fmt: skip


@cache
def effect_of_lengths(p: int, room: float, d: int) -> Estimate:
    """The change of the free entropy of the functional by the lengths of Gaussian outputs."""
    return length_shift(predicted(p, room).q, p, room, d, SAMPLES)


def compare(points: list[dict]) -> list[Comparison]:
    """Free entropies against the functional, with lengths where they differ; what is left of the difference, without
    and with them, where 1/d is zero."""
    comparisons = [_beside_the_functional(point) for point in points]
    gaussian = [point for point in points if point["law"] == DIFFERENT]
    for (problem, share), group in grouped(gaussian, "problem", "share"):
        if len(group) > 2:
            comparisons += _for_infinite_d(group, f"{problem}, {share:g} of the capacity")
    return comparisons


def _beside_the_functional(point: dict) -> Comparison:
    of = " beside the functional with lengths" if point["law"] == DIFFERENT else f", {_OUTPUTS[EQUAL]}"
    family = f"free entropy{of}, {point['problem']}"
    return Comparison(
        f"{family}, d = {point['d']}, p = {point['p']} ({point['volumes']} streams)",
        point["with_lengths"], point["free_entropy"], point["with_lengths_error"], point["volumes"] - 1,
        notes_on(point["problem"]), family, f"d = {point['d']}",
    )  # fmt: skip


def _for_infinite_d(points: list[dict], kind: str) -> list[Comparison]:
    """The excess of Gaussian outputs over the functional, without and with lengths."""
    comparisons, dof = [], sum(point["volumes"] - 1 for point in points)
    sizes, excess, errors, lengths, errors_of_lengths = map(
        np.array, values_of(points, "d", "excess", "excess_error", "lengths", "lengths_error")
    )
    for words, taken_off in (("the functional", 0), ("the functional with lengths", 1)):
        end = at_infinity(sizes, excess - taken_off * lengths, np.hypot(errors, taken_off * errors_of_lengths), dof)
        family, note = f"excess of the free entropy over {words} at 1/d = 0", "a straight line in 1/d"
        comparisons.append(Comparison(f"{family}, {kind}", 0.0, *end, note, family, kind, scale=100.0))
    return comparisons


def at_infinity(sizes: ArrayLike, values: ArrayLike, errors: ArrayLike, dof: float) -> tuple[float, float, float]:
    """Where a straight line through the values against 1/d meets 1/d = 0, its standard error, and degrees of
    freedom. Where the values scatter about the line by more than their errors explain, its error is larger by as much.
    dof: the degrees of freedom behind the errors."""
    x, y, weights = 1 / np.asarray(sizes, float), np.asarray(values, float), 1 / np.asarray(errors, float)
    line, covariance = np.polyfit(x, y, 1, w=weights, cov="unscaled")
    chi_square, rest = float(((weights * (y - np.polyval(line, x))) ** 2).sum()), len(x) - 2
    error = math.sqrt(covariance[1, 1])
    if chdtrc(rest, chi_square) < CHANCE:
        error, dof = error * math.sqrt(chi_square / rest), float(rest)
    return float(line[1]), error, dof


def remarks(points: list[dict]) -> list[str]:
    """The mean excess of each law and problem, weighted by its errors."""
    sentences = []
    for (law, problem), group in grouped(points, "law", "problem"):
        excess, lengths, errors = map(np.array, values_of(group, "excess", "lengths", "excess_error"))
        excess, lengths = (np.average(numbers, weights=errors**-2.0) for numbers in (excess, lengths))
        due = f", of which lengths explain {lengths:.1f} %" if law == DIFFERENT else ""
        sentences.append(
            f"The free entropy of {_OUTPUTS[law]}, {problem}, is larger in size than that of the functional by "
            f"{excess:.1f} % on average over {len(group)} sizes{due}."
        )
    return sentences


def draw(figure: Figure, points: list[dict]) -> None:
    """A panel for each problem: the excess against 1/d."""
    some(points, "the free entropy is not known for several streams of any size")
    problems = sorted({point["problem"] for point in points})
    inks = dict(zip(sorted({point["share"] for point in points}), COLOURS))
    panels = subplots(figure, 1, len(problems), size=(4.2 * len(problems), 4.2), sharey=True, squeeze=False)[0]
    for panel, problem in zip(panels, problems):
        _draw_excess(panel, [point for point in points if point["problem"] == problem], inks)
        panel.set(title=problem, xlabel="1 / d")
    panels[0].set_ylabel("|free entropy| above the functional, %")
    streams = counted((point["volumes"] for point in points), "streams")
    finish(figure, f"Free entropy beside the functional ({streams} a point)", points, 3)


def _draw_excess(panel: Axes, points: list[dict], inks: dict[float, str]) -> None:
    for (law, share), group in grouped(points, "law", "share"):
        (mark, face, name, moved), ink = _MARKS[law], inks[share]
        x = [1 / point["d"] + moved for point in group]
        excess, error, lengths = values_of(group, "excess", "excess_error", "lengths")
        words = f"{name}, {share:g} of capacity"
        panel.errorbar(x, excess, error, fmt=mark, color=ink, mfc=face or ink, ms=4.5, lw=1, label=words)
        if law == DIFFERENT:
            panel.plot(x, lengths, "--", color=ink, lw=1.2, label=f"due to lengths, {share:g} of capacity")
    panel.axhline(0, color="0.4", lw=0.8)
    panel.set_xlim(0, 1.08 * max(1 / point["d"] for point in points))


LENGTHS = Study(
    "lengths",
    "How much of the free entropy is due to outputs of different lengths?",
    runs,
    points,
    draw,
    Caption(
        "The free entropy beside the functional: Gaussian outputs, and outputs of equal length",
        "The size of the free entropy above that of the replica-symmetric functional at this p, in per cent, against "
        "1/d: Gaussian outputs, and outputs of equal length; means over streams, bars are standard errors of both.",
        "The functional takes the outputs of an association as having one length. Gaussian ones do not, and a long "
        "output wins more easily; dashed is what this adds to first order. No free parameter.",
    ),
    compare,
    remarks,
)
