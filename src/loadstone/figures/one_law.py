"""N facts, M answers, any family of memories: proved capacities on the law N D(M) = delta."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.evidence.one_law import compare_one_law, proved_facts
from loadstone.studies.kit.panels import COLOURS, MARKS, PREDICTION, STYLE, NothingToDrawError, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.answers import facts_capacity
from loadstone.theory.codimension import codimension

#: Points of both problems are drawn side by side where they would lie on each other.
_APART = {"decoupled": 1.0, "original": 1.06}


def draw_answers(rows: list[Row], stem: Path) -> list[Path]:
    """Left how many facts fit, right the ratio to the law, both against the number of answers."""
    points = [point for point in proved_facts(rows) if point["answers"] is not None]
    if not points:
        raise NothingToDrawError("no capacity is proved")
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.2))
        most = max(point["answers"] for point in points)
        tints = dict(zip(sorted({point["d"] for point in points}), COLOURS))
        for d, tint in tints.items():
            _curves(left, d, most, tint)
        for point in points:
            ratio, error = point["facts"] / point["predicted"], point["error"] / point["predicted"]
            _answers_point(left, point, point["facts"], point["error"], tints[point["d"]])
            _answers_point(right, point, ratio, error, tints[point["d"]])
        right.axhline(1, color="0.3", lw=1, zorder=0)
        left.set(xscale="log", yscale="log", xlabel="answers M", ylabel="facts that fit, N")
        right.set(xscale="log", xlabel="answers M", ylabel="proved / law")
        figure.suptitle(f"Facts that fit, proved ({_streams(points)}), and N D(M) = delta", fontsize=10)
        figure.legend(handles=_answer_keys(points, tints), loc="lower center", ncols=4, frameon=False)
        figure.tight_layout(rect=(0, 0.14, 1, 1))
        return save(figure, stem, {"points": points})


def _curves(panel: Axes, d: int, most: int, tint: str) -> None:
    """The law for both problems, Cover's theorem (M = 2) and the paper (M = N)."""
    answers = np.unique(np.geomspace(2, most, 60).round().astype(int))
    for decoupled, style in ((False, "-"), (True, "--")):
        facts = [facts_capacity("full", d, int(m), decoupled) for m in answers]
        panel.plot(answers, facts, style, color=tint, lw=1.2, zorder=1)
    panel.plot(2, 2 * d, "*", color=tint, ms=11, mec="k", mew=0.6, zorder=3)
    own = facts_capacity("full", d)
    panel.plot(own, own, "D", color=tint, ms=6, mec="k", mew=0.6, zorder=3)


def _answers_point(panel: Axes, point: dict, height: float, error: float, tint: str) -> None:
    mark, face = MARKS[point["problem"]]
    x = point["answers"] * _APART[point["problem"]]
    panel.errorbar(x, height, error, fmt=mark, color=tint, mfc=face or tint, ms=4.5, lw=1, zorder=2)


def _answer_keys(points: list[dict], tints: dict[int, str]) -> list[Line2D]:
    keys = [Line2D([], [], color=tint, lw=3, label=f"d = {d}") for d, tint in tints.items()]
    for problem, style, words in (("original", "-", "outputs shared"), ("decoupled", "--", "decoupled")):
        if any(point["problem"] == problem for point in points):
            mark, face = MARKS[problem]
            keys.append(Line2D([], [], color="0.3", marker=mark, mfc=face or "0.3", ls="", label=f"{words}, proved"))
        keys.append(Line2D([], [], color="0.3", ls=style, lw=1.2, label=f"{words}, law"))
    keys.append(Line2D([], [], color="0.6", marker="*", ms=10, mec="k", ls="", label="Cover: M = 2, N = 2 d"))
    keys.append(Line2D([], [], color="0.6", marker="D", mec="k", ls="", label="the paper: M = N"))
    return keys


def draw_families(rows: list[Row], stem: Path) -> list[Path]:
    """Left the room that the proved capacity takes against the statistical dimension, right their ratio."""
    points = [point for point in proved_facts(rows) if point["answers"] is None]
    if not points:
        raise NothingToDrawError("no capacity is proved")
    families = sorted({point["family"] for point in points}, key=lambda name: (-_delta(points, name), name))
    dimensions = sorted({point["d"] for point in points})
    tints = dict(zip(families, (COLOURS * 3)[: len(families)]))
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.3))
        ends = np.array([min(point["delta"] for point in points) / 1.5, max(point["delta"] for point in points) * 1.5])
        left.plot(ends, ends, color=PREDICTION, lw=1.2, zorder=0)
        for point in points:
            mark, face = MARKS[point["problem"]]
            tint = tints[point["family"]]
            # N D(N) of the proved mean, scaled by the exact mean of the law rather than by its half-way point.
            room = point["delta"] * _room(point["facts"]) / _room(point["predicted"])
            left.plot(point["delta"], room, mark, color=tint, mfc=face or tint, ms=5, zorder=2)
            # From left to right: decoupled, then original, each with d rising.
            x = families.index(point["family"]) + (0.1 if point["problem"] == "original" else -0.25)
            x += 0.15 * dimensions.index(point["d"])
            ratio, error = point["facts"] / point["predicted"], point["error"] / point["predicted"]
            right.errorbar(x, ratio, error, fmt=mark, color=tint, mfc=face or tint, ms=4.5, lw=1)
        right.axhline(1, color=PREDICTION, lw=1, zorder=0)
        left.set(xscale="log", yscale="log", xlabel="statistical dimension", ylabel="N D(N) at the proved capacity")
        right.set(ylabel="proved / law")
        right.set_xticks(range(len(families)), families, rotation=60, ha="right", fontsize=8)
        sizes = ", ".join(map(str, dimensions))
        figure.suptitle(f"Families of memories, d = {sizes}, proved ({_streams(points)} a point)", fontsize=10)
        figure.legend(handles=_family_keys(points), loc="lower center", ncols=3, frameon=False)
        figure.tight_layout(rect=(0, 0.06, 1, 1))
        return save(figure, stem, {"points": points})


def _room(facts: float) -> float:
    """N D(N), linear between whole numbers."""
    low = max(2, int(facts))
    ends = [n * codimension(n) for n in (low, low + 1)]
    return ends[0] + (facts - low) * (ends[1] - ends[0])


def _delta(points: list[dict], family: str) -> float:
    return max(point["delta"] / point["d"] ** 2 for point in points if point["family"] == family)


def _family_keys(points: list[dict]) -> list[Line2D]:
    keys = [Line2D([], [], color=PREDICTION, lw=1.2, label="N D(N) = delta")]
    for problem in sorted({point["problem"] for point in points}):
        mark, face = MARKS[problem]
        keys.append(Line2D([], [], color="0.3", marker=mark, mfc=face or "0.3", ls="", label=f"{problem}, proved"))
    return keys


def _streams(points: list[dict]) -> str:
    return counted((point["streams"] for point in points), "streams")


ANSWERS = Figure(
    "answers",
    from_catalogue("answers"),
    draw_answers,
    compare_one_law,
    Caption(
        "From two answers to thousands: how many facts fit",
        "For N facts with targets among M answers, the mean over streams of the exact capacity, each proved. Targets "
        "are balanced: every block of M facts has each answer once. Bars are standard errors.",
        "N D(M) = d min(d, M - 1) where outputs are shared, d^2 where every input has M outputs of its own. No free "
        "parameter. It holds Cover's 2 d at M = 2 and the paper's capacity at M = N.",
    ),
)

FAMILIES = Figure(
    "families",
    from_catalogue("families"),
    draw_families,
    compare_one_law,
    Caption(
        "Linear families of memories",
        "The mean exact capacity of streams, each proved, for memories that are symmetric, skew, masked, "
        "block-diagonal, circulant or diagonal. Bars are standard errors.",
        "N D(N) = delta, the number of free entries of W. No free parameter.",
    ),
)
