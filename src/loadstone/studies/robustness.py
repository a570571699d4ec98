"""What do three memories that represent all solutions still recall if their entries are rounded or their inputs noisy?

Either acts as noise on the queries of the functional (theory/solution_scores.py), which predicts what is left.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from loadstone.estimate import Estimate, mean_of
from loadstone.studies import solution_space
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.panels import COLOURS, MARKS, Axes, Figure, mark_keys, subplots
from loadstone.studies.kit.points import errorbars, finish, log_ticks, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.sampled import MEMORIES, nearest_share, sampled
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.margin import predicted_margin
from loadstone.studies.solution_space import notes_on, predicted, room_of
from loadstone.theory.solution_scores import SolutionQueries, recalled_with_noise, rounding_noise, solution_queries

_INKS = dict(zip(MEMORIES, COLOURS))
#: The dimension that is shown if there is one as large.
_SHOWN = 16
#: Bits at which dimensions are compared.
_BITS = 2
#: Samples of the predicted queries; means of their scores are then known to a per cent or two.
SAMPLES = 600
#: Numbers are compared at this share of the capacity, where noise matters.
_COMPARED = 0.5
ROUNDED, NOISY = "rounded", "noisy"
_WORDS = {ROUNDED: "entries rounded", NOISY: "inputs noisy"}
NOTE = "the overlap is that of the functional, for large d"


def points(rows: list[Row]) -> list[dict]:
    """For each problem, dimension, number of associations and memory: the mean share recalled over streams with each
    number of bits and at each noise of the inputs, with standard errors, and what is predicted (None: nothing is)."""
    return [
        _point(problem, d, p, name, values)
        for (problem, d, p), group in grouped(sampled(rows, "memories"), "problem", "d", "p")
        for name in MEMORIES
        if (values := [row["memories"][name] for row in group if name in row["memories"]])
    ]


def _point(problem: str, d: int, p: int, memory: str, values: list[dict]) -> dict:
    room, bits, noises = room_of(problem, d, p), values[0]["bits"], values[0]["noises"]
    point = {"problem": problem, "d": d, "p": p, "share": nearest_share(p, d), "memory": memory, "streams": len(values)}
    point |= {"bits": bits, "noises": noises}
    # Rounding also changes entries that no output shows. There a typical memory is as large as elsewhere, and the other
    # two are zero.
    full = 1.0 if memory == "typical" else room / d**2
    rounding, noise = [full * rounding_noise(count) for count in bits], [size**2 for size in noises]
    for kind, field, variances in ((ROUNDED, "recalled_rounded", rounding), (NOISY, "recalled", noise)):
        shares = np.array([one[field] for one in values])
        expected = [predicted_recall(d, p, room, memory, variance) for variance in variances]
        point |= {
            kind: shares.mean(axis=0).tolist(),
            f"{kind}_error": [mean_of(column).error for column in shares.T],
            f"{kind}_predicted": [one and one.value for one in expected],
            f"{kind}_predicted_error": [one and one.error for one in expected],
        }  # fmt: skip
    return point


@cache
def predicted_queries(d: int, p: int, room: float) -> SolutionQueries:
    """Samples of one association under each memory. Where no largest margin is known, that memory has any."""
    margin = predicted_margin("gaussian", d, p)
    return solution_queries(predicted(p, room).q, d, p, margin.value if margin else 0.1, SAMPLES)


@cache
def predicted_recall(d: int, p: int, room: float, memory: str, variance: float) -> Estimate | None:
    """The share recalled with noise of this variance on every component of the query."""
    if memory == "largest margin" and predicted_margin("gaussian", d, p) is None:
        return None
    outputs, *queries = predicted_queries(d, p, room)
    chances = recalled_with_noise(outputs, dict(zip(MEMORIES, queries))[memory], variance)
    return Estimate(float(chances.mean()), float(chances.std() / math.sqrt(len(chances))))


def compare(points: list[dict]) -> list[Comparison]:
    """At half the capacity, with the bits and at the noise at which about half is predicted to be recalled."""
    comparisons = []
    for point in points:
        if point["share"] != _COMPARED or point["streams"] < FEWEST or None in point[f"{ROUNDED}_predicted"]:
            continue
        notes = notes_on(point["problem"], NOTE)
        for kind, levels in ((ROUNDED, "bits"), (NOISY, "noises")):
            place = int(np.argmin(np.abs(np.array(point[f"{kind}_predicted"]) - 0.5)))
            at = _at(point, kind, place)
            if at["error"] == 0:
                continue
            error = math.hypot(at["error"], at["predicted_error"])
            level = f"bits = {point[levels][place]}" if kind == ROUNDED else f"noise {point[levels][place]:g}"
            family = f"share recalled, {_WORDS[kind]}, by {MEMORIES[point['memory']]}, {point['problem']}"
            where = f"{level}, d = {point['d']}, p = {point['p']}"
            comparisons.append(Comparison.of(family, point, at["predicted"], at["value"], error, notes, where))
    return comparisons


def _at(point: dict, kind: str, place: int) -> dict:
    """The share recalled at one of the levels of a point, and what is predicted, with standard errors."""
    fields = {"value": "", "error": "_error", "predicted": "_predicted", "predicted_error": "_predicted_error"}
    return {"d": point["d"]} | {name: point[f"{kind}{ending}"][place] for name, ending in fields.items()}


def draw(figure: Figure, points: list[dict]) -> None:
    """Left against bits and in the middle against noise, at one size; right two bits, against the dimension."""
    some(points, "no memories were sampled")
    size = min(points, key=lambda one: (abs(one["d"] - _SHOWN), one["problem"], abs(one["share"] - _COMPARED)))
    shown = [point for point in points if all(point[name] == size[name] for name in ("problem", "d", "p"))]
    left, middle, right = subplots(figure, 1, 3, size=(9.6, 4.2))
    for point in shown:
        _curve(left, point, ROUNDED, "bits")
        _curve(middle, point, NOISY, "noises")
    log_ticks(left, size["bits"])
    for panel, words in ((left, "bits of each entry of W"), (middle, "noise of the input / its components")):
        panel.set(xlabel=words, ylabel="share recalled", ylim=(0, 1.03))
        panel.set_title(f"{size['problem']}, d = {size['d']}, {size['share']:g} of capacity")
    _against_dimension(right, [point for point in points if point["share"] == size["share"]], size["share"])
    middle.plot([], [], "--", color="0.3", lw=1.2, label="predicted from noise on the queries")
    finish(figure, "Solutions with rounded entries or noisy inputs ({} a point)", points, 4)


def _curve(panel: Axes, point: dict, kind: str, levels: str) -> None:
    ink = _INKS[point["memory"]]
    panel.errorbar(point[levels], point[kind], point[f"{kind}_error"], fmt="o", color=ink, ms=4, lw=1,
                   label=MEMORIES[point["memory"]])  # fmt: skip
    if None not in point[f"{kind}_predicted"]:
        panel.plot(point[levels], point[f"{kind}_predicted"], "--", color=ink, lw=1.2)


def _against_dimension(panel: Axes, points: list[dict], share: float) -> None:
    for (problem, name), group in grouped(points, "problem", "memory"):
        known = [point for point in group if None not in point[f"{ROUNDED}_predicted"]]
        of_bits = [_at(point, ROUNDED, point["bits"].index(_BITS)) for point in known]
        (predicted,) = values_of(of_bits, "predicted")
        errorbars(panel, of_bits, ("d", "value", "error"), _INKS[name], MARKS[problem], predicted, ls="-", ms=4)
    for line in mark_keys(points, " (right)", ms=4):
        panel.add_line(line)
    panel.axhline(1, color="0.4", lw=1, ls="--")
    panel.set(xlabel="dimension d", ylabel="share recalled / predicted")
    panel.set_title(f"{_BITS} bits, {share:g} of capacity")
    log_ticks(panel, [point["d"] for point in points])


ROBUSTNESS = Study(
    "robustness",
    "What do three memories that stand for all solutions recall with rounded entries or noisy inputs?",
    solution_space.runs,
    points,
    draw,
    Caption(
        "How much rounding and noise three kinds of solutions bear",
        "The share of associations recalled by typical solutions, by their centre and by the memory of largest margin "
        "when the entries of W are rounded (left) and when noise is added to the inputs (middle); right the share with "
        "entries of two bits, divided by what is predicted, against the dimension. Means over streams with standard "
        "errors.",
        "Both act as noise on the query, whose law at this d and p follows from the overlap of two solutions by the "
        "replica-symmetric functional, for each of the three memories. No free parameter.",
    ),
    compare,
)
