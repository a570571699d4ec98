"""How does what others measured compare with the law: the largest N that Adam recalls to 99 %?

Nichani, Lee and Bietti, 'Understanding factual recall in transformers via associative memories' (2024), on linear
memories: unit vectors, cross-entropy, at most 4096 steps of Adam at a rate of 1000, and a bisection to 1 %, for d from
8 to 256 and five seeds. Here vectors have length sqrt(d): scores are d times as large, so W need only be 1/d of theirs,
and Adam, whose steps do not depend on the size of the gradient, takes the same path at a rate of 1000 / d. Two things
differ: the first N associations of one stream are taken for every N, where theirs are drawn again, and accuracy is
measured after every step, where theirs is after every 32nd.

It matters that their outputs have one length. Inputs may be scaled without any effect on who wins, outputs may not: a
short output has small scores with every query, and is a target that is hard to raise. So with outputs of equal length
more should fit than with Gaussian ones, by a share that falls with d, as the scatter of Gaussian lengths does.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from loadstone.estimate import Estimate, mean_of
from loadstone.studies.kit.brackets import Bracket, middles, proved_bracket, reached_sizes, resolution
from loadstone.studies.kit.comparison import FEWEST, Comparison, dof_of
from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes, Figure, subplots
from loadstone.studies.kit.points import finish, log_ticks, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import HEBBIAN_CAPACITY, capacity, capacity_associations
from loadstone.theory.load import associations, load
from loadstone.theory.some_lost import capacity_with_losses

_DIMENSIONS = {"quick": (8, 16, 32), "paper": (8, 16, 32, 64, 128, 256)}
_SEEDS = {"quick": 3, "paper": 5}
_RATE = 1000.0
#: The memory is measured before each of the 4096 steps and after the last.
_PROTOCOL: dict[str, object] = {"passes": 4096 + 1, "enough": "99%", "digits": "float32"}
#: How closely the largest N is found; theirs is found to 1 %.
_WIDTH = {"quick": 0.03, "paper": 0.01}
#: Where the bisection begins, as a share of the predicted capacity.
_GUESS = 0.96
#: Streams of each dimension whose capacity is proved, with outputs of equal length and with Gaussian ones.
_PROVED = {"quick": {8: 10}, "paper": {8: 200, 16: 100, 32: 40}}

#: Nichani, Lee and Bietti draw 1.3 N log N = d^2 through their points (linear_AM.ipynb of their published code).
PUBLISHED = 1.3
#: At 99 % one association in so many may be lost.
ONE_IN = 100
EQUAL, RANDOM = "sphere", "gaussian"
BATCHES = 8
_ORIGINAL = "the original problem stores a little more than the law at small d, and outputs of equal length more again"
#: Published thresholds N log N / d^2 that do not depend on d: name, value and line.
_CONSTANTS = (
    ("Nichani et al. (2024), drawn: 1/1.3", 1 / PUBLISHED, "--"),
    ("Giorlandino et al.; Barnfield et al. (2026), limit: 1/2", float(capacity(1)), ":"),
    ("outer products, limit: 1/8", HEBBIAN_CAPACITY, "-."),
)


def runs(scale: str) -> list[Spec]:
    """Their protocol; and exact capacities of the same associations, with outputs of equal and of random length."""
    protocol = [
        spec("original", d, share_of_capacity(_GUESS, d), seed, law=EQUAL, solver="reach", parameters=parameters)
        for d in _DIMENSIONS[scale]
        for parameters in [{"optimiser": f"adam:{_RATE / d}", "width": _WIDTH[scale], **_PROTOCOL}]
        for seed in range(_SEEDS[scale])
    ]
    return protocol + [
        spec("original", d, share_of_capacity(1, d), seed, law=law, solver="capacity")
        for law in (EQUAL, RANDOM)
        for d, streams in _PROVED[scale].items()
        for seed in range(streams)
    ]


@cache
def most_at_99_percent(d: int) -> Estimate:
    """The largest p of which 99 % can be recalled, at most: the replica-symmetric bound."""
    return capacity_with_losses(d, ONE_IN, BATCHES)


class Points(NamedTuple):
    """For each dimension the largest N that was recalled to 99 %, and the proved capacities with outputs of equal and
    of Gaussian length."""

    recalled: list[dict]
    lengths: list[dict]


def points(rows: list[Row]) -> Points:
    """What was recalled to 99 %, and what is proved with outputs of both kinds."""
    recalled = [_recalled(d, group) for (d,), group in grouped((row for row in rows if row["solver"] == "reach"), "d")]
    proved = grouped((row for row in rows if row["solver"] == "capacity" and proved_bracket(row)), "d")
    return Points(recalled, [point for (d,), group in proved for point in _with_both_lengths(d, group)])


def _recalled(d: int, rows: list[Row]) -> dict:
    """The mean over seeds of the largest N that was recalled to 99 %, its standard error, its load, and beside it the
    law for full storage, the bound for 99 %, and the line that was published."""
    thresholds, unresolved = reached_sizes(rows)
    p, spread = mean_of(thresholds)
    return {
        "d": d, "seeds": len(rows), "p": p, "spread": spread, "error": math.hypot(spread, unresolved),
        "load": float(load(p, d)), "constant": float(1 / load(p, d)), "law": float(capacity_associations(d)),
        "bound": most_at_99_percent(d).value, "published": float(associations(1 / PUBLISHED, d)),
    }  # fmt: skip


def _with_both_lengths(d: int, rows: list[Row]) -> list[dict]:
    """Of the streams that are proved with both: the mean capacity with outputs of equal length, that with Gaussian
    ones, and the mean difference, which is that of pairs."""
    capacities: dict[str, dict[int, Bracket | None]] = {EQUAL: {}, RANDOM: {}}
    for row in rows:
        capacities[row["law"]][row["seed"]] = proved_bracket(row)
    seeds = sorted(capacities[EQUAL].keys() & capacities[RANDOM].keys())
    if not seeds:
        return []
    equal, random = ([bracket for seed in seeds if (bracket := of[seed])] for of in capacities.values())
    unresolved = resolution(equal), resolution(random)
    of_equal, of_random = mean_of(middles(equal), unresolved[0]), mean_of(middles(random), unresolved[1])
    difference, scatter = mean_of(middles(equal) - middles(random))
    return [{
        "d": d, "streams": len(equal), "equal": of_equal.value, "random": of_random.value,
        "equal_error": of_equal.error, "random_error": of_random.error,
        "difference": difference, "error": math.hypot(scatter, *unresolved), "law": float(capacity_associations(d)),
    }]  # fmt: skip


def compare(points: Points) -> list[Comparison]:
    """What was recalled to 99 %, compared with the law for full storage and with the published line; capacities with
    outputs of equal length less those of the same streams with Gaussian outputs, compared with zero."""
    comparisons = []
    for point in points.recalled:
        if point["seeds"] < FEWEST:
            continue
        dof = dof_of(point["seeds"], point["error"], point["spread"])
        more = 100 * (point["bound"] / point["law"] - 1)
        law = f"{_ORIGINAL}; at 99 % the law allows at most {more:.1f} % more; 4096 steps may end short"
        for beside, predicted, note in (("the law", point["law"], law), ("1.3 N log N = d^2", point["published"], "")):
            family = f"associations recalled to 99 % by Adam, beside {beside}"
            comparisons.append(Comparison.of(family, point, predicted, point["p"], point["error"], note, dof=dof))
    family, note = "capacity, outputs of equal length - Gaussian", "scaling outputs is not free at finite d"
    for point in points.lengths:
        if point["streams"] < FEWEST or not point["error"]:
            continue
        numbers, dof = (0.0, point["difference"], point["error"]), dof_of(point["streams"], 1.0, 1.0)
        comparisons.append(Comparison.of(family, point, *numbers, note, dof=dof, scale=point["random"]))
    return comparisons


def draw(figure: Figure, points: Points) -> None:
    """Left the load that was recalled, right its ratio to the law, with proved capacities."""
    recalled, lengths = points
    some(recalled, "no stream was recalled to 99 %")
    dimensions = sorted({point["d"] for point in recalled})
    left, right = subplots(figure, 1, 2, size=(8.2, 5.0))
    _draw_law(left, right, dimensions)
    for name, value, line in _CONSTANTS:
        left.axhline(value, color="0.45", lw=1, ls=line, zorder=0, label=name)
    d, p, error, law = map(np.array, values_of(recalled, "d", "p", "error", "law"))
    style: dict[str, Any] = {"fmt": "o", "color": COLOURS[0], "ms": 5, "lw": 1, "label": "recalled to 99 % by Adam"}
    left.errorbar(d, load(p, d), load(p, d) * error / p, **style)
    right.errorbar(d, p / law, error / law, **style)
    for name, words, mark in (("equal", "equal", "s"), ("random", "Gaussian", "D")):
        # If p associations are storable but not p + 1, the threshold lies between the two.
        d, p, error, law = map(np.array, values_of(lengths, "d", name, f"{name}_error", "law"))
        style = {"fmt": mark, "color": COLOURS[1], "mfc": "white", "ms": 5, "lw": 1}
        right.errorbar(d, (p + 0.5) / law, error / law, **style, label=f"all stored (proved), {words} lengths")
    for panel in (left, right):
        panel.set_xlabel("dimension d")
        log_ticks(panel, dimensions)
    left.set(ylabel=r"$N \log N / d^2$", ylim=(0, None))
    right.set_ylabel("N / law")
    finish(figure, "The largest N recalled to 99 %, by the protocol of Nichani et al. ({})", recalled, 2, (0.01, 0.042))


def _draw_law(left: Axes, right: Axes, dimensions: list[int]) -> None:
    """The law for full storage on a fine grid, and the bound for 99 % at the dimensions that were run."""
    fine = np.unique(np.geomspace(min(dimensions), max(dimensions), 40).round().astype(int))
    full = np.asarray(capacity_associations(fine))
    left.plot(fine, load(full, fine), color=PREDICTION, lw=1.4, label="law, all stored")
    right.axhline(1, color=PREDICTION, lw=1.4, zorder=0)
    most = np.array([most_at_99_percent(d).value for d in dimensions])
    style: dict[str, Any] = {"color": PREDICTION, "lw": 1, "ls": "--", "label": "law at 99 %, at most"}
    left.plot(dimensions, load(most, np.array(dimensions)), **style)
    right.plot(dimensions, most / np.asarray(capacity_associations(dimensions)), **style)


def remarks(points: Points) -> list[str]:
    """Which constant each size would have in C N log N = d^2, measured and by the law; and what equal lengths give."""
    sentences = []
    if recalled := points.recalled:
        sizes = ", ".join(str(point["d"]) for point in recalled)
        measured, law, bound = (
            ", ".join(f"{1 / float(load(point[name], point['d'])):.2f}" for point in recalled)
            for name in ("p", "law", "bound")
        )
        sentences.append(
            f"At d = {sizes} the constant C of C N log N = d^2 is {measured} as measured, {law} by the law for full "
            f"storage and {bound} by the bound for 99 %; the published line has {PUBLISHED} at every d, and the limit "
            "of large d is 2."
        )
    for point in points.lengths:
        share, error = (100 * point[name] / point["random"] for name in ("difference", "error"))
        sentences.append(
            f"At d = {point['d']} outputs of equal length let {share:.1f} +- {error:.1f} % more fit than Gaussian ones "
            f"({point['streams']} streams proved with both)."
        )
    return sentences


PEERS = Study(
    "peers",
    "How many associations do others recall to 99 %, beside the law?",
    runs,
    points,
    draw,
    Caption(
        "What others measured: unit vectors, Adam at a rate of 1000, 99 %",
        "The protocol of Nichani, Lee and Bietti (2024) run again: the largest N of which a linear memory recalls 99 % "
        "after at most 4096 steps of Adam at a rate of 1000 on the cross-entropy, for inputs and outputs of equal "
        "length; mean over seeds with standard errors. Left beside the law and the thresholds that were published, "
        "right relative to the law, with exact capacities of such streams and of the same with Gaussian lengths. The "
        "limit of 1/2 is that of Giorlandino et al. and conjectured by Barnfield et al.",
        "p D(p) = d^2 if everything is stored. At 99 % the associations that would cost most are given up: this bounds "
        "what the law allows (replica-symmetric); the minimum of the cross-entropy falls below 99 % at once above "
        "the law. Inputs may be scaled for free, outputs may not. C N log N = d^2 has no constant C at finite size: by "
        "the law C grows with d, to 2.",
    ),
    compare,
    remarks,
    Points._asdict,
)
