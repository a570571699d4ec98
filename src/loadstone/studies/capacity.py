"""Which share of streams can store their first p facts: proved, predicted, and where training fails?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loadstone.studies.kit.brackets import Bracket
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes, Figure, legend, subplots
from loadstone.studies.kit.points import some, streams_in
from loadstone.studies.kit.proved_scores import compare_proved_scores, proved_scores
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import PROVED, Spec, exact_capacities, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.kit.thresholds import Kind, compare_capacity, proved_capacities
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.storable import probability_storable

#: Training is tried at these shares of the predicted capacity.
_SHARES = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
_TRAINED_STREAMS = 5
_MARKS = {"decoupled": ("o", COLOURS[0], "decoupled, proved"), "original": ("s", COLOURS[1], "original, proved")}


def runs(scale: str) -> list[Spec]:
    """Exact capacities of many streams, and the paper's protocol at sizes around them."""
    tried = [
        spec("original", d, share_of_capacity(share, d), seed, stop="exact")
        for d in PROVED[scale]
        for share in _SHARES
        for seed in range(_TRAINED_STREAMS)
    ]
    return exact_capacities(PROVED[scale]) + tried


class Points(NamedTuple):
    """What is drawn and compared.

    capacities: of the streams of each problem and dimension, exact ones and undecided ones.
    trained: dimension, p, seed, violations and status of each training run.
    scores: of the targets, in the memories that prove a capacity.
    """

    capacities: dict[Kind, list[Bracket]]
    trained: list[dict]
    scores: list[dict]


def points(rows: list[Row]) -> Points:
    """Proved capacities, training runs, and the scores of the memories that prove."""
    names = ("d", "p", "seed", "violations", "status")
    trained = [{name: row[name] for name in names} for row in rows if row["solver"] == "adam"]
    return Points(proved_capacities(rows), trained, proved_scores(rows))


def compare(points: Points) -> list[Comparison]:
    """Capacities, and the scores of the memories that prove them, compared with their laws."""
    return compare_capacity(points.capacities) + compare_proved_scores(points.scores)


def draw(figure: Figure, points: Points) -> None:
    """One panel per dimension."""
    numbers = plotted(points)
    dimensions = sorted({record["d"] for record in numbers["capacities"]})
    some(dimensions, "no capacity is proved")
    size = (3.3 * len(dimensions), 3.4)
    panels = subplots(figure, 1, len(dimensions), size=size, sharey=True, squeeze=False)[0]
    for panel, d in zip(panels, dimensions):
        here = {name: [record for record in table if record["d"] == d] for name, table in numbers.items()}
        _draw_dimension(panel, d, **here)
    panels[0].set_ylabel("share of streams storable")
    legend(figure, 2)
    streams, seeds = streams_in(numbers["capacities"]), len({record["seed"] for record in points.trained})
    words = f"Storable or not, proved for each of {streams} a curve (Adam: {seeds} seeds)"
    figure.suptitle(words, y=0.985, fontsize=10)
    figure.tight_layout(rect=(0, 0.15, 1, 1))


def plotted(points: Points) -> dict[str, list[dict]]:
    """Exact capacities, one list for each problem and dimension, and the training runs at sizes around them."""
    proved = [
        {"problem": problem, "d": d, "streams": len(brackets), "p_c": [low for low, high in brackets if low == high]}
        for (problem, d), brackets in sorted(points.capacities.items(), reverse=True)
    ]
    return {"capacities": proved, "trained": points.trained}


def _draw_dimension(panel: Axes, d: int, capacities: list[dict], trained: list[dict]) -> None:
    middle = float(capacity_associations(d))
    p = np.arange(max(2, int(0.45 * middle)), int(1.3 * middle) + 1)
    panel.plot(p, probability_storable(p, d), color=PREDICTION, lw=1.3, label="predicted, no free parameter", zorder=1)
    panel.set(xlabel="associations p", ylim=(-0.04, 1.06), xlim=(p[0], p[-1]), title=f"d = {d}")
    for record in capacities:
        draw_shares(panel, record, middle)
    shares = {p: np.mean([run["violations"] == 0 for run in runs]) for (p,), runs in grouped(trained, "p")}
    if shares:
        words = "original, Adam with the paper's protocol"
        panel.plot(list(shares), list(shares.values()), "^--", color="0.35", ms=4, lw=1, label=words)


def draw_shares(panel: Axes, record: dict, middle: float) -> None:
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


CAPACITY = Study(
    "capacity",
    "Which share of streams can store their first p facts?",
    runs,
    points,
    draw,
    Caption(
        "Storable or not: proved, and predicted without a free parameter",
        "The exact number of associations of each stream that can be stored is found by proofs: a memory that stores "
        "them, or weights that show that none can. The curves show the share of streams whose first p associations can "
        "be stored.",
        "The geometry of random cones gives this probability for the decoupled problem (red), without a free "
        "parameter. It takes the constraints as randomly turned, which Gaussian vectors are in the limit of large d "
        "only. For the original problem there is no such formula.",
    ),
    compare,
    plotted=plotted,
)
