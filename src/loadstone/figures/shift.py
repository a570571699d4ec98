"""How much more the original problem stores than the decoupled one, against d, and which law its fall follows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.rows import Row
from loadstone.evidence.shift import PROVED, STORED, Fit, compare_shift, fitted_laws, shift_points
from loadstone.figures.figure import Caption, Figure, from_catalogue
from loadstone.figures.style import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.theory.capacity import capacity_associations

_MARKS = {PROVED: "o", STORED: "^"}
_INKS = {"original": COLOURS[1], "decoupled": COLOURS[0]}
#: Standard deviations beyond which chance alone is rarer than 1 %.
_EXCLUDED = 2.58
_LINES = {"c / log p": ("--", "0.35"), "c / (log p)^2": (":", "0.35"), "c d^-x": ("-", "0.1")}


def draw_shift(rows: list[Row], stem: Path) -> list[Path]:
    """Left the excess of the original problem with fitted laws, right that of the decoupled one, which should be 0."""
    points = shift_points(rows)
    if not points:
        raise NothingToDrawError("no capacity is known")
    original = [point for point in points if point["problem"] == "original"]
    fits = fitted_laws(original)
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.6))
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
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Mean capacity above the formula for the decoupled problem ({streams} a point)", fontsize=10)
        lines = legend(figure, 2)
        figure.tight_layout(rect=(0, 0.045 * lines + 0.01, 1, 1))
        numbers = [asdict(fit) | {"deviations": fit.deviations} for fit in fits]
        return save(figure, stem, {"points": points, "fits": numbers})


def _point(panel: Axes, point: dict) -> None:
    panel.errorbar(
        point["d"], 100 * point["excess"], 100 * point["error"], fmt=_MARKS[point["way"]], ms=5, lw=1, zorder=2,
        color=_INKS[point["problem"]], label=f"{point['problem']}, {point['way']}",
    )  # fmt: skip


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


def _remarks(rows: list[Row]) -> list[str]:
    """Which laws remain possible, if L-BFGS reaches the capacity and if it missed all it could."""
    original = [point for point in shift_points(rows) if point["problem"] == "original"]
    cases = {"if L-BFGS reaches the capacity": "excess", "if it missed all it could": "at most"}
    return [
        f"The fall of the excess with d, {case}: {', '.join(_excluded(fit) for fit in fits)}."
        for case, excess in cases.items()
        if (fits := fitted_laws(original, excess))
    ]


def _excluded(fit: Fit) -> str:
    law = f"{fit.law} with x = {fit.x:.2f}({100 * fit.x_error:.0f})" if fit.x_error else fit.law
    excluded = "excluded" if fit.deviations > _EXCLUDED else "not excluded"
    return f"{law} is {excluded} ({fit.deviations:.1f} standard deviations)"


SHIFT = Figure(
    "shift",
    from_catalogue("shift"),
    draw_shift,
    compare_shift,
    Caption(
        "How much more the original problem stores",
        "By how many per cent the mean capacity of streams exceeds the mean that the kinematic formula gives for the "
        "decoupled problem. Circles: every capacity is proved. Triangles: the largest p that L-BFGS stores, found to "
        "0.1 % with up to 3000 passes each; a bar above one marks the excess if L-BFGS had missed everything below the "
        "smallest p at which it reached a minimum of the loss. Bars are standard errors, with the scatter of the "
        "formula.",
        "Decoupled: 0, without a free parameter. Original: no theory; the lines are fits with their chi-square for so "
        "many degrees of freedom, and the number of standard deviations that is as unlikely.",
    ),
    remarks=_remarks,
)
