"""How many associations others recall to 99 %, beside the law; and what it matters that their outputs have one length.

Inputs may be scaled by positive numbers without any effect: the scores of an association are all scaled by the same
factor. Outputs may not: a short output has small scores with every query, and is a target that is hard to raise. So
with outputs of equal length more should fit than with Gaussian ones, by a share that falls with d, as the scatter of
Gaussian lengths does.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from loadstone.estimate import Estimate
from loadstone.studies.kit.brackets import middles, proved_bracket, resolution
from loadstone.studies.kit.comparison import FEWEST, Comparison, freedom_of
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import associations, load
from loadstone.theory.some_lost import capacity_with_losses

#: Nichani, Lee and Bietti draw 1.3 N log N = d^2 through their points (linear_AM.ipynb of their published code).
PUBLISHED = 1.3
#: At 99 % one association in so many may be lost.
ONE_IN = 100
EQUAL, RANDOM = "sphere", "gaussian"
_BATCHES = 8
_ORIGINAL = "the original problem stores a little more than the law at small d, and outputs of equal length more again"


@cache
def most_at_99_percent(d: int) -> Estimate:
    """The largest p of which 99 % can be recalled, at most: the replica-symmetric bound."""
    return capacity_with_losses(d, ONE_IN, _BATCHES)


def recalled_points(rows: list[Row]) -> list[dict]:
    """For each dimension: the mean over seeds of the largest N that was recalled to 99 %, its standard error, its load,
    and beside it the law for full storage, the bound for 99 %, and the line that was published."""
    points = []
    for (d,), group in grouped([row for row in rows if row["solver"] == "reach"], "d"):
        found = [(row["stored"] + row["not_stored"]) / 2 for row in group]
        widths = [row["not_stored"] - row["stored"] for row in group]
        spread = deviation(found) / math.sqrt(len(found))
        # A threshold that is uniform within its bracket has a deviation of the width / sqrt(12).
        unresolved = math.sqrt(sum(width**2 for width in widths) / 12) / len(found)
        p = float(np.mean(found))
        points.append(
            {"d": d, "seeds": len(found), "p": p, "spread": spread, "error": math.hypot(spread, unresolved)}
            | {"load": float(load(p, d)), "constant": float(1 / load(p, d))}
            | {"law": float(capacity_associations(d)), "bound": most_at_99_percent(d).value}
            | {"published": float(associations(1 / PUBLISHED, d))}
        )
    return points


def length_points(rows: list[Row]) -> list[dict]:
    """For each dimension with streams proved at both: the mean capacity with outputs of equal length, that of the same
    streams with Gaussian ones, and the mean difference, which is that of pairs."""
    proved = [row | {"bracket": proved_bracket(row)} for row in rows if row["solver"] == "capacity"]
    points = []
    for (d,), group in grouped([row for row in proved if row["bracket"]], "d"):
        of = {law: {row["seed"]: row["bracket"] for row in some} for (law,), some in grouped(group, "law")}
        shared = sorted(of.get(EQUAL, {}).keys() & of.get(RANDOM, {}).keys())
        if not shared:
            continue
        brackets = {law: [of[law][seed] for seed in shared] for law in (EQUAL, RANDOM)}
        equal, random = (middles(brackets[law]) for law in (EQUAL, RANDOM))
        unresolved = [resolution(brackets[law]) for law in (EQUAL, RANDOM)]
        points.append(
            {"d": d, "streams": len(shared), "equal": float(equal.mean()), "random": float(random.mean())}
            | {"equal_error": math.hypot(deviation(equal) / math.sqrt(len(equal)), unresolved[0])}
            | {"random_error": math.hypot(deviation(random) / math.sqrt(len(random)), unresolved[1])}
            | {"difference": float((equal - random).mean())}
            | {"error": math.hypot(deviation(equal - random) / math.sqrt(len(equal)), *unresolved)}
            | {"law": float(capacity_associations(d))}
        )
    return points


def compare_peers(rows: list[Row]) -> list[Comparison]:
    """What was recalled to 99 % beside the law for full storage and beside the published line; and capacities with
    outputs of equal length less those of the same streams with Gaussian outputs, beside no difference."""
    comparisons = []
    for point in recalled_points(rows):
        if point["seeds"] < FEWEST:
            continue
        d, freedom = point["d"], freedom_of(point["seeds"], point["error"], point["spread"])
        more = 100 * (point["bound"] / point["law"] - 1)
        law = f"{_ORIGINAL}; at 99 % the law allows at most {more:.1f} % more; 4096 steps may end short"
        for beside, predicted, note in (("the law", point["law"], law), ("1.3 N log N = d^2", point["published"], "")):
            family = f"associations recalled to 99 % by Adam, beside {beside}"
            what = f"{family}, d = {d}"
            comparisons.append(
                Comparison(what, predicted, point["p"], point["error"], freedom, note, family, f"d = {d}")
            )
    for point in length_points(rows):
        if point["streams"] < FEWEST or not point["error"]:
            continue
        family = "capacity, outputs of equal length - Gaussian"
        freedom, note = freedom_of(point["streams"], 1.0, 1.0), "scaling outputs is not free at finite d"
        comparisons.append(
            Comparison(
                f"{family}, d = {point['d']}", 0.0, point["difference"], point["error"], freedom, note, family,
                f"d = {point['d']}", point["random"],
            )  # fmt: skip
        )
    return comparisons


def remarks_on_peers(rows: list[Row]) -> list[str]:
    """Which constant each size would have in C N log N = d^2, measured and by the law; and what equal lengths give."""
    found = []
    if points := recalled_points(rows):
        sizes = ", ".join(str(point["d"]) for point in points)
        measured = ", ".join(f"{point['constant']:.2f}" for point in points)
        law = ", ".join(f"{1 / float(load(point['law'], point['d'])):.2f}" for point in points)
        bound = ", ".join(f"{1 / float(load(point['bound'], point['d'])):.2f}" for point in points)
        found.append(
            f"At d = {sizes} the constant C of C N log N = d^2 is {measured} as measured, {law} by the law for full "
            f"storage and {bound} by the bound for 99 %; the published line has {PUBLISHED} at every d, and the limit "
            "of large d is 2."
        )
    for point in length_points(rows):
        share, error = (100 * point[name] / point["random"] for name in ("difference", "error"))
        found.append(
            f"At d = {point['d']} outputs of equal length let {share:.1f} +- {error:.1f} % more fit than Gaussian ones "
            f"({point['streams']} streams proved with both)."
        )
    return found
