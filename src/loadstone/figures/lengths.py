"""By how much the free entropy lies below the functional, and how much of it is due to outputs of different lengths."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from loadstone.evidence.lengths import DIFFERENT, EQUAL, compare_lengths, excess_in_words, free_entropies
from loadstone.studies.kit.panels import COLOURS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.study import Caption, Figure, from_catalogue

#: Mark, face colour and name of each law, and by how much its points are moved to the right so that none is hidden.
_MARKS = {DIFFERENT: ("o", None, "Gaussian", 0.0), EQUAL: ("s", "white", "equal lengths", 0.0012)}


def draw_lengths(rows: list[Row], stem: Path) -> list[Path]:
    """A panel for each problem: the excess against 1/d."""
    points = free_entropies(rows)
    if not points:
        raise NothingToDrawError("the free entropy is not known for several streams of any size")
    problems = sorted({point["problem"] for point in points})
    inks = dict(zip(sorted({point["share"] for point in points}), COLOURS))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(problems), figsize=(4.2 * len(problems), 4.2), sharey=True, squeeze=False)
        for panel, problem in zip(axes[0], problems):
            _panel(panel, [point for point in points if point["problem"] == problem], inks)
            panel.set(title=problem, xlabel="1 / d")
        axes[0, 0].set_ylabel("|free entropy| above the functional, %")
        streams = counted((point["volumes"] for point in points), "streams")
        figure.suptitle(f"Free entropy beside the functional ({streams} a point)", fontsize=10)
        lines = legend(figure, 3)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"points": points})


def _panel(panel: Axes, points: list[dict], inks: dict[float, str]) -> None:
    for (law, share), group in grouped(points, "law", "share"):
        (mark, face, name, moved), ink = _MARKS[law], inks[share]
        x = [1 / one["d"] + moved for one in group]
        excess, error, lengths = ([one[name] for one in group] for name in ("excess", "excess_error", "lengths"))
        words = f"{name}, {share:g} of capacity"
        panel.errorbar(x, excess, error, fmt=mark, color=ink, mfc=face or ink, ms=4.5, lw=1, label=words)
        if law == DIFFERENT:
            panel.plot(x, lengths, "--", color=ink, lw=1.2, label=f"due to lengths, {share:g} of capacity")
    panel.axhline(0, color="0.4", lw=0.8)
    panel.set_xlim(0, 1.08 * max(1 / one["d"] for one in points))


LENGTHS = Figure(
    "lengths",
    from_catalogue("lengths"),
    draw_lengths,
    compare_lengths,
    Caption(
        "The free entropy beside the functional: Gaussian outputs, and outputs of equal length",
        "The size of the free entropy above that of the replica-symmetric functional at this p, in per cent, against "
        "1/d: Gaussian outputs, and outputs of equal length; means over streams, bars are standard errors of both.",
        "The functional takes the outputs of an association as having one length. Gaussian ones do not, and a long "
        "output wins more easily; dashed is what this adds to first order. No free parameter.",
    ),
    excess_in_words,
)
