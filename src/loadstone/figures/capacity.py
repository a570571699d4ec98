"""The share of streams whose first p associations can be stored: proved, predicted, and where training fails."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.scores import compare_proved_scores
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.studies.kit.thresholds import compare_capacity, proved_capacities
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.storable import probability_storable

_MARKS = {"decoupled": ("o", COLOURS[0], "decoupled, proved"), "original": ("s", COLOURS[1], "original, proved")}


def draw_capacity(rows: list[Row], stem: Path) -> list[Path]:
    """One panel per dimension."""
    records = _plotted(rows)
    dimensions = sorted({record["d"] for record in records["capacities"]})
    if not dimensions:
        raise NothingToDrawError("no capacity is proved")
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(dimensions), figsize=(3.3 * len(dimensions), 3.4), sharey=True, squeeze=False
        )
        for panel, d in zip(axes[0], dimensions):
            _panel(panel, d, records)
        axes[0, 0].set_ylabel("share of streams storable")
        legend(figure, 2)
        streams = counted((record["streams"] for record in records["capacities"]), "streams")
        seeds = len({record["seed"] for record in records["trained"]})
        words = f"Storable or not, proved for each of {streams} a curve (Adam: {seeds} seeds)"
        figure.suptitle(words, y=0.985, fontsize=10)
        figure.tight_layout(rect=(0, 0.15, 1, 1))
        return save(figure, stem, records)


def _plotted(rows: list[Row]) -> dict[str, list[dict]]:
    """Exact capacities, one list for each problem and dimension, and the training runs at sizes around them."""
    proved = [
        {"problem": problem, "d": d, "streams": len(found), "p_c": [low for low, high in found if low == high]}
        for (problem, d), found in sorted(proved_capacities(rows).items(), reverse=True)
    ]
    names = ("d", "p", "seed", "violations", "status")
    trained = [{name: row[name] for name in names} for row in rows if row["solver"] == "adam"]
    return {"capacities": proved, "trained": trained}


def _panel(panel: Axes, d: int, records: dict[str, list[dict]]) -> None:
    middle = float(capacity_associations(d))
    p = np.arange(max(2, int(0.45 * middle)), int(1.3 * middle) + 1)
    panel.plot(p, probability_storable(p, d), color=PREDICTION, lw=1.3, label="predicted, no free parameter", zorder=1)
    panel.set(xlabel="associations p", ylim=(-0.04, 1.06), xlim=(p[0], p[-1]))
    panel.set_title(f"d = {d}")
    for record in records["capacities"]:
        if record["d"] == d:
            _points(panel, record, middle)
    trained = defaultdict(list)
    for record in records["trained"]:
        if record["d"] == d:
            trained[record["p"]].append(record["violations"] == 0)
    if not trained:
        return
    sizes = sorted(trained)
    shares = [np.mean(trained[size]) for size in sizes]
    panel.plot(sizes, shares, "^--", color="0.35", ms=4, lw=1, label="original, Adam with the paper's protocol")


def _points(panel: Axes, record: dict, middle: float) -> None:
    """Shares of streams whose proved capacity is at least p, with binomial errors, at sizes a step apart."""
    mark, colour, name = _MARKS[record["problem"]]
    capacities = np.array(record["p_c"])
    step = max(1, round(0.025 * middle))
    # The points of the original problem are shifted by half a step, so that error bars do not cover each other.
    first = int(capacities.min()) - step + (step // 2 if record["problem"] == "original" else 0)
    p = np.arange(first, int(capacities.max()) + 2 * step, step)
    share = (capacities[None, :] >= p[:, None]).mean(axis=1)
    bar = np.sqrt(share * (1 - share) / len(capacities))
    panel.errorbar(p, share, bar, fmt=mark, color=colour, ms=4, lw=1, label=name, zorder=2)


def _compare(rows: list[Row]) -> list[Comparison]:
    return compare_capacity(rows) + compare_proved_scores(rows)


CAPACITY = Figure(
    name="capacity",
    sweep=from_catalogue("capacity"),
    draw=draw_capacity,
    compare=_compare,
    caption=Caption(
        title="Storable or not: proved, and predicted without a free parameter",
        drawn=(
            "The exact number of associations of each stream that can be stored is found by proofs: a memory that "
            "stores them, or weights that show that none can. The curves show the share of streams whose first p "
            "associations can be stored."
        ),
        theory=(
            "The geometry of random cones gives this probability for the decoupled problem (red), without a free "
            "parameter. It takes the constraints as randomly turned, which Gaussian vectors are in the limit of large "
            "d only. For the original problem there is no such formula."
        ),
    ),
)
