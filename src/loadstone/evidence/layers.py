"""How many associations two layers store, beside linear memories of as many parameters, and of the same width."""

from __future__ import annotations

import math
import re

import numpy as np

from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations, facts_that_fit

_TWO_LAYERS = re.compile(r"(\w+):width=(\d+)")


def stored_by_layers(rows: list[Row]) -> list[dict]:
    """For each dimension, activation and width: the mean over streams of the largest p stored, its standard error, how
    many parameters there are, and what both laws say."""
    reached = [
        row | {"activation": found[1], "width": int(found[2])}
        for row in rows
        if row["solver"] == "reach" and (found := _TWO_LAYERS.fullmatch(row.get("family", "full")))
    ]
    points = []
    for (d, activation, width), group in grouped(reached, "d", "activation", "width"):
        stored = [row["stored"] for row in group]
        points.append(
            {"d": d, "activation": activation, "width": width, "parameters": parameters(d, width)}
            | {"streams": len(stored), "stored": float(np.mean(stored))}
            | {"error": deviation(stored) / math.sqrt(len(stored))}
            | {"as_many_parameters": as_many_parameters(d, width), "as_wide": as_wide(d, width)}
        )
    return points


def parameters(d: int, width: int) -> int:
    """Entries of K and V."""
    return 2 * d * width


def as_many_parameters(d: int, width: int) -> float:
    """N D(N) = 2 d h: what a linear memory could hold that had so many free entries. If h > d/2 there is none in
    dimension d, because W has only d^2."""
    return facts_that_fit(lambda facts: float(parameters(d, width)))


def as_wide(d: int, width: int) -> float:
    """What a linear memory V K of the same width holds: that of rank min(h, d), by the replica value."""
    return float(capacity_associations(d, min(1.0, width / d)))
