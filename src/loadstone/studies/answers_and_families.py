"""How many facts fit, proved and by the law N D(M) = delta, with few or many answers and in families of memories?"""

from __future__ import annotations

import numpy as np

from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes, Figure, Line2D, key, mark_keys, mark_of, subplots
from loadstone.studies.kit.points import finish, some
from loadstone.studies.kit.proved_facts import compare_proved_facts, proved_facts
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, facts_by_the_law, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.answers import facts_capacity
from loadstone.theory.codimension import codimension

#: For each scale: dimension, numbers of answers, streams.
_ANSWERS: dict[str, tuple[tuple[int, tuple[int, ...], int], ...]] = {
    "quick": ((10, (2, 4, 11, 40), 4),),
    "paper": (
        (20, (2, 3, 5, 10, 15, 20, 21, 30, 60, 150, 400, 1000), 40),
        (30, (2, 3, 6, 15, 25, 30, 31, 60, 150, 400, 1000), 20),
        (50, (40, 51, 200, 1000), 4),
    ),
}
#: For each scale: dimension, number of blocks, streams.
_FAMILIES = {"quick": ((10, 2, 4),), "paper": ((20, 4, 40), (30, 3, 40))}
_LINEAR = ("symmetric", "traceless", "skew", "masked:0.5", "masked:0.25", "circulant", "diagonal")
#: These hold so few facts that their mean needs more streams to be known as well.
_SMALL = ("circulant", "diagonal")
#: Points of both problems are drawn side by side where they would lie on each other.
_APART = {"decoupled": 1.0, "original": 1.06}


def runs_of_answers(scale: str) -> list[Spec]:
    """Exact capacities for M answers, both problems; targets are balanced, so that unequal counts do not matter."""
    return [
        spec(problem, d, guess, seed, solver="capacity", answers=count, frequencies=drawn)
        for d, counts, streams in _ANSWERS[scale]
        for count in counts
        for problem, drawn in (("decoupled", "uniform"), ("original", "balanced"))
        for guess in [facts_by_the_law("full", d, count, problem)]
        for seed in range(streams)
    ]


def runs_of_families(scale: str) -> list[Spec]:
    """Exact capacities of the linear families, both problems, each fact with its own answer."""
    return [
        spec(problem, d, guess, seed, solver="capacity", family=family)
        for d, blocks, streams in _FAMILIES[scale]
        for family in ("full", f"blocks:{blocks}", *_LINEAR)
        for problem in ("decoupled", "original")
        for guess in [facts_by_the_law(family, d, None, problem)]
        for seed in range(3 * streams if family in _SMALL else streams)
    ]


def points_of_answers(rows: list[Row]) -> list[dict]:
    """Mean proved capacities where facts share a number of answers."""
    return [point for point in proved_facts(rows) if point["answers"] is not None]


def points_of_families(rows: list[Row]) -> list[dict]:
    """Mean proved capacities where each fact has its own answer."""
    return [point for point in proved_facts(rows) if point["answers"] is None]


def draw_answers(figure: Figure, points: list[dict]) -> None:
    """Left how many facts fit, right the ratio to the law, both against the number of answers."""
    some(points, "no capacity is proved")
    left, right = subplots(figure, 1, 2, size=(8.2, 4.2))
    most = max(point["answers"] for point in points)
    tints = dict(zip(sorted({point["d"] for point in points}), COLOURS))
    for d, tint in tints.items():
        _draw_law(left, d, most, tint)
    for point in points:
        style = mark_of(point["problem"], tints[point["d"]]) | {"ms": 4.5, "lw": 1, "zorder": 2}
        for panel, unit in ((left, 1), (right, point["predicted"])):
            x = point["answers"] * _APART[point["problem"]]
            panel.errorbar(x, point["facts"] / unit, point["error"] / unit, **style)
    right.axhline(1, color="0.3", lw=1, zorder=0)
    left.set(xscale="log", yscale="log", xlabel="answers M", ylabel="facts that fit, N")
    right.set(xscale="log", xlabel="answers M", ylabel="proved / law")
    keys = _answer_keys(points, tints)
    finish(figure, "Facts that fit, proved ({}), and N D(M) = delta", points, 4, (0.14, 0), keys)


def _draw_law(panel: Axes, d: int, most: int, tint: str) -> None:
    """The law for both problems, Cover's theorem (M = 2) and the paper (M = N)."""
    answers = np.unique(np.geomspace(2, most, 60).round().astype(int))
    for decoupled, style in ((False, "-"), (True, "--")):
        facts = [facts_capacity("full", d, answers=int(m), decoupled=decoupled) for m in answers]
        panel.plot(answers, facts, style, color=tint, lw=1.2, zorder=1)
    panel.plot(2, 2 * d, "*", color=tint, ms=11, mec="k", mew=0.6, zorder=3)
    own = facts_capacity("full", d)
    panel.plot(own, own, "D", color=tint, ms=6, mec="k", mew=0.6, zorder=3)


def _answer_keys(points: list[dict], tints: dict[int, str]) -> list[Line2D]:
    keys = [key(f"d = {d}", color=tint, lw=3) for d, tint in tints.items()]
    for problem, style, words in (("original", "-", "outputs shared"), ("decoupled", "--", "decoupled")):
        if any(point["problem"] == problem for point in points):
            keys.append(key(f"{words}, proved", **mark_of(problem, "0.3")))
        keys.append(key(f"{words}, law", color="0.3", ls=style, lw=1.2))
    keys.append(key("Cover: M = 2, N = 2 d", color="0.6", marker="*", ms=10, mec="k", ls=""))
    keys.append(key("the paper: M = N", color="0.6", marker="D", mec="k", ls=""))
    return keys


def draw_families(figure: Figure, points: list[dict]) -> None:
    """Left the statistical dimension that the proved capacity takes against the family's, right their ratio."""
    some(points, "no capacity is proved")
    # Those with most free entries for their d come first.
    entries = {family: max(point["delta"] / point["d"] ** 2 for point in some)
               for (family,), some in grouped(points, "family")}  # fmt: skip
    families = sorted(entries, key=lambda family: (-entries[family], family))
    dimensions = sorted({point["d"] for point in points})
    tints = dict(zip(families, (COLOURS * 3)[: len(families)]))
    left, right = subplots(figure, 1, 2, size=(8.2, 4.3))
    ends = np.array([min(point["delta"] for point in points) / 1.5, max(point["delta"] for point in points) * 1.5])
    left.plot(ends, ends, color=PREDICTION, lw=1.2, zorder=0)
    for point in points:
        style = mark_of(point["problem"], tints[point["family"]])
        # N D(N) of the proved mean, scaled by the exact mean of the law rather than by its half-way point.
        taken = point["delta"] * _dimension_taken(point["facts"]) / _dimension_taken(point["predicted"])
        left.plot(point["delta"], taken, **style, ms=5, zorder=2)
        # From left to right: decoupled, then original, each with d rising.
        x = families.index(point["family"]) + (0.1 if point["problem"] == "original" else -0.25)
        x += 0.15 * dimensions.index(point["d"])
        ratio, error = point["facts"] / point["predicted"], point["error"] / point["predicted"]
        right.errorbar(x, ratio, error, **style, ms=4.5, lw=1)
    right.axhline(1, color=PREDICTION, lw=1, zorder=0)
    left.set(xscale="log", yscale="log", xlabel="statistical dimension", ylabel="N D(N) at the proved capacity")
    right.set(ylabel="proved / law")
    right.set_xticks(range(len(families)), families, rotation=60, ha="right", fontsize=8)
    title = f"Families of memories, d = {', '.join(map(str, dimensions))}, proved ({{}} a point)"
    keys = [key("N D(N) = delta", color=PREDICTION, lw=1.2), *mark_keys(points, ", proved")[::-1]]
    finish(figure, title, points, 3, (0.06, 0), keys)


def _dimension_taken(facts: float) -> float:
    """N D(N), linear between whole numbers."""
    low = max(2, int(facts))
    first, second = (n * codimension(n) for n in (low, low + 1))
    return first + (facts - low) * (second - first)


ANSWERS = Study(
    "answers",
    "How many facts fit when they share few or many answers?",
    runs_of_answers,
    points_of_answers,
    draw_answers,
    Caption(
        "From two answers to thousands: how many facts fit",
        "For N facts with targets among M answers, the mean over streams of the exact capacity, each proved. Targets "
        "are balanced: every block of M facts has each answer once. Bars are standard errors.",
        "N D(M) = d min(d, M - 1) where outputs are shared, d^2 where every input has M outputs of its own. No free "
        "parameter. It holds Cover's 2 d at M = 2 and the paper's capacity at M = N.",
    ),
    compare_proved_facts,
)

FAMILIES = Study(
    "families",
    "How many facts fit in memories that are symmetric, masked, block-diagonal, circulant or diagonal?",
    runs_of_families,
    points_of_families,
    draw_families,
    Caption(
        "Linear families of memories",
        "The mean exact capacity of streams, each proved, for memories that are symmetric, skew, masked, "
        "block-diagonal, circulant or diagonal. Bars are standard errors.",
        "N D(N) = delta, the number of free entries of W. No free parameter.",
    ),
    compare_proved_facts,
)
