"""What is lost when a memory is edited: by rank-one updates, by batch updates, and by searching again."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from loadstone.evidence.edits import BROKEN, lost_by_edits
from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE, NothingToDrawError, counted, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue, no_comparison

_INKS = dict(zip(("rank-one", "batch", "refit"), (COLOURS[5], COLOURS[0], COLOURS[2])))
_MARKS = ("o", "s", "^", "D")
_X = {"add": ("load", "facts after the edits / predicted capacity"), "change": ("changed", "share of answers changed")}
_TITLES = {"add": "facts added", "change": "answers changed"}
#: Memories that were less full than this at first have dotted lines.
_NEARLY_HALF = 0.4
_Y = {"lost": "share of old facts lost", "missed": "share of edits not recalled"}


def draw_edits(rows: list[Row], stem: Path) -> list[Path]:
    """A column for each action: above the old facts that are lost, below the edits that are not recalled."""
    curves = lost_by_edits(rows)
    if not curves:
        raise NothingToDrawError("nothing was edited")
    actions = [action for action in _X if any(curve["action"] == action for curve in curves)]
    dimensions = sorted({curve["d"] for curve in curves})
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            2, len(actions), figsize=(4.4 * max(len(actions), 1.3), 6.4), squeeze=False, sharex="col", sharey=True
        )
        for column, action in zip(panels.T, actions):
            for panel, name in zip(column, _Y):
                for curve in (curve for curve in curves if curve["action"] == action):
                    _line(panel, curve, name, _MARKS[dimensions.index(curve["d"]) % len(_MARKS)])
                if action == "add":
                    panel.axvline(1, color=PREDICTION, lw=1.2, zorder=0)
                panel.set(ylim=(-0.03, 1.03))
            column[0].set_title(_TITLES[action], fontsize=9)
            column[1].set_xlabel(_X[action][1])
        for panel, name in zip(panels[:, 0], _Y):
            panel.set_ylabel(_Y[name])
        streams = counted((curve["streams"] for curve in curves), "streams")
        figure.suptitle(f"Edits of a memory of largest margin, original problem ({streams} a line)", fontsize=10)
        figure.legend(handles=_keys(curves, dimensions), loc="lower center", ncols=5, frameon=False)
        summary = in_words(curves)
        figure.text(0.5, 0.105, summary, ha="center", va="bottom", fontsize=8)
        figure.tight_layout(rect=(0, 0.13, 1, 1))
        return save(figure, stem, {"curves": curves, "summary": summary})


def _line(panel: Axes, curve: dict, name: str, mark: str) -> None:
    shown = [index for index, value in enumerate(curve[name]) if value is not None]
    across = _X[curve["action"]][0]
    x, y, error = (np.array([curve[key][index] for index in shown]) for key in (across, name, f"{name}_error"))
    panel.errorbar(
        x, y, error, color=_INKS[curve["method"]], ls=_style(curve), marker=mark, ms=3.5, lw=1, elinewidth=0.7
    )


def _style(curve: dict) -> Literal["-", ":"]:
    return "-" if curve["p"] / curve["capacity"] > _NEARLY_HALF else ":"


def _keys(curves: list[dict], dimensions: list[int]) -> list[Line2D]:
    """Colours are methods, marks dimensions, and lines how full the memory was at first."""
    methods = [method for method in _INKS if any(curve["method"] == method for curve in curves)]
    keys = [Line2D([], [], color=_INKS[method], lw=2.5, label=method) for method in methods]
    keys.append(Line2D([], [], color=PREDICTION, lw=1.2, label="predicted capacity"))
    keys += [
        Line2D([], [], color="0.3", ls="", marker=_MARKS[index % len(_MARKS)], ms=4, label=f"d = {d}")
        for index, d in enumerate(dimensions)
    ]
    first = {_style(curve): f"from {curve['p'] / curve['capacity']:.2f} of the capacity" for curve in curves}
    return keys + [Line2D([], [], color="0.3", ls=style, lw=1, label=words) for style, words in sorted(first.items())]


def in_words(curves: list[dict]) -> str:
    """How full the memory was when BROKEN of the old facts were lost to added ones, made from the numbers drawn."""
    said = []
    for method in _INKS:
        chosen = [curve for curve in curves if (curve["method"], curve["action"]) == (method, "add")]
        broken = [(curve["p"] + curve["broken"]) / curve["capacity"] for curve in chosen if curve["broken"] is not None]
        kept = len(chosen) - len(broken)
        where = [f"at {_range(broken)} of the capacity"] if broken else []
        where += [f"never in {kept} of {len(chosen)} lines" if broken else "never"] if kept else []
        said += [f"{method} {' and '.join(where)}"] if chosen else []
    return f"{100 * BROKEN:g} % of the old facts are lost to added ones: " + ", ".join(said) if said else ""


def _range(values: list[float]) -> str:
    least, most = min(values), max(values)
    return f"{least:.2f}" if f"{least:.2f}" == f"{most:.2f}" else f"{least:.2f} to {most:.2f}"


def _remarks(rows: list[Row]) -> list[str]:
    summary = in_words(lost_by_edits(rows))
    return [f"{summary}."] if summary else []


EDITS = Figure(
    "edits",
    from_catalogue("edits"),
    draw_edits,
    no_comparison,
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
    remarks=_remarks,
)
