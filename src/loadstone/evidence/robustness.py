"""What three memories that stand for all solutions still recall if their entries are rounded or their inputs noisy,
beside the noise that this is on the queries of the functional (theory/solution_scores.py)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from loadstone.estimate import Estimate
from loadstone.evidence.margins import predicted_margin
from loadstone.evidence.space import SHARED_OUTPUTS, predicted, room_of
from loadstone.evidence.typical import MEMORIES
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.solution_scores import SolutionQueries, recalled_with_noise, rounding_noise, solution_queries

#: Samples of the predicted queries; means of their scores are then known to a per cent or two.
_SAMPLES = 600
#: Shares of the capacity are told in these steps; compared are numbers at one of them, where noise matters.
_STEPS, COMPARED = 20, 0.5
ROUNDED, NOISY = "rounded", "noisy"
_WORDS = {ROUNDED: "entries rounded", NOISY: "inputs noisy"}
NOTE = "the overlap is that of the functional, for large d"


def robustness_points(rows: list[Row]) -> list[dict]:
    """For each problem, dimension, number of associations and memory: the mean share recalled over streams with each
    number of bits and at each noise of the inputs, with standard errors, and what is predicted (None: nothing is)."""
    points = []
    for (problem, d, p), group in grouped([row for row in rows if _has_memories(row)], "problem", "d", "p"):
        room = room_of(problem, d, p)
        share = round(_STEPS * p / float(capacity_associations(d))) / _STEPS
        for name in MEMORIES:
            seen = [row["memories"][name] for row in group if name in row["memories"]]
            if not seen:
                continue
            point = {"problem": problem, "d": d, "p": p, "share": share, "memory": name, "streams": len(seen)}
            point |= {"bits": seen[0]["bits"], "noises": seen[0]["noises"]}
            # Rounding also changes entries that no output shows. There a typical memory is as large as elsewhere, and
            # the other two are zero.
            full = 1.0 if name == "typical" else room / d**2
            variances = {ROUNDED: [full * rounding_noise(bits) for bits in seen[0]["bits"]],
                         NOISY: [noise**2 for noise in seen[0]["noises"]]}  # fmt: skip
            for kind, field in ((ROUNDED, "recalled_rounded"), (NOISY, "recalled")):
                found = np.array([one[field] for one in seen])
                point[kind] = found.mean(axis=0).tolist()
                point[f"{kind}_error"] = [deviation(column) / math.sqrt(len(seen)) for column in found.T]
                expected = [predicted_recall(d, p, room, name, one) for one in variances[kind]]
                point[f"{kind}_predicted"] = [one and one.value for one in expected]
                point[f"{kind}_predicted_error"] = [one and one.error for one in expected]
            points.append(point)
    return points


@cache
def predicted_queries(d: int, p: int, room: float) -> SolutionQueries:
    """Samples of one association under each memory. Where no largest margin is known, that memory has any."""
    margin = predicted_margin("gaussian", d, p)
    return solution_queries(predicted(p, room).q, d, p, margin.value if margin else 0.1, _SAMPLES)


@cache
def predicted_recall(d: int, p: int, room: float, memory: str, variance: float) -> Estimate | None:
    """The share recalled with noise of this variance on every component of the query."""
    if memory == "largest margin" and predicted_margin("gaussian", d, p) is None:
        return None
    outputs, *queries = predicted_queries(d, p, room)
    chances = recalled_with_noise(outputs, dict(zip(MEMORIES, queries))[memory], variance)
    return Estimate(float(chances.mean()), float(chances.std() / math.sqrt(len(chances))))


def compare_robustness(rows: list[Row]) -> list[Comparison]:
    """At half the capacity, with the bits and at the noise at which about half is predicted to be recalled."""
    comparisons = []
    for point in robustness_points(rows):
        if point["share"] != COMPARED or point["streams"] < FEWEST or None in point[f"{ROUNDED}_predicted"]:
            continue
        notes = "; ".join([NOTE] + ([SHARED_OUTPUTS] if point["problem"] == "original" else []))
        for kind, levels in ((ROUNDED, "bits"), (NOISY, "noises")):
            place = int(np.argmin(np.abs(np.array(point[f"{kind}_predicted"]) - 0.5)))
            if point[f"{kind}_error"][place] == 0:
                continue
            error = math.hypot(point[f"{kind}_error"][place], point[f"{kind}_predicted_error"][place])
            memory, size, level = MEMORIES[point["memory"]], f"d = {point['d']}, p = {point['p']}", point[levels][place]
            words = f"bits = {level}" if kind == ROUNDED else f"noise {level:g}"
            family = f"share recalled, {_WORDS[kind]}, by {memory}, {point['problem']}"
            comparisons.append(
                Comparison(f"{family}, {words}, {size}", point[f"{kind}_predicted"][place], point[kind][place], error,
                           point["streams"] - 1, notes, family, f"d = {point['d']}")
            )  # fmt: skip
    return comparisons


def _has_memories(row: Row) -> bool:
    """Sampled full memories where each input has an output of its own."""
    plain = row.get("family", "full") == "full" and row.get("answers") is None
    return row["solver"] == "space" and plain and "memories" in row
