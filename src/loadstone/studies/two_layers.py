"""How many facts do two layers store, compared with linear memories of as many parameters, and of the same width?"""

from __future__ import annotations

import re

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes, Figure, subplots
from loadstone.studies.kit.points import errorbars, finish, log_ticks, some, streams_in, values_of
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity_associations, facts_that_fit

#: Of each, a program is compiled for every width, which takes most of the time of a quick sweep.
_ACTIVATIONS = {"quick": ("relu", "attention"), "paper": ("relu", "gelu", "attention")}
#: For each scale and dimension: how many hidden units.
_WIDTHS: dict[str, dict[int, tuple[int, ...]]] = {
    "quick": {10: (10,)},
    "paper": {20: (5, 10, 20, 40, 60), 50: (12, 25, 50, 100)},
}
_STREAMS = {10: 1, 20: 3, 50: 2}
_EFFORT: dict[str, dict[str, object]] = {"quick": {}, "paper": {"starts": 2}}
#: They store about this much more than a linear memory with as many parameters could: where to look first.
_MORE = 1.25
_TWO_LAYERS = re.compile(r"(\w+):width=(\d+)")
_MARKS = {"relu": "o", "gelu": "s", "attention": "^"}


def runs(scale: str) -> list[Spec]:
    """The largest p that L-BFGS stores in two layers, activation by activation and width by width."""
    return [
        spec("original", d, guess, seed, solver="reach", parameters=_EFFORT[scale], family=f"{name}:{width}")
        for d, widths in _WIDTHS[scale].items()
        for width in widths
        for guess in [round(_MORE * as_many_parameters(d, width))]
        for name in _ACTIVATIONS[scale]
        for seed in range(_STREAMS[d])
    ]


def points(rows: list[Row]) -> list[dict]:
    """For each dimension, activation and width: the mean over streams of the largest p stored, its standard error, how
    many parameters there are, and what both laws say."""
    reached = [
        row | {"activation": family[1], "width": int(family[2])}
        for row in rows
        if row["solver"] == "reach" and (family := _TWO_LAYERS.fullmatch(row.get("family", "full")))
    ]
    points = []
    for (d, activation, width), group in grouped(reached, "d", "activation", "width"):
        stored, error = mean_of([row["stored"] for row in group])
        points.append(
            {"d": d, "activation": activation, "width": width, "parameters": parameters(d, width)}
            | {"streams": len(group), "stored": stored, "error": error}
            | {"as_many_parameters": as_many_parameters(d, width), "as_wide": as_wide(d, width)}
        )
    return points


def parameters(d: int, width: int) -> int:
    """Entries of K and V."""
    return 2 * d * width


def as_many_parameters(d: int, width: int) -> float:
    """N D(N) = 2 d h: what a linear memory could hold that had so many free entries. If h > d/2 there is none in
    dimension d, because W has only d^2."""
    return facts_that_fit(lambda facts: float(parameters(d, width)))


def as_wide(d: int, width: int) -> float:
    """What a linear memory V K of the same width holds: that of rank min(h, d), by the replica value."""
    return float(capacity_associations(d, min(1.0, width / d)))


def draw(figure: Figure, points: list[dict]) -> None:
    """A column for each dimension: above how many are stored, below the ratio to as many linear parameters."""
    of_sizes = grouped(some(points, "no stream was stored up to its limit"), "d")
    size = (4.1 * max(len(of_sizes), 1.4), 5.6)
    panels = subplots(figure, 2, len(of_sizes), size=size, squeeze=False, sharex="col")
    for (above, below), ((d,), here) in zip(panels.T, of_sizes):
        widths = sorted({point["width"] for point in here})
        _draw_laws(above, below, d, widths)
        for (activation, mark), ink in zip(_MARKS.items(), COLOURS):
            if chosen := [point for point in here if point["activation"] == activation]:
                (law,) = values_of(chosen, "as_many_parameters")
                for panel, unit in ((above, 1.0), (below, law)):
                    errorbars(panel, chosen, ("parameters", "stored", "error"), ink, (mark, None), unit, ls="-",
                              label=f"{activation}, stored")  # fmt: skip
        above.set(xscale="log", yscale="log", title=f"d = {d}")
        below.set(xlabel="parameters, 2 d h", ylim=(0, None))
        log_ticks(below, [parameters(d, h) for h in widths], [f"{parameters(d, h)}\nh = {h}" for h in widths])
    panels[0, 0].set_ylabel("largest p stored")
    panels[1, 0].set_ylabel("stored / law N D(N) = 2 d h")
    finish(figure, "Two layers of width h, original problem, by L-BFGS ({} a point)", points, 2, (0.01, 0.035))


def _draw_laws(above: Axes, below: Axes, d: int, widths: list[int]) -> None:
    fine = np.unique(np.geomspace(min(widths), max(widths), 40).round().astype(int))
    x = [parameters(d, int(width)) for width in fine]
    many, wide = (np.array([law(d, int(width)) for width in fine]) for law in (as_many_parameters, as_wide))
    above.plot(x, many, color=PREDICTION, lw=1.2, label="law: 2 d h linear parameters, N D(N) = 2 d h")
    above.plot(x, wide, "--", color="0.3", lw=1.2, label="law: linear memory of width h, rank min(h, d)")
    below.axhline(1, color=PREDICTION, lw=1.2, zorder=0)
    below.plot(x, wide / many, "--", color="0.3", lw=1.2)


def remarks(points: list[dict]) -> list[str]:
    """What was stored, as a share of what a linear memory with as many free entries would hold."""
    words = []
    for (d, width), group in grouped(points, "d", "width"):
        shares = [f"{point['activation']} {point['stored'] / point['as_many_parameters']:.2f}" for point in group]
        words.append(
            f"d = {d}, h = {width} ({streams_in(group)}): stored as a share of what as many linear parameters would "
            f"hold: {', '.join(shares)}."
        )
    return words


LAYERS = Study(
    "layers",
    "How many facts do two layers store, beside linear memories?",
    runs,
    points,
    draw,
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
    remarks=remarks,
)
