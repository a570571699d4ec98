"""What memories of few bits store, rounded or trained through the rounding, beside a bound and a prediction."""

from __future__ import annotations

import math
import re

import numpy as np

from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.bits import counting_bound, rounded_facts

_FAMILY = re.compile(r"rounded:bits=(\d+)")
TRAINED = "trained through the rounding"
NOTE = "the prediction takes the changes of entries as independent noise and the margin of large d"


def stored_in_bits(rows: list[Row]) -> list[dict]:
    """For each dimension, way and number of bits: the mean over streams of the largest p stored, its standard error,
    facts a parameter, bits of facts for each bit of the memory, the most that counting allows, and what noise of the
    size of the rounding leaves of the memory of largest margin."""
    points = []
    for (d, way, bits), group in grouped(_labelled(rows), "d", "way", "bits"):
        stored = np.array([row["stored"] for row in group], float)
        facts, bound, noise = float(stored.mean()), counting_bound(d, bits), rounded_facts(d, bits)
        error = deviation(stored) / math.sqrt(len(stored))
        points.append(
            {"d": d, "way": way, "bits": bits, "streams": len(group), "stored": facts, "error": error}
            | {"facts_per_parameter": facts / d**2, "facts_error": error / d**2}
            | {"bits_per_bit": facts * math.log2(facts) / (bits * d**2), "bound": bound, "noise": noise}
            | {"bound_per_parameter": bound / d**2, "noise_per_parameter": noise / d**2}
        )
    return points


def compare_bits(rows: list[Row]) -> list[Comparison]:
    """The memory of largest margin, rounded, beside the prediction from noise."""
    return [
        Comparison(
            f"facts stored by the rounded memory of largest margin, d = {point['d']}, {point['bits']} bits "
            f"({point['streams']} streams)",
            point["noise"], point["stored"], point["error"], point["streams"] - 1, NOTE,
            "facts stored by the rounded memory of largest margin", f"d = {point['d']}",
        )
        for point in stored_in_bits(rows)
        if point["way"] == "largest margin" and point["streams"] >= FEWEST and point["error"] > 0
    ]  # fmt: skip


def _labelled(rows: list[Row]) -> list[Row]:
    """Rows of all three ways, with their way and bits."""
    found = []
    for row in rows:
        trained = _FAMILY.fullmatch(str(row.get("family", "")))
        if row["solver"] == "bits":
            given = row.get("parameters", {})
            found.append(row | {"way": given.get("way", "largest margin"), "bits": given.get("bits", 8)})
        elif row["solver"] == "reach" and trained and "stored" in row:
            found.append(row | {"way": TRAINED, "bits": int(trained[1])})
    return found
