"""Overlap and volume of the memories that store a stream, sampled, beside the finite-p functional and its limit."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from loadstone.studies.kit.bounds import trend
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.answers import memories_seen
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.entropy import facts_free_entropy, free_entropy, overlap
from loadstone.theory.load import load

#: Batches of samples of the prediction, which is then known to about a per cent; more would take minutes to draw one
#: figure. What is left of their scatter is part of the error of every comparison.
_SAMPLES, _BATCHES = 200, 5
SHARED_OUTPUTS = "the prediction is for decoupled outputs"
NOTE = "the prediction is for large d at this p"


def solution_spaces(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and number of associations: means over the streams of overlap and free entropy, their
    standard errors, and what is predicted at this p and in the limit of large p.

    `without`: streams that were not storable, undecided or not mixed. `unknown`: of the others, those whose volume was
    too small to be seen. They are not like the rest, so a mean free entropy is given only if there are neither.
    """
    points = []
    for (problem, d, p), group in grouped(_of_space(rows), "problem", "d", "p"):
        found = [row for row in group if "overlap" in row]
        if not found:
            continue
        room, alpha = room_of(problem, d, p), float(load(p, d))
        finite = predicted(p, room)
        point = {"problem": problem, "d": d, "p": p, "load": alpha, "streams": len(found)}
        point |= {"without": len(group) - len(found)} | _means("overlap", [row["overlap"] for row in found])
        # The overlap counts all of W; the prediction that part of it that the outputs show.
        point |= {"overlap_predicted": finite.q * room / d**2, "overlap_predicted_error": finite.q_error * room / d**2}
        point["overlap_limit"] = float(overlap(alpha))
        asked = [row for row in found if row.get("parameters", {}).get("volume", True)]
        volumes = [row["log_volume"] / room for row in asked if "log_volume" in row]
        point["unknown"] = len(asked) - len(volumes)
        whole = volumes and not point["without"] and not point["unknown"]
        limit = float(free_entropy(alpha))
        point |= _means("free_entropy", volumes) if whole else {"free_entropy": None, "free_entropy_error": None}
        point |= {"free_entropy_predicted": finite.phi, "free_entropy_predicted_error": finite.phi_error}
        points.append(point | {"free_entropy_limit": limit if math.isfinite(limit) else None, "volumes": len(volumes)})
    return points


class Predicted(NamedTuple):
    """What the functional says, for each dimension that the outputs show, with standard errors."""

    phi: float
    phi_error: float
    q: float
    q_error: float


@cache
def predicted(p: int, room: float) -> Predicted:
    """The finite-p functional, minimised for each batch of samples."""
    found = [facts_free_entropy(p, p, room, _SAMPLES, seed) for seed in range(_BATCHES)]
    phi, q = ([float(getattr(one, name)) for one in found] for name in ("phi", "q"))
    root = math.sqrt(_BATCHES)
    return Predicted(float(np.mean(phi)), deviation(phi) / root, float(np.mean(q)), deviation(q) / root)


def room_of(problem: str, d: int, p: int) -> float:
    """How many dimensions of W the outputs show."""
    return float(memories_seen("full", d, p, problem == "decoupled").delta)


def compare_space(rows: list[Row]) -> list[Comparison]:
    """Mean overlap and mean free entropy beside the finite-p functional, where no stream had to be left out: those that
    can be sampled are easier to store than others. And whether both scatter less over streams as d grows."""
    comparisons: list[Comparison] = []
    points = solution_spaces(rows)
    for point in points:
        notes = [NOTE] + ([SHARED_OUTPUTS] if point["problem"] == "original" else [])
        size = f"{point['problem']}, d = {point['d']}, p = {point['p']}"
        asked = (("overlap", "overlap of two solutions", "streams"), ("free_entropy", "free entropy", "volumes"))
        for name, words, streams in asked:
            if point["without"] or point[name] is None or point[streams] < FEWEST or point[f"{name}_error"] == 0:
                continue
            both = math.hypot(point[f"{name}_error"], point[f"{name}_predicted_error"])
            what = f"{words}, {size} ({point[streams]} streams)"
            kind, streams_of = f"{words}, {point['problem']}", f"d = {point['d']}"
            comparisons.append(
                Comparison(what, point[f"{name}_predicted"], point[name], both, point[streams] - 1, "; ".join(notes),
                           kind, streams_of)
            )  # fmt: skip
    return comparisons + _concentrations(points)


def _concentrations(points: list[dict]) -> list[Comparison]:
    """The exponent of d in the deviation over streams of free entropy and overlap, at each share of the capacity."""
    # Whole associations cannot be exactly the same share at every d: they are rounded to twentieths.
    twentieths = [round(20 * point["p"] / float(capacity_associations(point["d"]))) for point in points]
    labelled = [point | {"share": share / 20} for point, share in zip(points, twentieths)]
    found = []
    for (problem, share), group in grouped(labelled, "problem", "share"):
        for name, words, streams in (("free_entropy", "free entropy", "volumes"), ("overlap", "overlap", "streams")):
            chosen = [one for one in group if not one["without"] and one[name] is not None and one[streams] >= FEWEST]
            scatter = [one[f"{name}_error"] * math.sqrt(one[streams]) for one in chosen]
            errors = [value / math.sqrt(2 * (one[streams] - 1)) for value, one in zip(scatter, chosen)]
            what = f"exponent of d in the scatter of the {words} over streams, {problem}, {share:g} of the capacity"
            if all(scatter):
                freedom = sum(one[streams] - 1 for one in chosen)
                found.append(trend(what, [one["d"] for one in chosen], scatter, errors, freedom=freedom))
    return [one for one in found if one is not None]


def _means(name: str, values: list[float]) -> dict[str, float]:
    return {name: float(np.mean(values)), f"{name}_error": deviation(values) / math.sqrt(len(values))}


def _of_space(rows: list[Row]) -> list[Row]:
    """Only full memories where each input has an output of its own."""
    return [
        row for row in rows
        if row["solver"] == "space" and row.get("answers") is None and row.get("family", "full") == "full"
    ]  # fmt: skip
