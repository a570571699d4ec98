"""How alike are the memories that store everything, and how many are there?

Both are sampled, and compared with the replica-symmetric functional at this number of associations, and with its
limit of large p.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.bounds import trend
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.panels import MARKS, Axes, Figure, colour, key, subplots, trained_keys
from loadstone.studies.kit.points import errorbars, some, streams_in
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.sampled import nearest_share, sampled
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.answers import memories_seen
from loadstone.theory.entropy import facts_free_entropy, free_entropy, overlap
from loadstone.theory.load import load

#: For each scale: streams of each dimension, and shares of the predicted capacity at which they are filled. Free
#: entropies scatter between streams, at d = 16 by eight or nine per cent: 24 streams know the mean to two.
_STREAMS = {"quick": {8: 3}, "paper": {8: 24, 12: 20, 16: 24, 20: 8, 30: 4}}
_SHARES = {"quick": (0.4,), "paper": (0.25, 0.5, 0.75)}
#: The volume takes several times as long as the overlap: up to this dimension it is found at every share, beyond it at
#: those up to a half.
_VOLUME_EVERYWHERE = 20

#: Batches of samples of the prediction, which is then known to about a per cent; more would take minutes to draw one
#: figure. What is left of their scatter is part of the error of every comparison.
SAMPLES, BATCHES = 200, 5
SHARED_OUTPUTS = "the prediction is for decoupled outputs"
NOTE = "the prediction is for large d at this p"


def runs(scale: str, most: float = 1.0) -> list[Spec]:
    """Overlap and volume of the memories that store the first associations of a stream, both problems, at shares of the
    capacity up to `most`."""
    return [
        spec(problem, d, p, seed, solver="space", parameters={"volume": d <= _VOLUME_EVERYWHERE or share <= 0.5})
        for d, streams in _STREAMS[scale].items()
        for share in _SHARES[scale]
        if share <= most
        for p in [share_of_capacity(share, d)]
        for problem in ("original", "decoupled")
        for seed in range(streams)
    ]


class Predicted(NamedTuple):
    """Free entropy and overlap by the functional, for each dimension of W that the outputs show, with standard
    errors."""

    phi: float
    phi_error: float
    q: float
    q_error: float


@cache
def predicted(p: int, room: float) -> Predicted:
    """The functional at p associations, minimised for each batch of samples."""
    minima = [facts_free_entropy(p, p, room, SAMPLES, seed) for seed in range(BATCHES)]
    return Predicted(*mean_of([float(one.phi) for one in minima]), *mean_of([float(one.q) for one in minima]))


def room_of(problem: str, d: int, p: int) -> float:
    """How many dimensions of W the outputs show."""
    return float(memories_seen("full", d, answers=p, decoupled=problem == "decoupled").delta)


def notes_on(problem: str, note: str = NOTE) -> str:
    """Why a prediction for typical solutions may differ from what is measured for this problem."""
    return f"{note}; {SHARED_OUTPUTS}" if problem == "original" else note


def points(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and number of associations: means over the streams of overlap and free entropy, their
    standard errors, and what is predicted at this p and in the limit of large p.

    `without`: streams that were not storable, undecided or not mixed. `unknown`: of the others, those whose volume was
    too small to be seen. They are not like the rest, so a mean free entropy is given only if there are neither.
    """
    return [
        _point(problem, d, p, measured, len(group) - len(measured))
        for (problem, d, p), group in grouped(sampled(rows), "problem", "d", "p")
        if (measured := [row for row in group if "overlap" in row])
    ]


def _point(problem: str, d: int, p: int, rows: list[Row], without: int) -> dict:
    room, alpha = room_of(problem, d, p), float(load(p, d))
    finite, limit = predicted(p, room), float(free_entropy(alpha))
    asked = [row for row in rows if row.get("parameters", {}).get("volume", True)]
    volumes = [row["log_volume"] / room for row in asked if "log_volume" in row]
    unknown = len(asked) - len(volumes)
    whole = volumes and not without and not unknown
    mean_overlap, overlap_error = mean_of([row["overlap"] for row in rows])
    entropy, entropy_error = mean_of(volumes) if whole else (None, None)
    return {
        "problem": problem, "d": d, "p": p, "load": alpha, "streams": len(rows), "without": without,
        "overlap": mean_overlap, "overlap_error": overlap_error,
        # The overlap counts all of W; the prediction that part of it that the outputs show.
        "overlap_predicted": finite.q * room / d**2, "overlap_predicted_error": finite.q_error * room / d**2,
        "overlap_limit": float(overlap(alpha)), "unknown": unknown,
        "free_entropy": entropy, "free_entropy_error": entropy_error,
        "free_entropy_predicted": finite.phi, "free_entropy_predicted_error": finite.phi_error,
        "free_entropy_limit": limit if math.isfinite(limit) else None, "volumes": len(volumes),
    }  # fmt: skip


def compare(points: list[dict]) -> list[Comparison]:
    """Mean overlap and mean free entropy against the functional, where no stream had to be left out: those that can be
    sampled are easier to store than others. And whether both scatter less over streams as d grows."""
    comparisons: list[Comparison] = []
    for point in points:
        asked = (("overlap", "overlap of two solutions", "streams"), ("free_entropy", "free entropy", "volumes"))
        for name, words, streams in asked:
            if point["without"] or point[name] is None or point[streams] < FEWEST or point[f"{name}_error"] == 0:
                continue
            error = math.hypot(point[f"{name}_error"], point[f"{name}_predicted_error"])
            where = f"d = {point['d']}, p = {point['p']} ({point[streams]} streams)"
            numbers = point[f"{name}_predicted"], point[name], error, notes_on(point["problem"]), where
            family = f"{words}, {point['problem']}"
            comparisons.append(Comparison.of(family, point, *numbers, dof=point[streams] - 1))
    return comparisons + _concentrations(points)


def _concentrations(points: list[dict]) -> list[Comparison]:
    """The exponent of d in the deviation over streams of free entropy and overlap, at each share of the capacity."""
    labelled = [point | {"share": nearest_share(point["p"], point["d"])} for point in points]
    trends = []
    for (problem, share), group in grouped(labelled, "problem", "share"):
        for name, words, streams in (("free_entropy", "free entropy", "volumes"), ("overlap", "overlap", "streams")):
            points = [one for one in group if not one["without"] and one[name] is not None and one[streams] >= FEWEST]
            scatter = [one[f"{name}_error"] * math.sqrt(one[streams]) for one in points]
            errors = [value / math.sqrt(2 * (one[streams] - 1)) for value, one in zip(scatter, points)]
            what = f"exponent of d in the scatter of the {words} over streams, {problem}, {share:g} of the capacity"
            if all(scatter):
                dof = sum(one[streams] - 1 for one in points)
                trends.append(trend(what, [one["d"] for one in points], scatter, errors, dof=dof))
    return [one for one in trends if one is not None]


def draw(figure: Figure, points: list[dict]) -> None:
    """Left the overlap of two solutions, right the free entropy."""
    some(points, "no memories were sampled")
    left, right = subplots(figure, 1, 2, size=(8.2, 4.4))
    top = max(point["load"] for point in points)
    below = np.linspace(0.01, min(0.49, top), 60)
    least = min((point["free_entropy"] for point in points if point["free_entropy"] is not None), default=-1)
    for panel, name, law, words, limits in (
        (left, "overlap", overlap, "overlap of two solutions", (0, 1)),
        (right, "free_entropy", free_entropy, "free entropy for each dimension", (1.3 * least, 0)),
    ):
        panel.plot(below, law(below), color="0.6", lw=1.2, zorder=0)
        _panel(panel, points, name)
        panel.set(xlabel=r"load $\alpha = p \log p / d^2$", ylabel=words, ylim=limits)
    figure.suptitle(f"All memories that store everything, sampled ({streams_in(points)} a point)", fontsize=10)
    keys = [key("predicted at this p", color="0.3", ls="--", lw=1.2), key("limit of large p", color="0.6", lw=1.2)]
    figure.legend(handles=trained_keys(points, "") + keys, loc="lower center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0, 0.14, 1, 1))


def _panel(panel: Axes, points: list[dict], name: str) -> None:
    for (d,), of_size in grouped(points, "d"):
        # The original problem has the same prediction once its outputs show all directions.
        decoupled = [point for point in of_size if point["problem"] == "decoupled"]
        if finite := sorted((point["load"], point[f"{name}_predicted"]) for point in decoupled):
            panel.plot(*zip((0.0, 0.0), *finite), "--", color=colour(d), lw=1.2, zorder=1)
        for point in (point for point in of_size if point[name] is not None):
            fields = ("load", name, f"{name}_error")
            errorbars(panel, [point], fields, colour(d), MARKS[point["problem"]], ms=4.5, zorder=2)


SPACE = Study(
    "space",
    "How alike are the memories that store everything, and how many are there?",
    runs,
    points,
    draw,
    Caption(
        "The set of all solutions, measured: how alike two of them are, and how many there are",
        "Left the mean cosine of two memories that store everything, right the logarithm of the share of all Gaussian "
        "memories that do, for each dimension of W. Both are sampled; means over streams, bars are standard errors. "
        "Right there is a point only where the share was large enough to be seen for every stream.",
        "The replica-symmetric functional, minimised at the true number of associations (dashed), and its limit of "
        "large p: overlap 2 alpha and free entropy log(1 - 2 alpha) / 2. No free parameter.",
    ),
    compare,
)
