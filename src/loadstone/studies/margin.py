"""How large a margin can all facts have, and how much noise on the inputs do memories of largest margin bear?"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from loadstone.estimate import Estimate, mean_of
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.panels import COLOURS, Axes, Figure, Line2D, colour, key, mark_keys, mark_of, subplots
from loadstone.studies.kit.points import finish, some, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.alone import winning_queries
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.finite_margin import LENGTHS, finite_largest_margin
from loadstone.theory.margin import largest_margin

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {12: 4}, "paper": {12: 48, 20: 32, 30: 16}}
#: Shares of the predicted capacity. Above 0.8 streams of d = 12 begin to be not storable, and have no margin.
_SHARES = {"quick": (0.4, 0.7), "paper": (0.25, 0.35, 0.45, 0.55, 0.65, 0.8)}
#: With vectors of equal length, fewer of them: lengths matter to margins.
_ON_SPHERES = {"quick": (0.4,), "paper": (0.45, 0.65)}
SHARED_OUTPUTS = "the prediction is for decoupled outputs"
#: Samples of the prediction at finite d, which is then known as well as the mean of 20 to 50 streams.
SAMPLES = 400
#: Points of the curve of the limit, for each dimension.
_CURVE = 25
#: Colours of the loads in the right panel, none of which is a dimension's.
_TINTS = (COLOURS[4], COLOURS[1], COLOURS[5])


def runs(scale: str) -> list[Spec]:
    """The largest margin and recall from noisy inputs of streams that are filled to a share of their capacity, both
    problems; Gaussian vectors and vectors of equal length."""
    return [
        spec(problem, d, share_of_capacity(share, d), seed, law=law, solver="margin")
        for law, shares in (("gaussian", _SHARES[scale]), ("sphere", _ON_SPHERES[scale]))
        for d, streams in _STREAMS[scale].items()
        for share in shares
        for problem in ("original", "decoupled")
        for seed in range(streams)
    ]


class Points(NamedTuple):
    """Largest margins, and shares recalled from noisy inputs."""

    margins: list[dict]
    recalls: list[dict]


def points(rows: list[Row]) -> Points:
    """Means over the streams of each law, problem, dimension and number of associations, where each input has an output
    of its own: other numbers of answers have no prediction at finite d here.

    Of the margins: gap, the widest of a proof; without, how many streams are not storable or not decided; limit, for
    large d; predicted, at this d (None: not known).
    """
    of_margins = [row for row in rows if row["solver"] == "margin" and row.get("answers") is None]
    margins, recalls = [], []
    for (law, problem, d, p), group in grouped(of_margins, "law", "problem", "d", "p"):
        proved = [row for row in group if "margin" in row]
        if not proved:
            continue
        point = {"law": law, "problem": problem, "d": d, "p": p, "load": load_of(p, d), "streams": len(proved)}
        (margin, error), predicted = mean_of([row["margin"] for row in proved]), predicted_margin(law, d, p)
        margins.append(point | {
            "without": len(group) - len(proved), "margin": margin, "error": error,
            "gap": max(row["gap"] for row in proved), "limit": largest_margin(d * d, p),
            "predicted": predicted and predicted.value, "predicted_error": predicted and predicted.error,
        })  # fmt: skip
        recalls.append(point | _recall(proved))
    return Points(margins, recalls)


def _recall(rows: list[Row]) -> dict:
    """The mean share recalled at each noise, its standard error over the streams, what was predicted, and the standard
    error of the difference."""
    recalled, predicted = map(np.array, values_of(rows, "recalled", "recalled_predicted"))
    return {
        "noises": list(rows[0]["noises"]), "recalled": recalled.mean(axis=0).tolist(),
        "error": [mean_of(column).error for column in recalled.T],
        "predicted": predicted.mean(axis=0).tolist(),
        "difference_error": [mean_of(column).error for column in (recalled - predicted).T],
    }  # fmt: skip


def load_of(p: int, d: int) -> float:
    """N D(N) / d^2, which is 1 at capacity."""
    return p * codimension(p) / d**2


@cache
def predicted_margin(law: str, d: int, p: int) -> Estimate | None:
    """The prediction at finite d, known for Gaussian vectors and vectors of equal length, and where d is so large that
    no sample has an output between the others."""
    if law not in LENGTHS or SAMPLES * winning_queries(p, d).impossible > 0.1:
        return None
    return finite_largest_margin(d, p, inputs=law, outputs=law, samples=SAMPLES)


def compare(points: Points) -> list[Comparison]:
    """Largest margins against their prediction for this d; recall at the noise where half is predicted to be lost."""
    comparisons = []
    for point in points.margins:
        if point["streams"] < FEWEST or point["predicted"] is None:
            continue
        notes = [SHARED_OUTPUTS] if point["problem"] == "original" else []
        if point["without"]:
            notes.append(f"{point['without']} streams are not storable or undecided, and left out")
        numbers = point["predicted"], point["margin"], math.hypot(point["error"], point["predicted_error"])
        what = "mean of the largest margin"
        comparisons.append(_comparison(what, what, point, numbers, "; ".join(notes)))
    for point in points.recalls:
        place = int(np.argmin(np.abs(np.array(point["predicted"]) - 0.5)))
        numbers = point["predicted"][place], point["recalled"][place], point["difference_error"][place]
        if point["streams"] < FEWEST or numbers[2] == 0:
            continue
        note = "the prediction takes rivals one after the other, which is an approximation"
        what = f"share recalled from inputs with noise {point['noises'][place]:g}"
        comparisons.append(_comparison(what, "share recalled from noisy inputs", point, numbers, note))
    return comparisons


def _comparison(what: str, family: str, point: dict, numbers: tuple[float, float, float], note: str) -> Comparison:
    """numbers: what is predicted, what was measured, and the standard error of the difference."""
    of, size, streams = f"{point['problem']}, {point['law']} vectors", f"d = {point['d']}", point["streams"]
    words = f"{what}, {of}, {size}, p = {point['p']} ({streams} streams)"
    return Comparison(words, *numbers, streams - 1, note, f"{family}, {of}", size)


def draw(figure: Figure, points: Points) -> None:
    """Left the largest margin against the load for each d, right recall against noise at the largest d."""
    margins, recalls = ([point for point in table if point["law"] == "gaussian"] for table in points)
    some(margins, "no margin is proved")
    d = max(point["d"] for point in recalls)
    left, right = subplots(figure, 1, 2, size=(8.2, 4.6))
    _draw_margins(left, margins)
    loads = _draw_recalls(right, [point for point in recalls if point["d"] == d])
    keys = [key(f"d = {d}", color=colour(d), lw=3) for d in sorted({point["d"] for point in margins})] + loads
    keys += mark_keys(margins, ", measured", ms=4.5)
    keys += [key("predicted at this d", color="0.3", ls="--", lw=1.2), key("limit of large d", color="0.3", lw=1.2)]
    finish(figure, "Memories of largest margin, each proved ({} a point)", margins, 4, (0.16, 0), keys)


def _draw_margins(panel: Axes, points: list[dict]) -> None:
    for (d,), here in grouped(points, "d"):
        most = float(capacity_associations(d))
        whole = np.unique(np.linspace(min(point["p"] for point in here), int(most), _CURVE).round().astype(int))
        limit = [(load_of(p, d), largest_margin(d * d, p)) for p in map(int, whole)]
        panel.plot(*zip(*limit), color=colour(d), lw=1.2, zorder=0)
        finite = sorted({(point["load"], point["predicted"]) for point in here if point["predicted"] is not None})
        if finite:
            panel.plot(*zip(*finite), "--", color=colour(d), lw=1.2, zorder=1)
        for point in here:
            style = mark_of(point["problem"], colour(d)) | {"ms": 4.5, "lw": 1, "zorder": 2}
            panel.errorbar(point["load"], point["margin"], point["error"], **style)
    panel.set(xlabel="load, N D(N) / d²", ylabel="largest margin / |W|", ylim=(0, None))


def _draw_recalls(panel: Axes, recalls: list[dict]) -> list[Line2D]:
    """The least, the middle and the largest load, and their keys."""
    sizes = sorted({point["p"] for point in recalls})
    chosen = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})
    for p, tint in zip(chosen, _TINTS):
        for point in (point for point in recalls if point["p"] == p):
            panel.plot(point["noises"], point["predicted"], "--", color=tint, lw=1.2, zorder=1)
            style = mark_of(point["problem"], tint) | {"ms": 4.5, "lw": 1, "zorder": 2}
            panel.errorbar(point["noises"], point["recalled"], point["error"], **style)
    d = recalls[0]["d"]
    panel.set(xlabel=f"noise, per component of an input (d = {d})", ylabel="share recalled", ylim=(0, 1.03))
    return [key(f"load {load_of(p, d):.2f}", color=tint, lw=3) for p, tint in zip(chosen, _TINTS)]


MARGIN = Study(
    "margin",
    "How large a margin can all facts have, and how much noise does it bear?",
    runs,
    points,
    draw,
    Caption(
        "How large a margin all associations can have, and how much noise it bears",
        "Left the mean over streams of the largest margin that a memory of unit norm can give to all associations at "
        "once, each proved to a millionth; Gaussian vectors. Right the share that such memories recall from noisy "
        "inputs, at the largest d. Bars are standard errors.",
        "N D_kappa(N) = d^2 in the limit of large d; at finite d the same with the distance in the d dimensions of a "
        "query, sampled, for decoupled outputs. Recall is predicted from each memory's margins. No free parameter.",
    ),
    compare,
    plotted=lambda points: points._asdict(),
)
