"""What others measured: the largest N that Adam recalls to 99 %, beside the law and every published threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.peers import (
    PUBLISHED,
    compare_peers,
    length_points,
    most_at_99_percent,
    recalled_points,
    remarks_on_peers,
)
from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import HEBBIAN_CAPACITY, capacity, capacity_associations
from loadstone.theory.load import load

#: Published thresholds N log N / d^2 that do not depend on d: name, value and line.
_CONSTANTS = (
    ("Nichani et al. (2024), drawn: 1/1.3", 1 / PUBLISHED, "--"),
    ("Giorlandino et al.; Barnfield et al. (2026), limit: 1/2", float(capacity(1)), ":"),
    ("outer products, limit: 1/8", HEBBIAN_CAPACITY, "-."),
)


def draw_peers(rows: list[Row], stem: Path) -> list[Path]:
    """Left the load that was recalled, right its ratio to the law, with proved capacities."""
    recalled, lengths = recalled_points(rows), length_points(rows)
    if not recalled:
        raise NothingToDrawError("no stream was recalled to 99 %")
    dimensions = sorted({point["d"] for point in recalled})
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 5.0))
        _law(left, right, dimensions)
        for name, value, line in _CONSTANTS:
            left.axhline(value, color="0.45", lw=1, ls=line, zorder=0, label=name)
        d, p, error, law = (np.array([point[name] for point in recalled]) for name in ("d", "p", "error", "law"))
        style: dict[str, Any] = {"fmt": "o", "color": COLOURS[0], "ms": 5, "lw": 1, "label": "recalled to 99 % by Adam"}
        left.errorbar(d, load(p, d), load(p, d) * error / p, **style)
        right.errorbar(d, p / law, error / law, **style)
        for name, words, mark in (("equal", "equal", "s"), ("random", "Gaussian", "D")):
            _proved(right, lengths, name, f"all stored (proved), {words} lengths", mark)
        for panel in (left, right):
            panel.set(xscale="log", xlabel="dimension d")
            panel.set_xticks(dimensions, [str(one) for one in dimensions])
            panel.minorticks_off()
        left.set(ylabel=r"$N \log N / d^2$", ylim=(0, None))
        right.set_ylabel("N / law")
        seeds = counted((point["seeds"] for point in recalled), "seeds")
        figure.suptitle(f"The largest N recalled to 99 %, by the protocol of Nichani et al. ({seeds})", fontsize=10)
        lines = legend(figure, 2)
        figure.tight_layout(rect=(0, 0.01 + 0.042 * lines, 1, 1))
        return save(figure, stem, {"recalled": recalled, "lengths": lengths})


def _law(left: Axes, right: Axes, dimensions: list[int]) -> None:
    """The law for full storage on a fine grid, and the bound for 99 % at the dimensions that were run."""
    fine = np.unique(np.geomspace(min(dimensions), max(dimensions), 40).round().astype(int))
    full = np.asarray(capacity_associations(fine))
    left.plot(fine, load(full, fine), color=PREDICTION, lw=1.4, label="law, all stored")
    right.axhline(1, color=PREDICTION, lw=1.4, zorder=0)
    most = np.array([most_at_99_percent(d).value for d in dimensions])
    style: dict[str, Any] = {"color": PREDICTION, "lw": 1, "ls": "--", "label": "law at 99 %, at most"}
    left.plot(dimensions, load(most, np.array(dimensions)), **style)
    right.plot(dimensions, most / np.asarray(capacity_associations(dimensions)), **style)


def _proved(panel: Axes, points: list[dict], name: str, label: str, mark: str) -> None:
    # If p associations are storable but not p + 1, the threshold lies between the two.
    x, y = ([point[one] for point in points] for one in ("d", name))
    ratios = (np.array(y) + 0.5) / np.array([point["law"] for point in points])
    errors = np.array([point[f"{name}_error"] / point["law"] for point in points])
    panel.errorbar(x, ratios, errors, fmt=mark, color=COLOURS[1], mfc="white", ms=5, lw=1, label=label)


PEERS = Figure(
    "peers",
    from_catalogue("peers"),
    draw_peers,
    compare_peers,
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
    remarks_on_peers,
)
