"""How many facts do memories of few bits an entry store, rounded or trained through the rounding?"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.panels import Figure, colour, key, subplots
from loadstone.studies.kit.points import finish, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.bits import counting_bound, rounded_facts

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {12: 4}, "paper": {12: 8, 20: 4}}
_BITS = (1, 2, 3, 4, 5, 6, 7, 8)
#: Up to this dimension the centre is sampled, which takes a minute for each stream; and it is trained at some bits.
_CENTRE = {"quick": 0, "paper": 12}
_TRAINED_BITS: dict[str, Sequence[int]] = {"quick": (2,), "paper": _BITS}
_TRAINED_STREAMS = {"quick": 1, "paper": 4}
#: Adam passes the rounding best; it takes longer than without.
_TRAINING = {"optimiser": "adam:0.1", "passes": 2000, "width": 0.02}

_ROUNDED = re.compile(r"rounded:bits=(\d+)")
TRAINED = "trained through the rounding"
#: Mark and words of each way to few bits.
_MARKS = {
    "largest margin": ("o", "largest margin, rounded"), "centre": ("s", "centre of all solutions, rounded"),
    TRAINED: ("^", TRAINED),
}  # fmt: skip
_NOTE = "the prediction takes the changes of entries as independent noise and the margin of large d"


def runs(scale: str) -> list[Spec]:
    """The largest p stored with b bits an entry: the memory of largest margin rounded, the centre rounded, training."""
    specs = []
    for d, streams in _STREAMS[scale].items():
        p = share_of_capacity(1.1, d)  # beyond what can be stored at all
        ways = ("largest margin", "centre") if d <= _CENTRE[scale] else ("largest margin",)
        specs += [
            spec("original", d, p, seed, solver="bits", parameters={"bits": count, "way": way})
            for way in ways for count in _BITS for seed in range(streams)
        ]  # fmt: skip
        specs += [
            spec("original", d, guess, seed, solver="reach", family=f"rounded:{count}", parameters=_TRAINING)
            for count in _TRAINED_BITS[scale] for guess in [share_of_capacity(min(0.9, 0.3 + 0.15 * count), d)]
            for seed in range(min(streams, _TRAINED_STREAMS[scale]))
        ]  # fmt: skip
    return specs


def points(rows: list[Row]) -> list[dict]:
    """For each dimension, way and number of bits: the mean over streams of the largest p stored, its standard error,
    facts a parameter, bits of facts for each bit of the memory, the most that counting allows, and what noise of the
    size of the rounding leaves of the memory of largest margin."""
    points = []
    for (d, way, bits), group in grouped(_labelled(rows), "d", "way", "bits"):
        facts, error = mean_of([row["stored"] for row in group])
        bound, noise = counting_bound(d, bits), rounded_facts(d, bits)
        points.append({
            "d": d, "way": way, "bits": bits, "streams": len(group), "stored": facts, "error": error,
            "facts_per_parameter": facts / d**2, "facts_error": error / d**2,
            "bits_per_bit": facts * math.log2(facts) / (bits * d**2), "bound": bound, "noise": noise,
            "bound_per_parameter": bound / d**2, "noise_per_parameter": noise / d**2,
        })  # fmt: skip
    return points


def _labelled(rows: list[Row]) -> list[Row]:
    """Rows of all three ways, with their way and bits."""
    labelled = []
    for row in rows:
        trained = _ROUNDED.fullmatch(str(row.get("family", "")))
        if row["solver"] == "bits":
            given = row.get("parameters", {})
            labelled.append(row | {"way": given.get("way", "largest margin"), "bits": given.get("bits", 8)})
        elif row["solver"] == "reach" and trained and "stored" in row:
            labelled.append(row | {"way": TRAINED, "bits": int(trained[1])})
    return labelled


def compare(points: list[dict]) -> list[Comparison]:
    """The memory of largest margin, rounded, compared with the prediction from noise."""
    family = "facts stored by the rounded memory of largest margin"
    return [
        Comparison.of(
            family, point, point["noise"], point["stored"], point["error"], _NOTE,
            f"d = {point['d']}, {point['bits']} bits ({point['streams']} streams)",
        )
        for point in points
        if point["way"] == "largest margin" and point["streams"] >= FEWEST and point["error"] > 0
    ]  # fmt: skip


def draw(figure: Figure, points: list[dict]) -> None:
    """Left facts a parameter against bits, right bits of facts for each bit of the memory."""
    some(points, "no memory of few bits was tried")
    left, right = subplots(figure, 1, 2, size=(8.2, 4.4))
    for d in sorted({point["d"] for point in points}):
        bits = np.array(_BITS)
        for law, style in ((counting_bound, ":"), (rounded_facts, "--")):
            facts = np.array([law(d, b) for b in _BITS])
            left.plot(bits, facts / d**2, style, color=colour(d), lw=1.2, zorder=0)
            right.plot(bits, facts * np.log2(facts) / (bits * d**2), style, color=colour(d), lw=1.2, zorder=0)
        for way in _MARKS:
            here = [point for point in points if point["d"] == d and point["way"] == way]
            x, y, error, y_right = values_of(here, "bits", "facts_per_parameter", "facts_error", "bits_per_bit")
            left.errorbar(x, y, error, **_mark(way, colour(d)), lw=1)
            right.plot(x, y_right, **_mark(way, colour(d)))
    most = max(point["facts_per_parameter"] for point in points)
    left.set(xlabel="bits of each entry of W", ylabel="facts stored a parameter", ylim=(0, 1.6 * most))
    right.set(xlabel="bits of each entry of W", ylabel="bits of facts for each bit of W", ylim=(0, 1.05))
    tried = {point["way"] for point in points}
    keys = [key(f"d = {d}", color=colour(d), lw=3) for d in sorted({point["d"] for point in points})]
    keys += [key(words, **_mark(way, "0.3")) for way, (_, words) in _MARKS.items() if way in tried]
    keys += [key("predicted from noise", color="0.3", ls="--", lw=1.2)]
    keys += [key("most by counting", color="0.3", ls=":", lw=1.2)]
    finish(figure, "Memories of few bits ({} a point)", points, 4, (0.14, 0), keys)


def _mark(way: str, ink: str) -> dict[str, Any]:
    """How the points of one way look in this colour."""
    face = ink if way == "largest margin" else "white"
    return {"marker": _MARKS[way][0], "color": ink, "mfc": face, "ls": "", "ms": 4.5}


BITS = Study(
    "bits",
    "How many facts do memories of few bits an entry store?",
    runs,
    points,
    draw,
    Caption(
        "What memories of few bits an entry hold",
        "The largest number of facts that were stored without an error when each entry of W has one of 2^b values, for "
        "each parameter (left) and as bits of facts for each bit of W (right): the memory of largest margin, rounded; "
        "the centre of all solutions, rounded; and training through the rounding. Means over streams.",
        "Counting allows p log2 p = b d^2 facts. Rounding acts as noise on the margins, from which follows what the "
        "memory of largest margin still stores. No free parameter.",
    ),
    compare,
)
