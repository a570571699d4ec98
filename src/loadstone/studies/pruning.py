"""How many associations does a memory with few entries store, at random places and at those that pruning chooses?"""

from __future__ import annotations

import re
from itertools import cycle
from typing import NamedTuple

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import COLOURS, Axes, Figure, subplots
from loadstone.studies.kit.points import errorbars, finish, log_ticks, some
from loadstone.studies.kit.proved_facts import compare_proved_facts, expected_capacity, proved_facts
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, facts_by_the_law, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.answers import facts_capacity

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {10: 3}, "paper": {20: 10, 30: 10}}
_DENSITIES = (0.25, 0.5)
#: Numbers of rounds for each dimension.
_ROUNDS = {10: (1, 8), 20: (1, 4, 16, 64), 30: (1, 4, 16)}
_PRUNING = re.compile(r"pruning:density=([\d.e-]+),rounds=(\d+)")
_MASKED = re.compile(r"masked:density=([\d.e-]+)")


def runs(scale: str) -> list[Spec]:
    """The largest p that is stored by pruning in a number of rounds, and the proved capacities of random masks with as
    many entries, on the same streams."""
    kinds = [(d, density, seed) for d, n in _STREAMS[scale].items() for density in _DENSITIES for seed in range(n)]
    return [
        spec("original", d, _between(density, d), seed, solver="reach", parameters={"optimiser": optimiser})
        for d, density, seed in kinds
        for rounds in _ROUNDS[d]
        for optimiser in [f"pruning:{density},{rounds}"]
    ] + [
        spec("original", d, facts_by_the_law(family, d, None, "original"), seed, solver="capacity", family=family)
        for d, density, seed in kinds
        for family in [f"masked:{density}"]
    ]


def _between(density: float, d: int) -> int:
    """Half-way between the capacity of a random mask and the bound for the best one."""
    ends = (facts_by_the_law(f"{name}:{density}", d, None, "original") for name in ("masked", "pruned"))
    return round(sum(ends) / 2)


class Points(NamedTuple):
    #: What pruning stores at each dimension, density and number of rounds.
    pruned: list[dict]
    #: What is proved for random masks at each dimension and density.
    random: list[dict]
    #: The latter beside the law.
    comparisons: list[Comparison]


def points(rows: list[Row]) -> Points:
    """What pruning stores, and the mean capacity proved for random masks, with its standard error and the law."""
    masked = [
        row | {"density": float(match[1])}
        for row in rows
        if row["solver"] == "capacity"
        and (match := _MASKED.fullmatch(row.get("family", "full")))
        and row["p_c"] is not None
    ]
    random = [
        {"d": d, "density": density, "predicted": expected_capacity(f"masked:{density}", d, None, False)}
        | _mean([row["p_c"] for row in group])
        for (d, density), group in grouped(masked, "d", "density")
    ]
    return Points(_by_pruning(rows, masked), random, compare_proved_facts(proved_facts(rows)))


def _by_pruning(rows: list[Row], masked: list[Row]) -> list[dict]:
    """The mean over streams of the largest p stored, its standard error, and the bound for the best places.

    Where the capacity of a random mask of as many entries is proved for all streams, `gains` holds stored - proved of
    each.
    """
    proved = {(row["d"], row["density"], row["seed"]): row["p_c"] for row in masked}
    pruned = [
        row | {"density": float(match[1]), "rounds": int(match[2])}
        for row in rows
        if row["solver"] == "reach" and (match := _PRUNING.fullmatch(row.get("parameters", {}).get("optimiser", "")))
    ]
    points = []
    for (d, density, rounds), group in grouped(pruned, "d", "density", "rounds"):
        of_stream = {row["seed"]: row["stored"] for row in group}
        point = {"d": d, "density": density, "rounds": rounds, "of_stream": of_stream}
        point |= _mean(list(of_stream.values())) | {"bound": facts_capacity(f"pruned:{density}", d)}
        limits = [proved.get((d, density, seed)) for seed in of_stream]
        if None not in limits:
            point["gains"] = [stored - limit for stored, limit in zip(of_stream.values(), limits)]
        points.append(point)
    return points


def _mean(numbers: list[int]) -> dict[str, float]:
    stored, error = mean_of(numbers)
    return {"stored": stored, "error": error, "streams": len(numbers)}


def compare(points: Points) -> list[Comparison]:
    """What is proved for random places compared with the law."""
    return points.comparisons


def draw(figure: Figure, points: Points) -> None:
    """Left how many are stored at each density, relative to a full memory; right how close the rounds come to the
    bound."""
    pruned, random = points.pruned, points.random
    tints = dict(zip(sorted({point["d"] for point in some(pruned, "nothing was pruned")}), COLOURS))
    left, right = subplots(figure, 1, 2, size=(8.2, 4.3))
    for d, tint in tints.items():
        _by_density(left, d, tint, [p for p in pruned if p["d"] == d], [p for p in random if p["d"] == d])
    marks = dict(zip(sorted({point["density"] for point in pruned}), cycle("os^D")))
    for (d, density), group in grouped(pruned, "d", "density"):
        errorbars(right, group, ("rounds", "stored", "error"), tints[d], (marks[density], "white"),
                  group[0]["bound"], ls="-", label=f"d = {d}, density {density:g}")  # fmt: skip
    right.axhline(1, color="0.3", lw=1, zorder=0)
    left.set(xlabel="density: share of entries that are not zero", ylabel="associations / law for a full memory")
    right.set(xlabel="rounds of pruning", ylabel="stored / bound for the best places")
    log_ticks(right, [point["rounds"] for point in pruned])
    finish(figure, "Few entries, original problem ({} a point)", pruned, 3)


def _by_density(panel: Axes, d: int, tint: str, pruned: list[dict], random: list[dict]) -> None:
    full = facts_capacity("full", d)
    densities = np.linspace(min(0.1, *(point["density"] for point in pruned)), 1, 40)
    for name, style, words in (("pruned", "-", "bound for the best places"), ("masked", ":", "law for random places")):
        law = [facts_capacity(f"{name}:{float(density)}", d) / full for density in densities]
        panel.plot(densities, law, style, color=tint, lw=1.2, label=f"d = {d}, {words}")
    most = max(point["rounds"] for point in pruned)
    best = [point for point in pruned if point["rounds"] == most]
    kinds = ((random, ("o", "white"), "random, proved"), (best, ("s", None), f"pruned in {most} rounds"))
    for points, mark, words in kinds:
        if points:
            fields, label = ("density", "stored", "error"), f"d = {d}, {words}"
            errorbars(panel, points, fields, tint, mark, full, ms=5.5, label=label)


def remarks(points: Points) -> list[str]:
    """What the most rounds store, as shares of the bound and of what is proved for random places."""
    proved = {(point["d"], point["density"]): point["stored"] for point in points.random}
    sentences = []
    for kind, group in grouped(points.pruned, "d", "density"):
        (d, density), last = kind, max(group, key=lambda point: point["rounds"])
        beside = ""
        if kind in proved:
            beside = f", {last['stored'] / proved[kind]:.2f} times the mean proved for random places"
        sentences.append(
            f"d = {d}, {density:g} of the entries: {last['rounds']} rounds of pruning store "
            f"{last['stored'] / last['bound']:.3f} of the bound{beside}."
        )
    return sentences


PRUNING = Study(
    "pruning",
    "How many associations does a memory with few entries store?",
    runs,
    points,
    draw,
    Caption(
        "Few entries: chosen by pruning, or at random",
        "The largest p up to which a memory with a given share of non-zero entries stores every association of a "
        "stream, mean over streams with standard errors. Pruned: a full memory is trained by L-BFGS, its smallest "
        "entries are put to zero for good, the others are trained again, and so on in a number of rounds; what is "
        "stored bounds from below what the best places could store. Random: exact capacities of random masks with as "
        "many entries, on the same streams, each proved.",
        "N D(N) = delta. For random places delta is the number of entries n. For the best places it is at most the "
        "mean of the sum of the n largest of d^2 squared normal numbers; the family is not convex, and N is a bound "
        "from above for the decoupled problem in the limit of large d.",
    ),
    compare,
    remarks,
    lambda points: {"pruned": points.pruned, "random": points.random},
)
