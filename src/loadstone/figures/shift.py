"""How much more the original problem stores than the decoupled one, against d, and which law its fall follows; and with
groups of inputs that share outputs between the two."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.group_laws import fitted_group_laws, left
from loadstone.evidence.groups import compare_groups, excess_left, group_points, would_have_been_seen
from loadstone.evidence.shift import PROVED, STORED, Fit, compare_shift, fitted_laws, shift_points
from loadstone.studies.kit.comparison import Comparison, with_error
from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import capacity_associations

_MARKS = {PROVED: "o", STORED: "^"}
_INKS = {"original": COLOURS[1], "decoupled": COLOURS[0]}
#: Standard deviations beyond which chance alone is rarer than 1 %.
_EXCLUDED = 2.58
_LINES = {"c / log p": ("--", "0.35"), "c / (log p)^2": (":", "0.35"), "c d^-x": ("-", "0.1")}


def draw_shift(rows: list[Row], stem: Path) -> list[Path]:
    """First the excess of the original problem with fitted laws, then that of the decoupled one, which should be 0; and
    if there are any, the ratio to the formula against the number of groups."""
    points = shift_points(rows)
    if not points:
        raise NothingToDrawError("no capacity is known")
    original = [point for point in points if point["problem"] == "original"]
    fits, groups = fitted_laws(original), group_points(rows)
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 3 if groups else 2, figsize=(11.6 if groups else 8.2, 4.8))
        left, right = panels[:2]
        _laws(left, fits, [point["d"] for point in points])
        for point in points:
            _point(left if point["problem"] == "original" else right, point)
        _missed(left, original)
        left.set(xscale="log", yscale="log", title="original")
        # Bars that reach below zero end at the lower edge.
        drawn = [100 * point["excess"] for point in original if point["excess"] > 0]
        left.set_ylim(0.5 * min(drawn, default=1), 1.6 * max(drawn, default=1))
        right.axhline(0, color=PREDICTION, lw=1.2, zorder=0)
        right.set(xscale="log", title="decoupled")
        _axes((left, right), sorted({point["d"] for point in points}))
        if groups:
            draw_groups(panels[2], groups)
        streams = counted((point["streams"] for point in points + groups), "streams")
        figure.suptitle(f"Mean capacity beside the formula for the decoupled problem ({streams} a point)", fontsize=10)
        lines = legend(figure, 3 if groups else 2)
        figure.tight_layout(rect=(0, 0.045 * lines + 0.01, 1, 1))
        numbers = [asdict(fit) | {"deviations": fit.deviations} for fit in fits]
        return save(figure, stem, {"points": points, "fits": numbers, "groups": groups})


def _point(panel: Axes, point: dict) -> None:
    panel.errorbar(
        point["d"], 100 * point["excess"], 100 * point["error"], fmt=_MARKS[point["way"]], ms=5, lw=1, zorder=2,
        color=_INKS[point["problem"]], label=f"{point['problem']}, {point['way']}",
    )  # fmt: skip


def draw_groups(panel: Axes, points: list[dict]) -> None:
    """Mean capacity over the formula against the number of groups, and from where on a ratio would have been seen."""
    panel.axhline(1, color=PREDICTION, lw=1.2, zorder=0)
    dimensions = sorted({point["d"] for point in points})
    most = max(point["predicted"] for point in points)
    pairs = next(iter(fitted_group_laws(points)), None)
    for place, d in enumerate(dimensions):
        found, ink = [point for point in points if point["d"] == d], COLOURS[2 + place]
        # Neighbours of one number of groups stand side by side; with a set for each input there are p sets.
        x = [1.05**place * (point["groups"] or point["predicted"]) for point in found]
        ratio, error = ([offset + point[key] for point in found] for offset, key in ((1, "excess"), (0, "error")))
        panel.errorbar(x, ratio, error, fmt="o", ms=4, lw=1, color=ink, zorder=2, label=f"d = {d}, groups, proved")
        if pairs:
            p = found[0]["predicted"]
            g = np.geomspace(1, p, 50)
            law = [1 + pairs.excess[d] * left(pairs.law, one, p) for one in g]
            panel.plot(1.05**place * g, law, color=ink, lw=1, zorder=1, label="proportional to pairs that share")
        seen = [1 + would_have_been_seen(point) for point in found]
        panel.plot(x, seen, ":", lw=1, color=ink, zorder=1, label="dotted: a ratio above would have been seen")
    ticks = [2**k for k in range(int(np.log2(most)) + 1)]
    panel.set(xscale="log", title="groups of inputs share outputs", xlabel="groups (1: original, p: decoupled)")
    panel.set(ylabel="mean capacity / formula", xlim=(0.8, 1.4 * most))
    panel.set_xticks(ticks, [str(tick) for tick in ticks])
    panel.minorticks_off()


def _missed(panel: Axes, points: list[dict]) -> None:
    """How much more there is at most where L-BFGS may have missed a memory."""
    for point in points:
        if point["at most"] > point["excess"]:
            label = "at most, if L-BFGS missed all it could"
            panel.plot(point["d"], 100 * point["at most"], "_", color=_INKS["original"], ms=9, mew=1.2, label=label)


def _laws(panel: Axes, fits: list[Fit], dimensions: list[int]) -> None:
    # The capacity is known for whole d: at small d a rounded one would show as a kink.
    d = np.unique(np.geomspace(min(dimensions), max(dimensions), 60).round().astype(int))
    logarithms = np.log(np.asarray(capacity_associations(d)))
    for fit in fits:
        style, ink = _LINES[fit.law]
        size = d.astype(float) if fit.law == "c d^-x" else logarithms
        panel.plot(d, 100 * fit.c * size**-fit.x, style, color=ink, lw=1.3, zorder=1, label=_words(fit))


def _words(fit: Fit) -> str:
    law = {
        "c / log p": rf"${fit.c:.3f} / \log p$",
        "c / (log p)^2": rf"${fit.c:.2f} / (\log p)^2$",
        "c d^-x": rf"${fit.c:.3f}\, d^{{-x}}$, $x$ = {fit.x:.2f} $\pm$ {fit.x_error:.2f}",
    }[fit.law]
    return rf"{law}: $\chi^2$ = {fit.chi_square:.1f} for {fit.freedom}, {fit.deviations:.1f} $\sigma$"


def _axes(panels: tuple[Axes, Axes], dimensions: list[int]) -> None:
    for panel in panels:
        panel.set(xlabel="dimension d", ylabel="excess in per cent", xlim=(dimensions[0] / 1.2, dimensions[-1] * 1.2))
        panel.set_xticks(dimensions, [str(d) for d in dimensions])
        panel.minorticks_off()
    low, high = panels[0].get_ylim()
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 20) if low <= tick <= high]
    panels[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def _compare(rows: list[Row]) -> list[Comparison]:
    return compare_shift(rows) + compare_groups(rows)


def _remarks(rows: list[Row]) -> list[str]:
    """Which laws remain possible, if L-BFGS reaches the capacity and if it missed all it could; and what is left of the
    excess with groups."""
    return _laws_in_words(rows) + _group_laws_in_words(rows) + [
        f"With groups at d = {d}, of the excess of the original problem are left: {', '.join(left)}."
        for d, left in _left(rows).items()
    ]


def _group_laws_in_words(rows: list[Row]) -> list[str]:
    found = ", ".join(
        f"{fit.law} is {_judged(fit.deviations)}, chi-square {fit.chi_square:.1f} for {fit.freedom}"
        for fit in fitted_group_laws(group_points(rows))
    )
    return [f"What is left of the excess with g groups of inputs, at all d: {found}."] if found else []


def _left(rows: list[Row]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for one in excess_left(group_points(rows)):
        if one["groups"] is not None:
            share = with_error(100 * one["left"], 100 * one["error"])
            found.setdefault(one["d"], []).append(f"{share} % with {one['groups']} groups")
    return found


def _laws_in_words(rows: list[Row]) -> list[str]:
    original = [point for point in shift_points(rows) if point["problem"] == "original"]
    cases = {"if L-BFGS reaches the capacity": "excess", "if it missed all it could": "at most"}
    return [
        f"The fall of the excess with d, {case}: {', '.join(_excluded(fit) for fit in fits)}."
        for case, excess in cases.items()
        if (fits := fitted_laws(original, excess))
    ]


def _excluded(fit: Fit) -> str:
    law = f"{fit.law} with x = {fit.x:.2f}({100 * fit.x_error:.0f})" if fit.x_error else fit.law
    return f"{law} is {_judged(fit.deviations)}"


def _judged(deviations: float) -> str:
    return f"{'excluded' if deviations > _EXCLUDED else 'not excluded'} ({deviations:.1f} standard deviations)"


SHIFT = Figure(
    "shift",
    from_catalogue("shift"),
    draw_shift,
    _compare,
    Caption(
        "The original problem beside the formula for the decoupled one",
        "By how many per cent the mean capacity of streams exceeds the mean that the kinematic formula gives for the "
        "decoupled problem. Circles: every capacity is proved. Triangles: the largest p that L-BFGS stores, found to "
        "0.1 % with up to 3000 passes each; a bar above one marks the excess if L-BFGS had missed everything below the "
        "smallest p at which it reached a minimum of the loss. Bars are standard errors, with the scatter of the "
        "formula. Right: proved capacities of the same streams if only groups of inputs share outputs, input mu in "
        "group mu mod g; bars are standard errors of the streams' own scatter. A ratio above the dotted line would "
        "have been seen with a probability of 80 %.",
        "Decoupled: 0, without a free parameter. Original: no theory; the lines are fits with their chi-square for so "
        "many degrees of freedom, and the number of standard deviations that is as unlikely. Groups: proportional to "
        "the share of pairs of inputs that share outputs, (p/g - 1) / (p - 1), with the excess of each d fitted.",
    ),
    remarks=_remarks,
)
