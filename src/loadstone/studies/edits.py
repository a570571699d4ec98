"""What is lost when a memory is edited: by rank-one updates, by batch updates, and by searching again?"""

from __future__ import annotations

from itertools import cycle, takewhile
from typing import Any

import numpy as np

from loadstone.estimate import mean_of
from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes, Figure, Line2D, key, subplots
from loadstone.studies.kit.points import finish, some
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity_associations

#: For each scale: streams of each dimension.
_STREAMS = {"quick": {20: 2}, "paper": {30: 5, 50: 3, 100: 2}}
#: Shares of the predicted capacity at which a memory is filled first.
_FIRST = {20: (0.5,), 30: (0.25, 0.5), 50: (0.25, 0.5), 100: (0.5,)}
#: Facts are added up to this share. Beyond the capacity each takes a proof: seconds at d = 50, far longer at d = 100.
_LAST = {20: 1.1, 30: 1.1, 50: 1.05, 100: 0.95}
#: Parameters that a record does not state (tasks/edits.py).
_DEFAULTS = {"method": "rank-one", "action": "add"}
#: A method has broken down when this share of the facts that were to stay is lost.
BROKEN = 0.05

#: The methods and their colours.
_INKS = {"rank-one": COLOURS[5], "batch": COLOURS[0], "refit": COLOURS[2]}
_MARKS = ("o", "s", "^", "D")
#: The columns of panels: what is across, in words, and a title.
_X = {
    "add": ("load", "facts after the edits / predicted capacity", "facts added"),
    "change": ("changed", "share of answers changed", "answers changed"),
}
#: Memories that were less full than this at first have dotted lines.
_NEARLY_HALF = 0.4
_Y = {"lost": "share of old facts lost", "missed": "share of edits not recalled"}


def runs(scale: str) -> list[Spec]:
    """Facts added until there are more than fit, and answers changed one after the other until all are."""
    return [
        spec("original", d, p, seed, solver="edits", parameters={"method": method, "action": action, "edits": count})
        for d, streams in _STREAMS[scale].items()
        for share in _FIRST[d]
        for p in [share_of_capacity(share, d)]
        for action, count in (("add", share_of_capacity(_LAST[d], d) - p), ("change", p))
        for method in _INKS
        for seed in range(streams)
    ]


def points(rows: list[Row]) -> list[dict]:
    """For each action, dimension, number of facts at the start and method: after each number of edits the mean share of
    the old facts that are lost and of the edits that are missed, with standard errors over the streams.

    load: facts after the edits divided by the predicted capacity.
    changed: share of the facts at the start that were changed.
    lost: None where no fact was to stay.
    harmless: the number of edits up to which no fact was lost or missed at any count, mean over streams.
    broken: the number of edits at which BROKEN of the old facts are lost, between two counts by a straight line.
    """
    edited = [
        row | {name: row.get("parameters", {}).get(name, default) for name, default in _DEFAULTS.items()}
        for row in rows
        if row["solver"] == "edits" and "lost" in row
    ]
    curves = []
    for (action, d, p, method), group in grouped(edited, "action", "d", "p", "method"):
        # Numbers of edits after which every stream was counted.
        edits = sorted(set.intersection(*(set(row["edits"]) for row in group)))
        if not edits:
            continue
        adds, capacity = action == "add", float(capacity_associations(d))
        curve = {"action": action, "d": d, "p": p, "method": method, "streams": len(group), "capacity": capacity}
        curve |= {"edits": edits, "load": [(p + adds * count) / capacity for count in edits]}
        curve |= {"changed": [(not adds) * count / p for count in edits]}
        curve |= _shares(group, "lost", edits, [p if adds else p - count for count in edits])
        curve |= _shares(group, "missed", edits, edits)
        curve |= {"undecided": sum(row["undecided"][-1] for row in group)}
        curve |= {"harmless": float(np.mean([_harmless(row) for row in group]))}
        curves.append(curve | {"broken": _edits_until_broken(edits, curve["lost"])})
    return curves


def _shares(rows: list[Row], name: str, edits: list[int], most: list[int]) -> dict[str, list[float | None]]:
    """After each number of edits the mean share of as many facts as there are at most, and its standard error."""
    counts = [[row[name][row["edits"].index(count)] for row in rows] for count in edits]
    means = [mean_of(np.divide(some, of)) if of else (None, None) for some, of in zip(counts, most)]
    return {name: [mean for mean, _ in means], f"{name}_error": [error for _, error in means]}


def _harmless(row: Row) -> int:
    """The last number of edits before any fact was lost or missed."""
    counts = zip(row["edits"], row["lost"], row["missed"])
    return max((edits for edits, *_ in takewhile(lambda count: not any(count[1:]), counts)), default=0)


def _edits_until_broken(edits: list[int], lost: list[float | None]) -> float | None:
    before, below = 0.0, 0.0
    for count, share in zip(edits, lost):
        if share is None:
            return None
        if share >= BROKEN:
            return before + (count - before) * (BROKEN - below) / (share - below)
        before, below = float(count), share
    return None


def draw(figure: Figure, points: list[dict]) -> None:
    """A column for each action: above the old facts that are lost, below the edits that are not recalled."""
    some(points, "nothing was edited")
    actions = {action: look for action, look in _X.items() if any(curve["action"] == action for curve in points)}
    dimensions = sorted({curve["d"] for curve in points})
    size = (4.4 * max(len(actions), 1.3), 6.4)
    panels = subplots(figure, 2, len(actions), size=size, squeeze=False, sharex="col", sharey=True)
    for column, (action, (x, label, title)) in zip(panels.T, actions.items()):
        for panel, name in zip(column, _Y):
            for curve in (curve for curve in points if curve["action"] == action):
                _line(panel, curve, x, name, _MARKS[dimensions.index(curve["d"]) % len(_MARKS)])
            if action == "add":
                panel.axvline(1, color=PREDICTION, lw=1.2, zorder=0)
            panel.set(ylim=(-0.03, 1.03))
        column[0].set_title(title, fontsize=9)
        column[1].set_xlabel(label)
    for panel, label in zip(panels[:, 0], _Y.values()):
        panel.set_ylabel(label)
    title = "Edits of a memory of largest margin, original problem ({} a line)"
    figure.text(0.5, 0.105, in_words(points), ha="center", va="bottom", fontsize=8)
    finish(figure, title, points, 5, (0.13, 0), _keys(points, dimensions))


def _line(panel: Axes, curve: dict, across: str, name: str, mark: str) -> None:
    shown = [index for index, value in enumerate(curve[name]) if value is not None]
    x, y, error = (np.array([curve[field][index] for index in shown]) for field in (across, name, f"{name}_error"))
    look: dict[str, Any] = {"color": _INKS[curve["method"]], "ls": _style(curve), "marker": mark}
    panel.errorbar(x, y, error, **look, ms=3.5, lw=1, elinewidth=0.7)


def _style(curve: dict) -> str:
    return "-" if curve["p"] / curve["capacity"] > _NEARLY_HALF else ":"


def _keys(curves: list[dict], dimensions: list[int]) -> list[Line2D]:
    """Colours are methods, marks dimensions, and lines how full the memory was at first."""
    methods = {curve["method"] for curve in curves}
    keys = [key(method, color=ink, lw=2.5) for method, ink in _INKS.items() if method in methods]
    keys.append(key("predicted capacity", color=PREDICTION, lw=1.2))
    keys += [key(f"d = {d}", color="0.3", ls="", marker=mark, ms=4) for d, mark in zip(dimensions, cycle(_MARKS))]
    first = {_style(curve): f"from {curve['p'] / curve['capacity']:.2f} of the capacity" for curve in curves}
    return keys + [key(words, color="0.3", ls=style, lw=1) for style, words in sorted(first.items())]


def in_words(curves: list[dict]) -> str:
    """How full the memory was when BROKEN of the old facts were lost to added ones, made from the numbers drawn."""
    said = []
    for method in _INKS:
        lines = [curve for curve in curves if (curve["method"], curve["action"]) == (method, "add")]
        broken = [(curve["p"] + curve["broken"]) / curve["capacity"] for curve in lines if curve["broken"] is not None]
        kept = len(lines) - len(broken)
        where = [f"at {_range(broken)} of the capacity"] if broken else []
        where += [f"never in {kept} of {len(lines)} lines" if broken else "never"] if kept else []
        said += [f"{method} {' and '.join(where)}"] if lines else []
    return f"{100 * BROKEN:g} % of the old facts are lost to added ones: " + ", ".join(said) if said else ""


def _range(values: list[float]) -> str:
    least, most = min(values), max(values)
    return f"{least:.2f}" if f"{least:.2f}" == f"{most:.2f}" else f"{least:.2f} to {most:.2f}"


EDITS = Study(
    "edits",
    "What is lost when a memory is edited?",
    runs,
    points,
    draw,
    Caption(
        "What is lost when a memory is edited",
        "A memory of largest margin, filled to a share of its capacity, is edited. Left, facts of the same stream are "
        "added; right, facts get other answers, one after the other. Above, the share of the old facts that are no "
        "longer recalled, below, that of the edits, mean over streams with standard errors. Rank-one: one "
        "least-squares update for each edit, as in ROME. Batch: one for all edits so far, from the first memory, as in "
        "MEMIT, an edit alone getting 90 % of the change that it asks for. Refit: a new search from the last memory, "
        "in which old facts come first and each edit that is left out is proved not to fit. Each added fact brings an "
        "answer of its own, which competes for the old facts, too.",
        "A refit can keep everything up to the capacity of the stream, predicted by N D(N) = d^2 (vertical line). "
        "There is no theory for the updates here: both keep the squared changes of the other queries small, and a fact "
        "is lost by the sign of a margin.",
    ),
    remarks=lambda points: [f"{summary}."] if (summary := in_words(points)) else [],
    plotted=lambda points: {"curves": points, "summary": in_words(points)},
)
