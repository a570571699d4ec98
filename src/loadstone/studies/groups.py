"""How much of the original problem's excess is left if only groups of inputs share outputs?

One group is the original problem, as many groups as inputs are the decoupled one. Drawn beside the excess itself
(original_excess.py), and compared with laws of what is left, fitted to all dimensions at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from loadstone.studies.kit.brackets import mean_and_error, middles, proved_bracket
from loadstone.studies.kit.comparison import FEWEST, Comparison, freedom_of, with_error
from loadstone.studies.kit.fitted_laws import as_deviations, judged
from loadstone.studies.kit.panels import COLOURS, PREDICTION
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.studies.kit.runs import exact_capacities
from loadstone.theory.storable import capacity_moments

if TYPE_CHECKING:
    from loadstone.studies.kit.types import Axes, Spec

_GROUPS = "groups:"
FORMULA = "the formula is for the decoupled problem"
#: For each scale and dimension: numbers of groups between 1 and p, and streams.
_STREAMS: dict[str, dict[int, tuple[tuple[int, ...], int]]] = {
    "quick": {12: ((2, 8), 40)},
    "paper": {12: ((2, 4, 8, 16, 32), 400), 16: ((2, 4, 8, 16, 32), 200), 20: ((2, 4, 8, 16, 32, 64), 200)},
}
#: What is left of the excess with g groups of p inputs. Of all pairs of inputs, (p/g - 1) / (p - 1) share outputs.
GROUP_LAWS: dict[str, Callable[[float, float], float]] = {
    "the share of pairs that share outputs": lambda g, p: (p / g - 1) / (p - 1),
    "g^-1/2": lambda g, p: g**-0.5,
    "g^-2": lambda g, p: g**-2.0,
}


def runs(scale: str) -> list[Spec]:
    """Exact capacities with groups of inputs, from one group, the original problem, to the decoupled one."""
    return [
        spec
        for d, (groups, count) in _STREAMS[scale].items()
        for spec in exact_capacities({d: count}, ("original", *(f"{_GROUPS}{g}" for g in groups), "decoupled"))
    ]


def has_groups(row: Row) -> bool:
    """Whether only groups of its inputs share outputs."""
    return row["problem"].startswith(_GROUPS)


def points(rows: list[Row]) -> list[dict]:
    """For each dimension with groups and each number of them, from 1 (original) to None (decoupled): the mean of the
    proved capacities, and by what share it exceeds the mean that the formula gives for the decoupled problem."""
    proved = [row for row in rows if row["solver"] == "capacity" and row.get("answers") is None]
    dimensions = {row["d"] for row in proved if has_groups(row)}
    moments, points = cache(capacity_moments), []
    for (d, problem), group in grouped([row for row in proved if row["d"] in dimensions], "d", "problem"):
        brackets = [bracket for row in group if (bracket := proved_bracket(row)) is not None]
        if len(brackets) < FEWEST:
            continue
        (mean, error), predicted = mean_and_error(brackets), moments(d)[0]
        points.append(
            {"d": d, "groups": _number(problem), "problem": problem, "streams": len(brackets)}
            | {"undecided": sum(row["p_c"] is None for row in group)}
            | {"capacity": mean, "scatter": deviation(middles(brackets)), "predicted": predicted}
            | {"excess": mean / predicted - 1, "error": error / predicted}
        )
    return sorted(points, key=lambda point: (point["d"], point["groups"] or np.inf))


def _number(problem: str) -> int | None:
    if problem.startswith(_GROUPS):
        return int(problem.removeprefix(_GROUPS))
    return 1 if problem == "original" else None


def compare(points: list[dict]) -> list[Comparison]:
    """By how many per cent groups exceed the formula; both ends of the range are compared with the excess itself."""
    return [_excess(point) for point in points if point["groups"] not in (1, None)]


def _excess(point: dict) -> Comparison:
    what = (
        f"excess over the formula in per cent, proved, {point['groups']} groups, d = {point['d']} "
        f"({point['streams']} streams)"
    )
    freedom = freedom_of(point["streams"], point["error"], point["error"])
    return Comparison(
        what, 0.0, 100 * point["excess"], 100 * point["error"], freedom, FORMULA,
        # All numbers of groups have the same inputs.
        f"mean capacity, {point['groups']} groups", f"d = {point['d']}", scale=100,
    )  # fmt: skip


def would_have_been_seen(point: dict) -> float:
    """The smallest excess that so many streams would have shown, as a share (studies/kit/comparison.py)."""
    return _excess(point).detectable / 100


def excess_left(points: list[dict]) -> list[dict]:
    """For each dimension, the share of the excess of one group that is left with more, with its standard error."""
    originals, shares = {point["d"]: point for point in points if point["groups"] == 1}, []
    for point in (point for point in points if point["d"] in originals and point["groups"] != 1):
        original = originals[point["d"]]
        share = point["excess"] / original["excess"]
        error = float(np.hypot(point["error"], share * original["error"]) / abs(original["excess"]))
        shares.append({"d": point["d"], "groups": point["groups"], "left": share, "error": error})
    return shares


@dataclass(frozen=True)
class GroupFit:
    """A law for what is left of the excess, with the excess of one group fitted for each dimension."""

    law: str
    excess: dict[int, float]
    chi_square: float
    #: Points less dimensions.
    freedom: int

    @property
    def deviations(self) -> float:
        """How many standard deviations of a normal number are as unlikely as a chi-square beyond this one."""
        return as_deviations(self.chi_square, self.freedom)


def fitted_group_laws(points: list[dict]) -> list[GroupFit]:
    """Each law fitted to the points, if there are more of them than dimensions."""
    dimensions = sorted({point["d"] for point in points})
    if len(points) <= len(dimensions):
        return []
    return [_fitted(law, points, dimensions) for law in GROUP_LAWS]


def _fitted(law: str, points: list[dict], dimensions: list[int]) -> GroupFit:
    excess, chi_square = {}, 0.0
    for d in dimensions:
        chosen = [point for point in points if point["d"] == d]
        y, error = (np.array([point[name] for point in chosen]) for name in ("excess", "error"))
        shape = np.array([left(law, point["groups"], point["predicted"]) for point in chosen]) / error
        excess[d] = float(shape @ (y / error) / (shape @ shape))
        chi_square += float(((y / error - excess[d] * shape) ** 2).sum())
    return GroupFit(law, excess, chi_square, len(points) - len(dimensions))


def left(law: str, groups: float | None, p: float) -> float:
    """What a law says is left of the excess of p inputs; None stands for as many groups as inputs."""
    return GROUP_LAWS[law](p if groups is None else groups, p)


def draw(panel: Axes, points: list[dict]) -> None:
    """Mean capacity over the formula against the number of groups, and from where on a ratio would have been seen."""
    panel.axhline(1, color=PREDICTION, lw=1.2, zorder=0)
    dimensions = sorted({point["d"] for point in points})
    most = max(point["predicted"] for point in points)
    pairs = next(iter(fitted_group_laws(points)), None)
    for place, d in enumerate(dimensions):
        chosen, ink = [point for point in points if point["d"] == d], COLOURS[2 + place]
        # Neighbours of one number of groups stand side by side; with a set for each input there are p sets.
        x = [1.05**place * (point["groups"] or point["predicted"]) for point in chosen]
        ratio, error = ([offset + point[key] for point in chosen] for offset, key in ((1, "excess"), (0, "error")))
        panel.errorbar(x, ratio, error, fmt="o", ms=4, lw=1, color=ink, zorder=2, label=f"d = {d}, groups, proved")
        if pairs:
            p = chosen[0]["predicted"]
            g = np.geomspace(1, p, 50)
            law = [1 + pairs.excess[d] * left(pairs.law, count, p) for count in g]
            panel.plot(1.05**place * g, law, color=ink, lw=1, zorder=1, label="proportional to pairs that share")
        seen = [1 + would_have_been_seen(point) for point in chosen]
        panel.plot(x, seen, ":", lw=1, color=ink, zorder=1, label="dotted: a ratio above would have been seen")
    ticks = [2**k for k in range(int(np.log2(most)) + 1)]
    panel.set(xscale="log", title="groups of inputs share outputs", xlabel="groups (1: original, p: decoupled)")
    panel.set(ylabel="mean capacity / formula", xlim=(0.8, 1.4 * most))
    panel.set_xticks(ticks, [str(tick) for tick in ticks])
    panel.minorticks_off()


def remarks(points: list[dict]) -> list[str]:
    """Which laws of what is left remain possible, and what is left at each dimension."""
    return _laws_in_words(points) + [
        f"With groups at d = {d}, of the excess of the original problem are left: {', '.join(shares)}."
        for d, shares in _shares_in_words(points).items()
    ]


def _laws_in_words(points: list[dict]) -> list[str]:
    fits = ", ".join(
        f"{fit.law} is {judged(fit.deviations)}, chi-square {fit.chi_square:.1f} for {fit.freedom}"
        for fit in fitted_group_laws(points)
    )
    return [f"What is left of the excess with g groups of inputs, at all d: {fits}."] if fits else []


def _shares_in_words(points: list[dict]) -> dict[int, list[str]]:
    shares: dict[int, list[str]] = {}
    for point in excess_left(points):
        if point["groups"] is not None:
            share = with_error(100 * point["left"], 100 * point["error"])
            shares.setdefault(point["d"], []).append(f"{share} % with {point['groups']} groups")
    return shares
