"""Memories with few entries: at random places, at places chosen by pruning, and the bound for the best places."""

from __future__ import annotations

import math
import re

import numpy as np

from loadstone.studies.kit.proved_facts import expected_capacity
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.answers import facts_capacity

_PRUNING = re.compile(r"pruning:density=([\d.e-]+),rounds=(\d+)")
_MASKED = re.compile(r"masked:density=([\d.e-]+)")


def stored_by_pruning(rows: list[Row]) -> list[dict]:
    """For each dimension, density and number of rounds: the mean over streams of the largest p stored, its standard
    error, and the bound for the best places.

    `of_stream` holds the number of each stream. Where the capacity of a random mask of as many entries is proved for
    all these streams, `gains` holds stored - proved of each.
    """
    proved = {
        (row["d"], float(found[1]), row["seed"]): row["p_c"]
        for row in rows
        if (found := _random_mask(row)) and row["p_c"] is not None
    }
    pruned = [
        row | {"density": float(found[1]), "rounds": int(found[2])}
        for row in rows
        if row["solver"] == "reach" and (found := _PRUNING.fullmatch(row.get("parameters", {}).get("optimiser", "")))
    ]
    points = []
    for (d, density, rounds), group in grouped(pruned, "d", "density", "rounds"):
        of_stream = {row["seed"]: row["stored"] for row in group}
        point = {"d": d, "density": density, "rounds": rounds, "of_stream": of_stream}
        point |= _mean(list(of_stream.values())) | {"bound": facts_capacity(f"pruned:{density}", d)}
        limits = [proved.get((d, density, seed)) for seed in of_stream]
        if None not in limits:
            point["gains"] = [stored - limit for stored, limit in zip(of_stream.values(), limits)]
        points.append(point)
    return points


def proved_random_masks(rows: list[Row]) -> list[dict]:
    """For each dimension and density: the mean proved capacity of random masks, its standard error, and the law."""
    proved = [
        row | {"density": float(found[1])} for row in rows if (found := _random_mask(row)) and row["p_c"] is not None
    ]
    return [
        {"d": d, "density": density, "predicted": expected_capacity(f"masked:{density}", d, None, False)}
        | _mean([row["p_c"] for row in group])
        for (d, density), group in grouped(proved, "d", "density")
    ]


def _random_mask(row: Row) -> re.Match | None:
    return _MASKED.fullmatch(row.get("family", "full")) if row["solver"] == "capacity" else None


def _mean(numbers: list[int]) -> dict[str, float]:
    error = deviation(numbers) / math.sqrt(len(numbers))
    return {"stored": float(np.mean(numbers)), "error": error, "streams": len(numbers)}
