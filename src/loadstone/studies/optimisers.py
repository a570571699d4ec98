"""How many passes do optimisers take to store a stream close below its proved capacity?

At distance x = 1 - p / p_c the median over streams follows passes ~ x^-z in the range that is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from loadstone.studies.kit.panels import COLOURS, Axes, Figure, Line2D, key, subplots
from loadstone.studies.kit.passes import quantiles, slope, slope_error
from loadstone.studies.kit.points import some, streams_in
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study

#: Constant rates, those of defaults included, are the best of a few, a factor of 2 or 3 apart, on streams 100 to 103 of
#: d = 30 at 3 % below their capacity. Adam's is the usual one; 0.3 would be faster.
_OPTIMISERS = ("sgd:1.5", "minibatch", "perceptron", "paper", "adam:0.1", "normalised", "muon:0.1", "lbfgs", "newton")
_ON_POWER_LAWS = ("adam:0.1", "lbfgs:whiten=False", "lbfgs")

_QUANTILES = {"lower": 0.25, "median": 0.5, "upper": 0.75}


class Look(NamedTuple):
    """How an optimiser is called and drawn."""

    name: str
    colour: str
    mark: str


#: By the first word of an optimiser's text.
_LOOKS = {
    "sgd": Look("gradient descent", COLOURS[0], "o"),
    "minibatch": Look("SGD, minibatches", COLOURS[4], "s"),
    "perceptron": Look("perceptron rule", COLOURS[5], "v"),
    "paper": Look("Adam, paper's protocol", "0.55", "X"),
    "adam": Look("Adam, constant rate", COLOURS[1], "D"),
    "normalised": Look("normalised gradient", COLOURS[3], "P"),
    "muon": Look("Muon", "#8C5A2B", "*"),
    "lbfgs": Look("L-BFGS", COLOURS[2], "^"),
    "newton": Look("Newton, by arithmetic", "black", "."),
}
#: Lines of dimensions other than the smallest.
_DASHES = ("--", ":", "-.")
#: The right panel is at this distance.
_NEAR = 0.05
#: Where p = p_c itself is drawn, relative to the smallest distance.
_AT_CAPACITY = 0.4


def runs(scale: str) -> list[Spec]:
    """How many passes each optimiser takes to store streams close below their proved capacity; and three of them on
    streams of the same capacity whose embeddings have variances that fall as a power law."""
    passes = {"quick": 1000, "paper": 10_000}[scale]
    streams = {"quick": {20: 3}, "paper": {30: 12, 50: 4, 100: 2}}[scale]
    exponents = {"quick": (1,), "paper": (0.5, 1, 1.5)}[scale]
    least = min(streams)
    tried = [(d, "gaussian", optimiser) for d in streams for optimiser in _OPTIMISERS]
    tried += [(least, f"power law:{a}", optimiser) for a in exponents for optimiser in _ON_POWER_LAWS]
    return [
        spec("original", d, share_of_capacity(1, d), seed, law=law, solver="approach", parameters=parameters)
        for d, law, optimiser in tried
        for parameters in [{"optimiser": optimiser, "passes": passes}]
        for seed in range(streams[d])
    ]


def points(rows: list[Row]) -> list[dict]:
    """A curve for each dimension, law and optimiser: at each distance the median and the quartiles of the passes (None
    where that many streams were not stored) and how many streams were stored; and the exponent z with its standard
    error."""
    proved = [row | _tried(row) for row in rows if row["solver"] == "approach" and row["p_c"] is not None]
    kinds = ("problem", "d", "law_exponent", "optimiser")
    return [dict(zip(kinds, kind)) | _curve(group) for kind, group in grouped(proved, *kinds)]


def _tried(row: Row) -> dict[str, object]:
    """The optimiser's text, and the exponent of the embeddings' variances (0: all alike)."""
    _, _, exponent = str(row["law"]).partition("power law:exponent=")
    default = 1.0 if row["law"] == "power law" else 0.0
    optimiser = row.get("parameters", {}).get("optimiser", "lbfgs")
    return {"optimiser": optimiser, "law_exponent": float(exponent or default)}


def _curve(rows: list[Row]) -> dict:
    taken = np.array([[passes for *_, passes in row["attempts"]] for row in rows], float)
    stored = np.array([[bool(stored) for _, stored, *_ in row["attempts"]] for row in rows])
    distances = np.array([[1 - p / row["p_c"] for p, *_ in row["attempts"]] for row in rows])
    passes = np.where(stored, taken, math.inf)
    z, error = _finite([slope(distances, passes), slope_error(distances, passes)])
    # Searches are given up after fewer passes than are allowed where a schedule ends before.
    limit = int(max(taken[~stored], default=max(row["limit"] for row in rows)))
    return {
        "streams": len(rows), "limit": limit, "nominal": rows[0]["distances"],
        "distance": distances.mean(axis=0).tolist(), "stored": stored.sum(axis=0).tolist(),
        **{name: _finite(quantiles(passes, share)) for name, share in _QUANTILES.items()},
        "z": z, "error": error,
    }  # fmt: skip


def _finite(values: Iterable[float]) -> list[float | None]:
    """As JSON can hold them: None for a number that is infinite or unknown."""
    return [float(value) if math.isfinite(value) else None for value in values]


def remarks(points: list[dict]) -> list[str]:
    """How many streams each optimiser stored at the smallest distance below the capacity, and in how many passes."""
    sentences = []
    for curve in points:
        least = min((x for x in curve["nominal"] if x > 0), default=None)
        if least is None or curve["law_exponent"] != 0:
            continue
        at = curve["nominal"].index(least)
        median = curve["median"][at]
        passes = f", in {median:.0f} passes (median)" if median is not None else ""
        sentences.append(
            f"d = {curve['d']}, {100 * least:g} % below the proved capacity: {_look(curve).name} stores "
            f"{curve['stored'][at]} of {curve['streams']} streams{passes}."
        )
    return sentences


def draw(figure: Figure, points: list[dict]) -> None:
    """Left the passes at each distance below capacity, right those at one distance for several covariances."""
    isotropic = [curve for curve in points if curve["law_exponent"] == 0]
    some(isotropic, "no optimiser was tried below a proved capacity")
    main = min(curve["d"] for curve in isotropic)
    shown = [curve for curve in isotropic if curve["d"] == main]
    left, right = subplots(figure, 1, 2, size=(9.4, 5.4), width_ratios=(1.5, 1))
    for curve in isotropic:
        # Of other dimensions only the median is shown, as a line without marks.
        lw, ls = (1.2, "-") if curve["d"] == main else (0.9, _DASHES[curve["d"] % 3])
        known = [(x, median) for x, median in zip(curve["distance"], curve["median"]) if x and median is not None]
        left.plot(*np.reshape(known, (-1, 2)).T, color=_look(curve).colour, lw=lw, ls=ls)
        if curve["d"] == main:
            _draw_points(left, curve)
    left.set(xscale="log", yscale="log", xlabel=r"distance from the proved capacity, $1 - p/p_c$")
    _ticks(left, shown[0])
    left.set_ylabel("passes until every association is stored")
    left.set_title("crosses: not stored within the limit", fontsize=9)
    _draw_covariances(right, [curve for curve in points if curve["d"] == main])
    words = f"Storing close below the proved capacity (d = {main}, {streams_in(shown)}, medians)"
    figure.suptitle(words, fontsize=10)
    # Optimisers that store closest to the capacity come first, and the faster of two that get as far.
    ranked = sorted(shown, key=lambda curve: [median or math.inf for median in reversed(curve["median"])])
    keys = [_key(curve) for curve in ranked]
    others = sorted({curve["d"] for curve in isotropic} - {main})
    keys += [key(f"d = {d}", color="0.3", lw=0.9, ls=_DASHES[d % 3]) for d in others]
    figure.legend(handles=keys, loc="lower center", ncols=3, frameon=False, fontsize=7.5)
    figure.tight_layout(rect=(0, 0.036 * -(-len(keys) // 3) + 0.01, 1, 1))


def _look(curve: dict) -> Look:
    text = curve["optimiser"]
    if "whiten=False" in text:
        return Look("L-BFGS, not whitened", COLOURS[2], "<")
    return _LOOKS.get(text.partition(":")[0], Look(text, "0.3", "o"))


def _draw_points(panel: Axes, curve: dict) -> None:
    """The median and the quartiles of one optimiser; a cross where most streams were not stored within the limit."""
    look, capacity = _look(curve), _place_of_capacity(curve)
    medians = list(zip(curve["distance"], curve["median"], curve["lower"], curve["upper"]))
    for x, median, lower, upper in medians:
        if median is not None:
            bars = [[median - lower], [(upper if upper is not None else curve["limit"]) - median]]
            panel.errorbar([x or capacity], [median], bars, fmt=look.mark, color=look.colour, ms=5, lw=0.8)
    # Crosses of several optimisers are drawn above each other.
    order = [*_LOOKS.values(), look].index(look)
    lost = [x or capacity for x, median, *_ in medians if median is None]
    panel.plot(lost, [curve["limit"] * (1.15 + 0.12 * order)] * len(lost), "x", color=look.colour, ms=4.5)


def _place_of_capacity(curve: dict) -> float:
    """Where the capacity itself is drawn, whose distance is zero and has no place on a scale of logarithms."""
    return _AT_CAPACITY * min(x for x in curve["distance"] if x > 0)


def _ticks(panel: Axes, curve: dict) -> None:
    """The distances in per cent, and the capacity itself."""
    least = min(x for x in curve["distance"] if x > 0)
    below = [x for x in curve["nominal"] if x > 0]
    panel.set_xticks([*below, _place_of_capacity(curve)], [*(f"{100 * x:g} %" for x in below), "at $p_c$"], fontsize=8)
    panel.tick_params(axis="x", which="minor", bottom=False)
    panel.axvline(0.63 * least, color="0.8", lw=0.8)


def _key(curve: dict) -> Line2D:
    """What the legend says: the exponent, and how many streams are stored at 1 % below capacity."""
    look = _look(curve)
    words = [look.name]
    if curve["z"] is not None:
        error = f"({max(1, round(100 * curve['error']))})" if curve["error"] is not None else ""
        words.append(f"z = {curve['z']:.2f}{error}")
    if 0.01 in curve["nominal"]:
        words.append(f"{curve['stored'][curve['nominal'].index(0.01)]}/{curve['streams']} at 1 %")
    return key(", ".join(words), color=look.colour, marker=look.mark, ms=5, lw=1.2)


def _draw_covariances(panel: Axes, curves: list[dict]) -> None:
    """Passes at one distance against the exponent of the variances, for optimisers that were tried on several laws."""
    tried = sorted({curve["optimiser"] for curve in curves if curve["law_exponent"] > 0})
    for text in tried:
        # Where no direction is special, L-BFGS has nothing to whiten.
        alike = (text, "lbfgs") if text.startswith("lbfgs") else (text,)
        of_optimiser = [curve for curve in curves if curve["optimiser"] == text]
        of_optimiser += [curve for curve in curves if curve["optimiser"] in alike and curve["law_exponent"] == 0]
        by_exponent = sorted({curve["law_exponent"]: curve for curve in of_optimiser}.items())
        name, ink, mark = _look(by_exponent[-1][1])
        near = [(a, curve["median"][curve["nominal"].index(_NEAR)], curve["limit"]) for a, curve in by_exponent]
        stored = [(a, median) for a, median, _ in near if median is not None]
        face = "white" if "whiten=False" in text else ink
        panel.plot(*zip(*stored), marker=mark, mfc=face, color=ink, ms=5, lw=1.2, label=name)
        for a, median, limit in near:
            if median is None:
                panel.plot([a], [1.15 * limit], "x", color=ink, ms=5)
    panel.set(yscale="log", xlabel=r"exponent $a$: variances $\propto k^{-a}$", ylabel="passes")
    panel.set_title(f"other covariances, the same capacities\n({100 * _NEAR:g} % below capacity)", fontsize=9)
    if tried:
        panel.legend(frameon=False, fontsize=8)


OPTIMISERS = Study(
    "optimisers",
    "How many passes do optimisers take to store a stream close below its proved capacity?",
    runs,
    points,
    draw,
    Caption(
        "Every optimiser against the proved capacity",
        "The capacity of each stream is proved. Left: the median number of passes until every association is stored, "
        "at several distances below the capacity, with quartiles. The legend gives z in passes ~ distance^-z, fitted "
        "from 10 % on, and how many streams are stored at 1 % below. A round of minibatches counts as one pass, and "
        "measuring its result as another; Newton's method is counted by its multiplications. Right: the same streams "
        "with power-law variances of the embeddings.",
        "Novikoff's bound allows the perceptron rule (1 / margin)^2 moves: z = 2 if margins close in proportion to "
        "the distance. That holds close to the capacity; fits are over the few distances that were stored. A linear "
        "map of the embeddings changes W, but not whether one exists: a stream has the same capacity for all "
        "covariances, and only the number of passes may differ. Whitened, the searches are the same, too.",
    ),
    remarks=remarks,
    plotted=lambda points: {"curves": points},
)
