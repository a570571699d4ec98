"""How much of the original problem's excess is left if only groups of inputs share outputs: one group is the original
problem, as many as inputs are the decoupled one."""

from __future__ import annotations

from functools import cache

import numpy as np

from loadstone.studies.kit.brackets import mean_and_error, middles, proved_bracket
from loadstone.studies.kit.comparison import FEWEST, Comparison, freedom_of
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.storable import capacity_moments

_GROUPS = "groups:"
FORMULA = "the formula is for the decoupled problem"


def has_groups(row: Row) -> bool:
    """Whether only groups of its inputs share outputs."""
    return row["problem"].startswith(_GROUPS)


def group_points(rows: list[Row]) -> list[dict]:
    """For each dimension with groups and each number of them, from 1 (original) to None (decoupled): the mean of the
    proved capacities, and by what share it exceeds the mean that the formula gives for the decoupled problem."""
    proved = [row for row in rows if row["solver"] == "capacity" and row.get("answers") is None]
    dimensions = {row["d"] for row in proved if has_groups(row)}
    moments, points = cache(capacity_moments), []
    for (d, problem), group in grouped([row for row in proved if row["d"] in dimensions], "d", "problem"):
        brackets = [found for row in group if (found := proved_bracket(row)) is not None]
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


def compare_groups(rows: list[Row]) -> list[Comparison]:
    """By how many per cent groups exceed the formula; both ends of the range are compared elsewhere (shift.py)."""
    return [_excess(point) for point in group_points(rows) if point["groups"] not in (1, None)]


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
    ones = {point["d"]: point for point in points if point["groups"] == 1}
    found = []
    for point in (point for point in points if point["d"] in ones and point["groups"] != 1):
        one = ones[point["d"]]
        share = point["excess"] / one["excess"]
        error = float(np.hypot(point["error"], share * one["error"]) / abs(one["excess"]))
        found.append({"d": point["d"], "groups": point["groups"], "left": share, "error": error})
    return found
