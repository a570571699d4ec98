"""How much of the original problem's excess is left if only groups of inputs share outputs?

One group is the original problem, as many groups as inputs are the decoupled one. Drawn beside the excess itself
(original_excess.py), and compared with laws of what is left, fitted to all dimensions at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from loadstone.estimate import deviation
from loadstone.studies.kit.brackets import mean_and_error, middles, proved_bracket
from loadstone.studies.kit.comparison import FEWEST, Comparison, dof_of, with_error
from loadstone.studies.kit.fitted_laws import as_deviations, judged
from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes
from loadstone.studies.kit.points import values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, exact_capacities
from loadstone.theory.storable import capacity_moments

_GROUPS = "groups:"
#: The numbers of groups of the two problems; None: as many as inputs.
_ENDS = {"original": 1, "decoupled": None}
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
    for (d, problem), group in grouped((row for row in proved if row["d"] in dimensions), "d", "problem"):
        brackets = [bracket for row in group if (bracket := proved_bracket(row)) is not None]
        if len(brackets) < FEWEST:
            continue
        (mean, error), predicted = mean_and_error(brackets), moments(d)[0]
        number = _ENDS[problem] if problem in _ENDS else int(problem.removeprefix(_GROUPS))
        points.append(
            {"d": d, "groups": number, "problem": problem, "streams": len(brackets)}
            | {"undecided": sum(row["p_c"] is None for row in group)}
            | {"capacity": mean, "scatter": deviation(middles(brackets)), "predicted": predicted}
            | {"excess": mean / predicted - 1, "error": error / predicted}
        )
    return sorted(points, key=lambda point: (point["d"], point["groups"] or np.inf))


def compare(points: list[dict]) -> list[Comparison]:
    """By how many per cent groups exceed the formula; both ends of the range are compared with the excess itself."""
    return [_excess(point) for point in points if point["groups"] not in (1, None)]


def _excess(point: dict) -> Comparison:
    # All numbers of groups have the same inputs.
    groups, streams = f"{point['groups']} groups", f"d = {point['d']}"
    return Comparison(
        f"excess over the formula in per cent, proved, {groups}, {streams} ({point['streams']} streams)",
        0.0, 100 * point["excess"], 100 * point["error"], dof_of(point["streams"], 1.0, 1.0), FORMULA,
        f"mean capacity, {groups}", streams, scale=100,
    )  # fmt: skip


def would_have_been_seen(point: dict) -> float:
    """The smallest excess that this many streams would have shown, as a share (studies/kit/comparison.py)."""
    return _excess(point).min_detectable / 100


def excess_left(points: list[dict]) -> list[dict]:
    """For each dimension, the share of the excess of one group that is left with more, with its standard error."""
    originals, shares = {point["d"]: point for point in points if point["groups"] == 1}, []
    for point in (point for point in points if point["d"] in originals and point["groups"] != 1):
        original = originals[point["d"]]
        share = point["excess"] / original["excess"]
        error = math.hypot(point["error"], share * original["error"]) / abs(original["excess"])
        shares.append({"d": point["d"], "groups": point["groups"], "left": share, "error": error})
    return shares


class GroupFit(NamedTuple):
    """A law for what is left of the excess, with the excess of one group fitted for each dimension.

    dof: points less dimensions.
    deviations: how many standard deviations of a normal number are as unlikely as a chi-square beyond this one.
    """

    law: str
    excess: dict[int, float]
    chi_square: float
    dof: int
    deviations: float


def fitted_group_laws(points: list[dict]) -> list[GroupFit]:
    """Each law fitted to the points, if there are more of them than dimensions."""
    dof = len(points) - len({point["d"] for point in points})
    return [_fitted(law, points, dof) for law in GROUP_LAWS] if dof > 0 else []


def _fitted(law: str, points: list[dict], dof: int) -> GroupFit:
    excess, chi_square = {}, 0.0
    for (d,), at_d in grouped(points, "d"):
        y, error = map(np.array, values_of(at_d, "excess", "error"))
        shape = np.array([left(law, point["groups"], point["predicted"]) for point in at_d]) / error
        excess[d] = float(shape @ (y / error) / (shape @ shape))
        chi_square += float(((y / error - excess[d] * shape) ** 2).sum())
    return GroupFit(law, excess, chi_square, dof, as_deviations(chi_square, dof))


def left(law: str, groups: float | None, p: float) -> float:
    """What a law says is left of the excess of p inputs; None stands for as many groups as inputs."""
    return GROUP_LAWS[law](p if groups is None else groups, p)


def draw(panel: Axes, points: list[dict]) -> None:
    """Mean capacity over the formula against the number of groups, and from where on a ratio would have been seen."""
    panel.axhline(1, color=PREDICTION, lw=1.2, zorder=0)
    most = max(point["predicted"] for point in points)
    pairs = next(iter(fitted_group_laws(points)), None)
    for place, ((d,), at_d) in enumerate(grouped(points, "d")):
        ink = COLOURS[2 + place]
        # Neighbours of one number of groups stand side by side; with a set for each input there are p sets.
        x = [1.05**place * (point["groups"] or point["predicted"]) for point in at_d]
        ratio, error = ([offset + point[key] for point in at_d] for offset, key in ((1, "excess"), (0, "error")))
        panel.errorbar(x, ratio, error, fmt="o", ms=4, lw=1, color=ink, zorder=2, label=f"d = {d}, groups, proved")
        if pairs:
            g = np.geomspace(1, at_d[0]["predicted"], 50)
            law = [1 + pairs.excess[d] * left(pairs.law, count, g[-1]) for count in g]
            panel.plot(1.05**place * g, law, color=ink, lw=1, zorder=1, label="proportional to pairs that share")
        seen = [1 + would_have_been_seen(point) for point in at_d]
        panel.plot(x, seen, ":", lw=1, color=ink, zorder=1, label="dotted: a ratio above would have been seen")
    ticks = [2**k for k in range(int(np.log2(most)) + 1)]
    panel.set(xscale="log", title="groups of inputs share outputs", xlabel="groups (1: original, p: decoupled)")
    panel.set(ylabel="mean capacity / formula", xlim=(0.8, 1.4 * most))
    panel.set_xticks(ticks, [str(tick) for tick in ticks])
    panel.minorticks_off()


def remarks(points: list[dict]) -> list[str]:
    """Which laws of what is left remain possible, and what is left at each dimension."""
    fits = ", ".join(
        f"{fit.law} is {judged(fit.deviations)}, chi-square {fit.chi_square:.1f} for {fit.dof}"
        for fit in fitted_group_laws(points)
    )
    sentences = [f"What is left of the excess with g groups of inputs, at all d: {fits}."] if fits else []
    for (d,), some in grouped((point for point in excess_left(points) if point["groups"] is not None), "d"):
        shares = ", ".join(
            f"{with_error(100 * point['left'], 100 * point['error'])} % with {point['groups']} groups" for point in some
        )
        sentences.append(f"With groups at d = {d}, of the excess of the original problem are left: {shares}.")
    return sentences
