"""How fast optimisers store close below the capacity: passes against the distance, and against the covariance."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.evidence.optimisers import approached
from loadstone.studies.kit.panels import COLOURS, STYLE, NothingToDrawError, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue, no_comparison

#: Name, colour and mark of each optimiser, by the first word of its text.
_LOOKS = {
    "sgd": ("gradient descent", COLOURS[0], "o"),
    "minibatch": ("SGD, minibatches", COLOURS[4], "s"),
    "perceptron": ("perceptron rule", COLOURS[5], "v"),
    "paper": ("Adam, paper's protocol", "0.55", "X"),
    "adam": ("Adam, constant rate", COLOURS[1], "D"),
    "normalised": ("normalised gradient", COLOURS[3], "P"),
    "muon": ("Muon", "#8C5A2B", "*"),
    "lbfgs": ("L-BFGS", COLOURS[2], "^"),
    "newton": ("Newton, by arithmetic", "black", "."),
}
#: The right panel is at this distance.
_NEAR = 0.05
#: Where p = p_c itself is drawn, relative to the smallest distance.
_AT_CAPACITY = 0.4


def draw_optimisers(rows: list[Row], stem: Path) -> list[Path]:
    """Left the passes at each distance below capacity, right those at one distance for several covariances."""
    curves = approached(rows)
    white = [curve for curve in curves if curve["law_exponent"] == 0]
    if not white:
        raise NothingToDrawError("no optimiser was tried below a proved capacity")
    main = min(curve["d"] for curve in white)
    shown = [curve for curve in white if curve["d"] == main]
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 5.4), width_ratios=(1.5, 1))
        for curve in white:
            _approach(left, curve, curve["d"] == main)
        left.set(xscale="log", yscale="log", xlabel=r"distance from the proved capacity, $1 - p/p_c$")
        _ticks(left, shown[0])
        left.set_ylabel("passes until every association is stored")
        left.set_title("crosses: not stored within the limit", fontsize=9)
        skewed = [curve for curve in curves if curve["d"] == main]
        _covariances(right, skewed)
        streams = counted((curve["streams"] for curve in shown), "streams")
        figure.suptitle(f"Storing close below the proved capacity (d = {main}, {streams}, medians)", fontsize=10)
        keys = [_key(curve) for curve in sorted(shown, key=_slowness)]
        others = sorted({curve["d"] for curve in white} - {main})
        keys += [Line2D([], [], color="0.3", lw=0.9, ls=_DASHES[d % 3], label=f"d = {d}") for d in others]
        figure.legend(handles=keys, loc="lower center", ncols=3, frameon=False, fontsize=7.5)
        figure.tight_layout(rect=(0, 0.036 * -(-len(keys) // 3) + 0.01, 1, 1))
        return save(figure, stem, {"curves": curves})


_DASHES = ("--", ":", "-.")


def _look(curve: dict) -> tuple[str, str, str]:
    text = curve["optimiser"]
    name, colour, mark = _LOOKS.get(text.partition(":")[0], (text, "0.3", "o"))
    return (name, colour, mark) if "whiten=False" not in text else ("L-BFGS, not whitened", COLOURS[2], "<")


def _approach(panel: Axes, curve: dict, main: bool) -> None:
    """The median and the quartiles of one optimiser; a cross where most streams were not stored within the limit."""
    _, colour, mark = _look(curve)
    least = min(x for x in curve["distance"] if x > 0)
    points = list(zip(curve["distance"], curve["median"], curve["lower"], curve["upper"]))
    known = [(x if x > 0 else _AT_CAPACITY * least, *rest) for x, *rest in points if rest[0] is not None]
    below = [point for point, x in zip(known, curve["distance"]) if x > 0]
    if not main:
        panel.plot([x for x, *_ in below], [y for _, y, *_ in below], color=colour, lw=0.9, ls=_DASHES[curve["d"] % 3])
        return
    panel.plot([x for x, *_ in below], [y for _, y, *_ in below], color=colour, lw=1.2)
    for x, median, lower, upper in known:
        bars = [[median - lower], [(upper if upper is not None else curve["limit"]) - median]]
        panel.errorbar([x], [median], bars, fmt=mark, color=colour, ms=5, lw=0.8)
    lost = [x if x > 0 else _AT_CAPACITY * least for x, median, *_ in points if median is None]
    panel.plot(lost, [curve["limit"] * (1.15 + 0.12 * _order(curve))] * len(lost), "x", color=colour, ms=4.5)


def _order(curve: dict) -> int:
    """Crosses of several optimisers are drawn above each other."""
    name = curve["optimiser"].partition(":")[0]
    return list(_LOOKS).index(name) if name in _LOOKS else len(_LOOKS)


def _ticks(panel: Axes, curve: dict) -> None:
    """The distances in per cent, and the capacity itself, which has no place on a scale of logarithms."""
    least = min(x for x in curve["distance"] if x > 0)
    below = [x for x in curve["nominal"] if x > 0]
    panel.set_xticks([*below, _AT_CAPACITY * least], [*(f"{100 * x:g} %" for x in below), "at $p_c$"], fontsize=8)
    panel.tick_params(axis="x", which="minor", bottom=False)
    panel.axvline(0.63 * least, color="0.8", lw=0.8)


def _slowness(curve: dict) -> list[float]:
    """Optimisers that store closest to the capacity come first, and the faster of two that get as far."""
    return [median or math.inf for median in reversed(curve["median"])]


def _key(curve: dict) -> Line2D:
    """What the legend says: the exponent, and how many streams are stored at 1 % below capacity."""
    name, colour, mark = _look(curve)
    words = [name]
    if curve["z"] is not None:
        error = f"({max(1, round(100 * curve['error']))})" if curve["error"] is not None else ""
        words.append(f"z = {curve['z']:.2f}{error}")
    if 0.01 in curve["nominal"]:
        words.append(f"{curve['stored'][curve['nominal'].index(0.01)]}/{curve['streams']} at 1 %")
    return Line2D([], [], color=colour, marker=mark, ms=5, lw=1.2, label=", ".join(words))


def _covariances(panel: Axes, curves: list[dict]) -> None:
    """Passes at one distance against the exponent of the variances, for optimisers that were tried on several laws."""
    tried = sorted({curve["optimiser"] for curve in curves if curve["law_exponent"] > 0})
    for text in tried:
        # Where no direction is special, L-BFGS has nothing to whiten.
        alike = (text, "lbfgs") if text.startswith("lbfgs") else (text,)
        chosen = [curve for curve in curves if curve["optimiser"] == text]
        chosen += [curve for curve in curves if curve["optimiser"] in alike and curve["law_exponent"] == 0]
        points = sorted({one["law_exponent"]: one for one in chosen}.items())
        name, colour, mark = _look(points[-1][1])
        at = [(a, one["median"][one["nominal"].index(_NEAR)], one["limit"]) for a, one in points]
        stored = [(a, median) for a, median, _ in at if median is not None]
        panel.plot(*zip(*stored), marker=mark, color=colour, ms=5, lw=1.2, label=name, mfc=_face(text, colour))
        for a, median, limit in at:
            if median is None:
                panel.plot([a], [1.15 * limit], "x", color=colour, ms=5)
    panel.set(yscale="log", xlabel=r"exponent $a$: variances $\propto k^{-a}$", ylabel="passes")
    panel.set_title(f"other covariances, the same capacities\n({100 * _NEAR:g} % below capacity)", fontsize=9)
    if tried:
        panel.legend(frameon=False, fontsize=8)


def _face(text: str, colour: str) -> str:
    return "white" if "whiten=False" in text else colour


def _remarks(rows: list[Row]) -> list[str]:
    """How many streams each optimiser stored at the smallest distance below the capacity, and in how many passes."""
    words = []
    for curve in approached(rows):
        least = min((x for x in curve["nominal"] if x > 0), default=None)
        if least is None or curve["law_exponent"] != 0:
            continue
        at = curve["nominal"].index(least)
        median = curve["median"][at]
        passes = f", in {median:.0f} passes (median)" if median is not None else ""
        words.append(
            f"d = {curve['d']}, {100 * least:g} % below the proved capacity: {_look(curve)[0]} stores "
            f"{curve['stored'][at]} of {curve['streams']} streams{passes}."
        )
    return words


OPTIMISERS = Figure(
    name="optimisers",
    sweep=from_catalogue("optimisers"),
    draw=draw_optimisers,
    compare=no_comparison,
    caption=Caption(
        title="Every optimiser against the proved capacity",
        drawn=(
            "The capacity of each stream is proved. Left: the median number of passes until every association is "
            "stored, at several distances below the capacity, with quartiles. The legend gives z in passes ~ "
            "distance^-z, fitted from 10 % on, and how many streams are stored at 1 % below. A round of minibatches "
            "counts as one pass, and measuring its result as another; Newton's method is counted by its "
            "multiplications. Right: the same streams with power-law variances of the embeddings."
        ),
        theory=(
            "Novikoff's bound allows the perceptron rule (1 / margin)^2 moves: z = 2 if margins close in proportion to "
            "the distance. That holds close to the capacity; fits are over the few distances that were stored. A "
            "linear map of the embeddings changes W, but not whether one exists: a stream has the same capacity for "
            "all covariances, and only the number of passes may differ. Whitened, the searches are the same, too."
        ),
    ),
    remarks=_remarks,
)
