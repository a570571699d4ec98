"""How many associations memories of each rank store: everything tried, each help alone, and what is proved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.studies.kit.thresholds import compare_reach, reached_thresholds
from loadstone.theory.capacity import capacity_associations

EVERYTHING, ONE_START = "everything tried", "one start"


def help_of(parameters: Mapping[str, object]) -> str:
    """What was tried besides the first start of each p, in words."""
    if len(parameters) > 1:
        return EVERYTHING
    words = {"grown": "grown", "truncated": "truncated", "alternating": "alternating"}
    for name, value in parameters.items():
        return words.get(name, f"{value} {name}")
    return ONE_START


def stored_by_rank(rows: list[Row]) -> list[dict]:
    """For each problem, dimension, rank and help: the mean over streams of the largest p stored, its standard error,
    and the replica value at m/d, never at a rank fraction that was rounded to it.

    `of_stream` holds the number of each stream. Where capacities are proved for all these streams, `proved` is their
    mean, and `differences` holds stored - proved of each stream: at most zero at every rank, and zero at full rank if
    the search is perfect.
    """
    known = [row for row in rows if row["solver"] == "capacity" and row["p_c"] is not None]
    proved = {(row["problem"], row["d"], row["seed"]): row["p_c"] for row in known}
    reached = [row | {"help": help_of(row.get("parameters", {}))} for row in rows if row["solver"] == "reach"]
    points = []
    for (problem, d, rank, tried), group in grouped(reached, "problem", "d", "rank", "help"):
        of_stream = {row["seed"]: row["stored"] for row in group}
        stored = list(of_stream.values())
        point = {"problem": problem, "d": d, "rank": rank, "help": tried, "streams": len(stored)}
        point |= {"of_stream": of_stream, "stored": float(np.mean(stored))}
        point["error"] = deviation(stored) / math.sqrt(len(stored))
        point["predicted"] = float(capacity_associations(d, rank / d))
        limits = [proved[key] for row in group if (key := (problem, d, row["seed"])) in proved]
        if len(limits) == len(group):
            point["proved"] = float(np.mean(limits))
            point["differences"] = [found - limit for found, limit in zip(stored, limits)]
        points.append(point)
    return points


def compare_ranks(rows: list[Row]) -> list[Comparison]:
    """The largest p stored with everything tried, beside the replica value."""
    chosen = [row for row in rows if row["solver"] == "reach" and help_of(row.get("parameters", {})) == EVERYTHING]
    said, ours = "associations that L-BFGS stores", "associations stored with everything tried"
    return [
        replace(one, what=one.what.replace(said, ours), family=one.family.replace(said, ours))
        for one in compare_reach(reached_thresholds(chosen))
    ]
