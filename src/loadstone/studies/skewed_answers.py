"""How many facts fit when some answers are targets more often than others: proved, and by the formula?"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from loadstone.estimate import Estimate
from loadstone.frequencies import shares_of
from loadstone.studies.kit.comparison import FEWEST, Comparison, dof_of
from loadstone.studies.kit.panels import COLOURS, Axes, Figure, subplots
from loadstone.studies.kit.points import errorbars, finish, some, values_of
from loadstone.studies.kit.proved_facts import note_on, streams_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, facts_by_the_law, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.answers import facts_capacity
from loadstone.theory.skew import random_target_capacity, skewed_capacity

#: For each scale: dimension, numbers of answers (at most d + 1, where there is a prediction), streams.
_SIZES = {"quick": (10, (4, 9), 6), "paper": (20, (3, 5, 9, 13, 21), 40)}
MANY_FACTS = "the formula is for many facts an answer and large d"
#: Samples for given frequencies; draws of random counts, and samples for each. More would take minutes.
SAMPLES, DRAWS, SAMPLES_OF_A_DRAW = 4000, 8, 1500
#: Mark, colour and name of each kind of targets.
_KINDS = {
    "balanced": ("o", COLOURS[0], "balanced"),
    "uniform": ("s", COLOURS[2], "random, all alike"),
    "zipf:1": ("^", COLOURS[5], "random, as 1/y"),
}


def runs(scale: str) -> list[Spec]:
    """Exact capacities for answers that are asked for equally often, equally often by chance, and by Zipf's law."""
    d, counts, streams = _SIZES[scale]
    return [
        spec("original", d, guess, seed, solver="capacity", answers=count, frequencies=drawn)
        for count in counts
        for guess in [facts_by_the_law("full", d, count, "original")]
        for drawn in _KINDS
        for seed in range(streams)
    ]


def points(rows: list[Row]) -> list[dict]:
    """For each dimension, number of answers and their frequencies: the mean proved capacity of the streams with its
    standard error, and what the formula says: if all were asked for equally often ('equal'), if their counts had just
    these frequencies ('given'), and for the targets as they were drawn ('predicted')."""
    of_answers = [
        {"frequencies": "uniform"} | row
        for row in rows
        if row["solver"] == "capacity" and row["problem"] == "original" and row.get("answers") is not None
    ]
    points = []
    for (d, answers, drawn), group in grouped(of_answers, "d", "answers", "frequencies"):
        if answers > d + 1 or not (streams := streams_of(group)):
            continue
        given, predicted = given_frequencies(d, answers, drawn), as_drawn(d, answers, drawn)
        points.append(
            {"d": d, "answers": answers, "frequencies": drawn}
            | streams
            | {"equal": facts_capacity("full", d, answers=answers, decoupled=False)}
            | {"given": given.value, "given, error": given.error}
            | {"predicted": predicted.value, "predicted, error": predicted.error}
        )
    return points


@cache
def given_frequencies(d: int, answers: int, drawn: str) -> Estimate:
    """The formula if the counts of the facts have just these frequencies; exact where all are equal."""
    return skewed_capacity(d, _shares(answers, drawn), samples=SAMPLES)


@cache
def as_drawn(d: int, answers: int, drawn: str) -> Estimate:
    """The formula for the targets as they are drawn: balanced ones have equal counts, all others random ones."""
    if drawn == "balanced":
        return given_frequencies(d, answers, drawn)
    return random_target_capacity(d, _shares(answers, drawn), draws=DRAWS, samples=SAMPLES_OF_A_DRAW)


def _shares(answers: int, drawn: str) -> np.ndarray:
    return shares_of(answers, "uniform" if drawn == "balanced" else drawn)


def ratio(point: dict[str, Any]) -> tuple[float, float]:
    """Measured over predicted, and its standard error: of the streams, and of the sampled prediction."""
    value = point["facts"] / point["predicted"]
    return value, value * math.hypot(point["error"] / point["facts"], point["predicted, error"] / point["predicted"])


def compare(points: list[dict]) -> list[Comparison]:
    """The ratio of the mean proved capacity to the formula."""
    comparisons = []
    for point in points:
        if point["streams"] < FEWEST or point["error"] == 0:
            continue
        what = (
            f"proved capacity / formula, d = {point['d']}, {point['answers']} answers, {point['frequencies']} targets "
            f"({point['streams']} streams)"
        )
        value, error = ratio(point)
        # Only the scatter of the streams is estimated from few numbers.
        dof = dof_of(point["streams"], error * point["predicted"], point["error"])
        note = note_on(point, "" if point["frequencies"] == "balanced" else MANY_FACTS)
        family, streams = f"proved capacity / formula, {point['frequencies']} targets", f"d = {point['d']}"
        comparisons.append(Comparison(what, 1.0, value, error, dof, note, family, streams))
    return comparisons


def draw(figure: Figure, points: list[dict]) -> None:
    """Above how many facts fit, below the ratio to the formula, both against the number of answers."""
    points = some(drawn_points(points), "no capacity is proved")
    above, below = subplots(figure, 2, 1, size=(5.4, 6.6), sharex=True, gridspec_kw={"height_ratios": (2.2, 1)})
    for (_, drawn), group in grouped(points, "d", "frequencies"):
        _draw_formula(above, drawn, group)
        _draw_proved(above, below, drawn, group)
    below.axhline(1, color="0.3", lw=1, zorder=0)
    above.set(ylabel="facts that fit, N")
    below.set(xlabel="answers M", ylabel="proved / formula")
    counts = sorted({point["answers"] for point in points})
    below.set_xticks(counts, [str(count) for count in counts])
    sizes = ", ".join(str(d) for d in sorted({point["d"] for point in points}))
    finish(figure, f"Answers asked for unequally often, d = {sizes}\n(proved, {{}} a point)", points, 2, (0.01, 0.027))


def drawn_points(points: list[dict]) -> list[dict]:
    """Those of the three kinds of targets."""
    return [point for point in points if point["frequencies"] in _KINDS]


def _draw_formula(panel: Axes, drawn: str, points: list[dict]) -> None:
    """The formula for the targets as drawn, with its error of sampling; dashed for exactly the given frequencies."""
    _, ink, name = _KINDS[drawn]
    kinds = [("predicted", "-", 1.2, 0.2, f"{name}: formula"), ("given", "--", 1, 0.1, "counts just as 1/y: formula")]
    for field, style, width, shade, label in kinds if drawn.startswith("zipf") else kinds[:1]:
        answers, value, error = map(np.array, values_of(points, "answers", field, f"{field}, error"))
        panel.plot(answers, value, style, color=ink, lw=width, zorder=1, label=label)
        panel.fill_between(answers, value - error, value + error, color=ink, alpha=shade, lw=0, zorder=0)


def _draw_proved(above: Axes, below: Axes, drawn: str, points: list[dict]) -> None:
    mark, ink, name = _KINDS[drawn]
    style: dict[str, Any] = {"ms": 4.5, "zorder": 2}
    errorbars(above, points, ("answers", "facts", "error"), ink, (mark, None), label=f"{name}: proved", **style)
    # Side by side where they would lie on each other.
    aside = 0.15 * (list(_KINDS).index(drawn) - 1)
    ratios = [{"x": point["answers"] + aside, "ratio": ratio(point)[0], "error": ratio(point)[1]} for point in points]
    errorbars(below, ratios, ("x", "ratio", "error"), ink, (mark, None), **style)


SKEW = Study(
    "skew",
    "How many facts fit when some answers are asked for more often than others?",
    runs,
    points,
    draw,
    Caption(
        "Facts that fit when some answers are asked for more often",
        "The mean exact capacity of streams of N facts with M shared outputs, each proved, for three kinds of targets: "
        "every block of M facts has each answer once; each fact draws any answer; each fact draws answer y with a "
        "probability proportional to 1/y. Bars are standard errors; below they include those of the sampled formula.",
        "The replica-symmetric formula of theory/skew.py for equal counts (d (M - 1) / D(M)), and its mean over random "
        "counts; dashed for counts exactly as 1/y. Bands are its errors of sampling. It is for many facts an answer.",
    ),
    compare,
    plotted=lambda points: {"points": drawn_points(points)},
)
