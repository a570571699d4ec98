"""What typical, central and maximum-margin memories recall with rounded entries and from noisy inputs."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from loadstone.evidence.robustness import COMPARED, NOISY, ROUNDED, compare_robustness, robustness_points
from loadstone.evidence.typical import MEMORIES
from loadstone.studies.kit.panels import COLOURS, MARKS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.study import Caption, Figure, from_catalogue

_INKS = dict(zip(MEMORIES, COLOURS))
#: The dimension that is shown if there is one as large.
_SHOWN = 16
#: Bits at which dimensions are compared.
_BITS = 2


def draw_robustness(rows: list[Row], stem: Path) -> list[Path]:
    """Left against bits and in the middle against noise, at one size; right two bits, against the dimension."""
    points = robustness_points(rows)
    if not points:
        raise NothingToDrawError("no memories were sampled")
    size = min(points, key=lambda one: (abs(one["d"] - _SHOWN), one["problem"], abs(one["share"] - COMPARED)))
    shown = [point for point in points if all(point[name] == size[name] for name in ("problem", "d", "p"))]
    with plt.rc_context(STYLE):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 4.2))
        for point in shown:
            _curve(left, point, ROUNDED, "bits")
            _curve(middle, point, NOISY, "noises")
        left.set(xlabel="bits of each entry of W", ylabel="share recalled", ylim=(0, 1.03), xscale="log")
        left.set_xticks(size["bits"], [str(bits) for bits in size["bits"]])
        left.minorticks_off()
        middle.set(xlabel="noise of the input / its components", ylabel="share recalled", ylim=(0, 1.03))
        title = f"{size['problem']}, d = {size['d']}, {size['share']:g} of capacity"
        left.set_title(title)
        middle.set_title(title)
        _against_dimension(right, [point for point in points if point["share"] == size["share"]], size["share"])
        middle.plot([], [], "--", color="0.3", lw=1.2, label="predicted from noise on the queries")
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Solutions with rounded entries or noisy inputs ({streams} a point)", fontsize=10)
        lines = legend(figure, 4)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"points": points})


def _curve(panel: Axes, point: dict, kind: str, levels: str) -> None:
    ink = _INKS[point["memory"]]
    panel.errorbar(point[levels], point[kind], point[f"{kind}_error"], fmt="o", color=ink, ms=4, lw=1,
                   label=MEMORIES[point["memory"]])  # fmt: skip
    if None not in point[f"{kind}_predicted"]:
        panel.plot(point[levels], point[f"{kind}_predicted"], "--", color=ink, lw=1.2)


def _against_dimension(panel: Axes, points: list[dict], share: float) -> None:
    for (problem, name), group in grouped(points, "problem", "memory"):
        mark, face = MARKS[problem]
        known = [one for one in group if None not in one[f"{ROUNDED}_predicted"]]
        chosen, d = [(one, one["bits"].index(_BITS)) for one in known], [one["d"] for one in known]
        ratio = [one[ROUNDED][place] / one[f"{ROUNDED}_predicted"][place] for one, place in chosen]
        error = [one[f"{ROUNDED}_error"][place] / one[f"{ROUNDED}_predicted"][place] for one, place in chosen]
        ink = _INKS[name]
        panel.errorbar(d, ratio, error, fmt=f"{mark}-", color=ink, mfc=face or ink, ms=4, lw=1)
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        panel.plot([], [], mark, color="0.3", mfc=face or "0.3", ms=4, label=f"{problem} (right)")
    sizes = sorted({point["d"] for point in points})
    panel.axhline(1, color="0.4", lw=1, ls="--")
    panel.set(xscale="log", xlabel="dimension d", ylabel="share recalled / predicted")
    panel.set_title(f"{_BITS} bits, {share:g} of capacity")
    panel.set_xticks(sizes, [str(d) for d in sizes])
    panel.minorticks_off()


ROBUSTNESS = Figure(
    "robustness",
    from_catalogue("space"),
    draw_robustness,
    compare_robustness,
    Caption(
        "How much rounding and noise three kinds of solutions bear",
        "The share of associations recalled by typical solutions, by their centre and by the memory of largest margin "
        "when the entries of W are rounded (left) and when noise is added to the inputs (middle); right the share with "
        "entries of two bits, divided by what is predicted, against the dimension. Means over streams with standard "
        "errors.",
        "Both act as noise on the query, whose law at this d and p follows from the overlap of two solutions by the "
        "replica-symmetric functional, for each of the three memories. No free parameter.",
    ),
)
