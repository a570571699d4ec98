"""What all figures share: colours, marks, legends, and how they are written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from loadstone.files import write_whole

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

#: Colour-blind safe (Okabe and Ito).
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
PREDICTION = "#B00020"
TARGET, OTHERS = "#B00020", "0.55"
STYLE: dict[RcKeyType, object] = {
    "font.size": 9, "svg.hashsalt": "loadstone", "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip

#: Each dimension has one colour in all figures. Dimensions with the same colour never appear in one figure.
_INDICES = {20: 0, 40: 1, 30: 2, 12: 3, 60: 4, 24: 5, 50: 0, 100: 1, 150: 2, 300: 3, 400: 4, 500: 5, 1024: 0, 2048: 1}
_INDICES |= {8: 1, 16: 4}


def colour(d: int) -> str:
    """The colour of a dimension."""
    return COLOURS[_INDICES.get(d, d % len(COLOURS))]


class NothingToDrawError(ValueError):
    """The records hold nothing that the figure can show: they are missing, diverged or undecided."""


def counted(counts: Iterable[int], what: str) -> str:
    """Sample sizes in words: '3 seeds', '1 seed', or '3 to 5 seeds'."""
    least, most = min(counts := list(counts)), max(counts)
    if most == 1:
        return f"1 {what.replace('seeds', 'seed').replace('streams', 'stream')}"
    return f"{least} {what}" if least == most else f"{least} to {most} {what}"


#: Mark and face colour of the trained points of a problem; None: filled with the colour of the mark.
MARKS = {"original": ("o", None), "decoupled": ("s", "white")}


def trained_keys(points: Iterable[dict]) -> list[Line2D]:
    """Keys of a legend for points of the paper's protocol: a colour for each dimension, a mark for each problem."""
    points = list(points)
    keys = [Line2D([], [], color=colour(d), lw=3, label=f"d = {d}") for d in sorted({point["d"] for point in points})]
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        name = f"{problem}, Adam"
        keys.append(Line2D([], [], label=name, marker=mark, ls="", color="0.3", mfc=face or "0.3", ms=4.5))
    return keys


def legend(figure: plt.Figure, columns: int) -> int:
    """Draw one legend below all panels, with each label once; return the number of its lines."""
    labels: dict[str, Artist] = {}
    for panel in figure.axes:
        for handle, name in zip(*panel.get_legend_handles_labels()):
            labels.setdefault(name, handle)
    handles, names = list(labels.values()), list(labels)
    figure.legend(handles, names, loc="lower center", ncols=columns, frameon=False, bbox_to_anchor=(0.5, 0))
    return -(-len(labels) // columns)


#: How every figure is written.
FORMATS: tuple[str, ...] = (".svg", ".pdf", ".png")


def save(figure: plt.Figure, stem: Path, numbers: object = None) -> list[Path]:
    """Write a figure to `stem` as SVG, PDF and PNG and the plotted numbers as JSON, and close it."""
    paths = [stem.with_suffix(suffix) for suffix in FORMATS]
    for path in paths:
        # Without dates the same records give the same bytes.
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": None}[path.suffix]
        write_whole(path, partial(figure.savefig, format=path.suffix[1:], dpi=160, metadata=metadata))
    plt.close(figure)
    if numbers is not None:
        text = json.dumps(numbers, indent=1, allow_nan=False).encode()
        write_whole(stem.with_suffix(".json"), lambda file: file.write(text))
        paths.append(stem.with_suffix(".json"))
    return paths
