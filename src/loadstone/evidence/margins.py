"""Largest margins, each proved, beside their predictions; and recall from noisy inputs, measured and predicted."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from loadstone.estimate import Estimate
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.alone import winning_queries
from loadstone.theory.codimension import codimension
from loadstone.theory.finite_margin import LENGTHS, finite_largest_margin
from loadstone.theory.margin import largest_margin

SHARED_OUTPUTS = "the prediction is for decoupled outputs"
#: Samples of the prediction at finite d, which is then known as well as the mean of 20 to 50 streams.
_SAMPLES = 400


def largest_margins(rows: list[Row]) -> list[dict]:
    """For each law, problem, dimension and number of associations: the mean largest margin of the streams and its
    standard error, the widest gap of a proof, the limit of large d, and the prediction at this d (None: not known).

    `load` is N D(N) / d^2, which is 1 at capacity. `without`: streams that are not storable or not decided.
    """
    points = []
    for (law, problem, d, p), group in grouped(_of_margins(rows), "law", "problem", "d", "p"):
        found = [row for row in group if "margin" in row]
        if not found:
            continue
        margins, predicted = [row["margin"] for row in found], predicted_margin(law, d, p)
        points.append(
            {"law": law, "problem": problem, "d": d, "p": p, "load": load_of(p, d)}
            | {"streams": len(found), "without": len(group) - len(found)}
            | {"margin": float(np.mean(margins)), "error": deviation(margins) / math.sqrt(len(found))}
            | {"gap": max(row["gap"] for row in found), "limit": largest_margin(d * d, p)}
            | {"predicted": predicted and predicted.value, "predicted_error": predicted and predicted.error}
        )
    return points


def noisy_recalls(rows: list[Row]) -> list[dict]:
    """For each law, problem, dimension and number of associations: the mean share recalled at each noise, its standard
    error over the streams, what was predicted, and the standard error of the difference."""
    points = []
    for (law, problem, d, p), group in grouped(_of_margins(rows), "law", "problem", "d", "p"):
        found = [row for row in group if "margin" in row]
        if not found:
            continue
        recalled, predicted = (np.array([row[name] for row in found]) for name in ("recalled", "recalled_predicted"))
        root = math.sqrt(len(found))
        points.append(
            {"law": law, "problem": problem, "d": d, "p": p, "load": load_of(p, d), "streams": len(found)}
            | {"noises": list(found[0]["noises"]), "recalled": recalled.mean(axis=0).tolist()}
            | {"error": [deviation(column) / root for column in recalled.T]}
            | {"predicted": predicted.mean(axis=0).tolist()}
            | {"difference_error": [deviation(column) / root for column in (recalled - predicted).T]}
        )
    return points


def load_of(p: int, d: int) -> float:
    """N D(N) / d^2."""
    return p * codimension(p) / d**2


@cache
def predicted_margin(law: str, d: int, p: int) -> Estimate | None:
    """The prediction at finite d, known for Gaussian vectors and vectors of equal length, and where d is so large that
    no sample has an output between the others."""
    if law not in LENGTHS or _SAMPLES * winning_queries(p, d).impossible > 0.1:
        return None
    return finite_largest_margin(d, p, inputs=law, outputs=law, samples=_SAMPLES)


def compare_margins(rows: list[Row]) -> list[Comparison]:
    """Largest margins beside their prediction at this d, and recall at the noise where half is predicted to be lost."""
    return _margin_comparisons(rows) + _recall_comparisons(rows)


def _margin_comparisons(rows: list[Row]) -> list[Comparison]:
    comparisons = []
    for point in largest_margins(rows):
        if point["streams"] < FEWEST or point["predicted"] is None:
            continue
        notes = [SHARED_OUTPUTS] if point["problem"] == "original" else []
        if point["without"]:
            notes.append(f"{point['without']} streams are not storable or undecided, and left out")
        error = math.hypot(point["error"], point["predicted_error"])
        what = f"mean of the largest margin, {_words(point)}"
        freedom = point["streams"] - 1
        family, streams, note = _family("mean of the largest margin", point), f"d = {point['d']}", "; ".join(notes)
        comparisons.append(
            Comparison(what, point["predicted"], point["margin"], error, freedom, note, family, streams),
        )
    return comparisons


def _recall_comparisons(rows: list[Row]) -> list[Comparison]:
    comparisons = []
    for point in noisy_recalls(rows):
        place = int(np.argmin(np.abs(np.array(point["predicted"]) - 0.5)))
        if point["streams"] < FEWEST or point["difference_error"][place] == 0:
            continue
        what = f"share recalled from inputs with noise {point['noises'][place]:g}, {_words(point)}"
        note = "the prediction takes rivals one after the other, which is an approximation"
        predicted, recalled = point["predicted"][place], point["recalled"][place]
        error, freedom = point["difference_error"][place], point["streams"] - 1
        family, streams = _family("share recalled from noisy inputs", point), f"d = {point['d']}"
        comparisons.append(Comparison(what, predicted, recalled, error, freedom, note, family, streams))
    return comparisons


def _family(of: str, point: dict) -> str:
    return f"{of}, {point['problem']}, {point['law']} vectors"


def _words(point: dict) -> str:
    size = f"d = {point['d']}, p = {point['p']} ({point['streams']} streams)"
    return f"{point['problem']}, {point['law']} vectors, {size}"


def _of_margins(rows: list[Row]) -> list[Row]:
    """Only where each input has an output of its own: other numbers of answers have no prediction at finite d here."""
    return [row for row in rows if row["solver"] == "margin" and row.get("answers") is None]
