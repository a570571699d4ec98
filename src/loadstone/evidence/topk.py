"""How many associations are stored if the target must only beat the mean of its k best rivals."""

from __future__ import annotations

import math

import numpy as np

from loadstone.studies.kit.comparison import Comparison, freedom_of
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.listwise import list_capacity

#: Fewer streams have no standard error worth the name.
_FEWEST = 3
#: Batches of samples for each value of the law.
_BATCHES = 8
_SHARES = ("first", "listed", "first_by_all_rivals", "listed_by_all_rivals")


def stored_by_length(rows: list[Row]) -> list[dict]:
    """For each problem, dimension and k: the mean over streams of the largest p stored, its standard error, the law,
    and at that p the mean shares of targets in the first place and among the first k."""
    reached = [row | {"rivals": row.get("parameters", {}).get("rivals", 1)} for row in rows if row["solver"] == "reach"]
    points = []
    for (problem, d, k), group in grouped(reached, "problem", "d", "rivals"):
        stored = [(row["stored"] + row["not_stored"]) / 2 for row in group]
        spread, law = deviation(stored) / math.sqrt(len(group)), list_capacity(d, k, _BATCHES)
        # A threshold that is uniform within its bracket has a deviation of the width / sqrt(12).
        widths = [row["not_stored"] - row["stored"] for row in group]
        resolution = math.sqrt(sum(width**2 for width in widths) / 12) / len(group)
        point = {"problem": problem, "d": d, "rivals": k, "streams": len(group), "stored": float(np.mean(stored))}
        point |= {"spread": spread, "predicted": law.value, "error": math.hypot(spread, resolution, law.error)}
        known = {name: [row[name] for row in group if name in row] for name in _SHARES}
        points.append(point | {name: float(np.mean(values)) for name, values in known.items() if values})
    return points


def compare_topk(rows: list[Row]) -> list[Comparison]:
    """The largest p stored for each length of the list, beside the law for decoupled streams."""
    found = []
    for point in stored_by_length(rows):
        if point["streams"] < _FEWEST:
            continue
        problem, d, k = point["problem"], point["d"], point["rivals"]
        rivals = "all rivals" if k == 1 else f"the mean of the {k} best rivals"
        what = f"associations stored against {rivals}, {problem}, d = {d}"
        note = "the original problem can store a little more at small d" if problem == "original" else ""
        freedom = freedom_of(point["streams"], point["error"], point["spread"])
        family = f"associations stored against the mean of the best rivals, {problem}"
        # All k of one dimension are tried on the same streams.
        found.append(
            Comparison(what, point["predicted"], point["stored"], point["error"], freedom, note, family, f"d = {d}")
        )
    return found
