"""How many associations two layers store, beside linear memories."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.layers import as_many_parameters, as_wide, parameters, stored_by_layers
from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.study import Caption, Figure, from_catalogue, no_comparison

_MARKS = {"relu": "o", "gelu": "s", "attention": "^"}


def draw_layers(rows: list[Row], stem: Path) -> list[Path]:
    """A column for each dimension: above how many are stored, below the ratio to as many linear parameters."""
    points = stored_by_layers(rows)
    if not points:
        raise NothingToDrawError("no stream was stored up to its limit")
    dimensions = sorted({point["d"] for point in points})
    with plt.rc_context(STYLE):
        size = (4.1 * max(len(dimensions), 1.4), 5.6)
        figure, panels = plt.subplots(2, len(dimensions), figsize=size, squeeze=False, sharex="col")
        for (above, below), d in zip(panels.T, dimensions):
            here = [point for point in points if point["d"] == d]
            _laws(above, below, d, [point["width"] for point in here])
            for (activation, mark), ink in zip(_MARKS.items(), COLOURS):
                chosen = [point for point in here if point["activation"] == activation]
                if chosen:
                    _line(above, chosen, [1.0] * len(chosen), ink, mark)
                    _line(below, chosen, [point["as_many_parameters"] for point in chosen], ink, mark)
            above.set(xscale="log", yscale="log", title=f"d = {d}")
            below.set(xscale="log", xlabel="parameters, 2 d h", ylim=(0, None))
            widths = sorted({point["width"] for point in here})
            below.set_xticks([parameters(d, h) for h in widths], [f"{parameters(d, h)}\nh = {h}" for h in widths])
            below.minorticks_off()
        panels[0, 0].set_ylabel("largest p stored")
        panels[1, 0].set_ylabel("stored / law N D(N) = 2 d h")
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Two layers of width h, original problem, by L-BFGS ({streams} a point)", fontsize=10)
        lines = legend(figure, 2)
        figure.tight_layout(rect=(0, 0.01 + 0.035 * lines, 1, 1))
        return save(figure, stem, {"points": points})


def _laws(above: Axes, below: Axes, d: int, widths: list[int]) -> None:
    found = np.unique(np.geomspace(min(widths), max(widths), 40).round().astype(int))
    x = [parameters(d, int(width)) for width in found]
    many, wide = (np.array([law(d, int(width)) for width in found]) for law in (as_many_parameters, as_wide))
    above.plot(x, many, color=PREDICTION, lw=1.2, label="law: 2 d h linear parameters, N D(N) = 2 d h")
    above.plot(x, wide, "--", color="0.3", lw=1.2, label="law: linear memory of width h, rank min(h, d)")
    below.axhline(1, color=PREDICTION, lw=1.2, zorder=0)
    below.plot(x, wide / many, "--", color="0.3", lw=1.2)


def _line(panel: Axes, points: list[dict], units: list[float], ink: str, mark: str) -> None:
    x, y, error = ([point[name] for point in points] for name in ("parameters", "stored", "error"))
    panel.errorbar(
        x, np.divide(y, units), np.divide(error, units), color=ink, marker=mark, ms=5, lw=1,
        label=f"{points[0]['activation']}, stored",
    )  # fmt: skip


def _remarks(rows: list[Row]) -> list[str]:
    """What was stored, as a share of what a linear memory with as many free entries would hold."""
    words = []
    for (d, width), group in grouped(stored_by_layers(rows), "d", "width"):
        shares = [f"{point['activation']} {point['stored'] / point['as_many_parameters']:.2f}" for point in group]
        streams = counted((point["streams"] for point in group), "streams")
        words.append(
            f"d = {d}, h = {width} ({streams}): stored as a share of what as many linear parameters would hold: "
            f"{', '.join(shares)}."
        )
    return words


LAYERS = Figure(
    "layers",
    from_catalogue("layers"),
    draw_layers,
    no_comparison,
    Caption(
        "Two layers beside linear memories",
        "The largest p up to which a memory V a(K e) with h hidden units stores every association of a stream, as far "
        "as L-BFGS finds it within 1000 passes from a few random starts, mean over streams with standard errors. It "
        "says where training ends and not what can be stored: each point is a lower bound on what such a memory "
        "could store.",
        "There is none for these memories. Full line: N D(N) = 2 d h, what a linear memory with as many free entries "
        "would hold; beyond h = d/2 no d x d matrix has so many. Broken line: a linear memory V K of the same width, "
        "of rank min(h, d), by the replica value, which ends at the capacity of a full W. Two layers can do as much: "
        "with small keys gelu is linear, and so is attention with one unit more; relu needs two units for each. Points "
        "of gelu and attention below this line are failures of training.",
    ),
    remarks=_remarks,
)
