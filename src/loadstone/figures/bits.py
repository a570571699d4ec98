"""How many facts memories of few bits an entry store."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from loadstone.evidence.bits import TRAINED, compare_bits, stored_in_bits
from loadstone.studies.kit.panels import STYLE, NothingToDrawError, colour, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.bits import counting_bound, rounded_facts

#: Mark of each way.
_MARKS = {"largest margin": "o", "centre": "s", TRAINED: "^"}


def draw_bits(rows: list[Row], stem: Path) -> list[Path]:
    """Left facts a parameter against bits, right bits of facts for each bit of the memory."""
    points = stored_in_bits(rows)
    if not points:
        raise NothingToDrawError("no memory of few bits was tried")
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.4))
        for d in sorted({point["d"] for point in points}):
            bits = np.arange(1, 9)
            bound = np.array([counting_bound(d, int(b)) for b in bits])
            noise = np.array([rounded_facts(d, int(b)) for b in bits])
            for facts, style in ((bound, ":"), (noise, "--")):
                left.plot(bits, facts / d**2, style, color=colour(d), lw=1.2, zorder=0)
                right.plot(bits, facts * np.log2(facts) / (bits * d**2), style, color=colour(d), lw=1.2, zorder=0)
            for way, mark in _MARKS.items():
                here = [point for point in points if point["d"] == d and point["way"] == way]
                x = [point["bits"] for point in here]
                y, error = ([point[name] for point in here] for name in ("facts_per_parameter", "facts_error"))
                face = colour(d) if way == "largest margin" else "white"
                left.errorbar(x, y, error, fmt=mark, color=colour(d), mfc=face, ms=4.5, lw=1)
                right.plot(x, [point["bits_per_bit"] for point in here], mark, color=colour(d), mfc=face, ms=4.5)
        most = max(point["facts_per_parameter"] for point in points)
        left.set(xlabel="bits of each entry of W", ylabel="facts stored a parameter", ylim=(0, 1.6 * most))
        right.set(xlabel="bits of each entry of W", ylabel="bits of facts for each bit of W", ylim=(0, 1.05))
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Memories of few bits ({streams} a point)", fontsize=10)
        figure.legend(handles=_keys(points), loc="lower center", ncols=4, frameon=False)
        figure.tight_layout(rect=(0, 0.14, 1, 1))
        return save(figure, stem, {"points": points})


def _keys(points: list[dict]) -> list[Line2D]:
    keys = [Line2D([], [], color=colour(d), lw=3, label=f"d = {d}") for d in sorted({point["d"] for point in points})]
    words = {"largest margin": "largest margin, rounded", "centre": "centre of all solutions, rounded"}
    for way, mark in _MARKS.items():
        if any(point["way"] == way for point in points):
            face = "0.3" if way == "largest margin" else "white"
            keys.append(
                Line2D([], [], color="0.3", marker=mark, mfc=face, ls="", ms=4.5, label=words.get(way, way))
            )
    keys.append(Line2D([], [], color="0.3", ls="--", lw=1.2, label="predicted from noise"))
    keys.append(Line2D([], [], color="0.3", ls=":", lw=1.2, label="most by counting"))
    return keys


BITS = Figure(
    "bits",
    from_catalogue("bits"),
    draw_bits,
    compare_bits,
    Caption(
        "What memories of few bits an entry hold",
        "The largest number of facts that were stored without an error when each entry of W has one of 2^b values, for "
        "each parameter (left) and as bits of facts for each bit of W (right): the memory of largest margin, rounded; "
        "the centre of all solutions, rounded; and training through the rounding. Means over streams.",
        "Counting allows p log2 p = b d^2 facts. Rounding acts as noise on the margins, from which follows what the "
        "memory of largest margin still stores. No free parameter.",
    ),
)
