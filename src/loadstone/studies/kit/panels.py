"""What all pictures share: colours, marks, legends, and how they are written.

Studies are also asked for their runs, where matplotlib need not be installed: it is imported where something is drawn,
and its types are only there for checkers of types.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.files import write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.typing import RcKeyType
else:
    Axes = Figure = Line2D = Any

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
    """The records hold nothing that the picture can show: they are missing, diverged or undecided."""


def check_installed() -> None:
    """Refuse to draw, before any long work, where matplotlib is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise ValueError("figures need matplotlib: pip install 'loadstone[figures]'.") from error
    matplotlib.use("Agg")


@contextmanager
def picture() -> Iterator[Figure]:
    """An empty picture in the style of all of them, closed in the end."""
    check_installed()
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        empty = plt.figure()
        try:
            yield empty
        finally:
            plt.close(empty)


def subplots(
    figure: Figure, rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 4.8), **options: Any
) -> Any:
    """Panels on an empty picture of this size in inches, as `matplotlib.pyplot.subplots` makes them."""
    figure.set_size_inches(*size)
    return figure.subplots(rows, columns, **options)


def key(label: str, **style: Any) -> Line2D:
    """An entry of a legend, without a line in the picture."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def counted(counts: Iterable[int], what: str) -> str:
    """Sample sizes in words: '3 seeds', '1 seed', or '3 to 5 seeds'."""
    least, most = min(counts := list(counts)), max(counts)
    if most == 1:
        return f"1 {what.replace('seeds', 'seed').replace('streams', 'stream')}"
    return f"{least} {what}" if least == most else f"{least} to {most} {what}"


#: Mark and face colour of the trained points of a problem; None: filled with the colour of the mark.
MARKS = {"original": ("o", None), "decoupled": ("s", "white")}


def mark_of(problem: str, ink: str) -> dict[str, Any]:
    """How points of a problem look in this colour, in panels and in legends."""
    mark, face = MARKS[problem]
    return {"marker": mark, "color": ink, "mfc": face or ink, "ls": ""}


def mark_keys(points: Iterable[dict], ending: str = "", **style: Any) -> list[Line2D]:
    """Keys of a legend for the marks of the problems among the points, named with this ending."""
    problems = sorted({point["problem"] for point in points}, reverse=True)
    return [key(f"{problem}{ending}", **mark_of(problem, "0.3"), **style) for problem in problems]


def trained_keys(points: Iterable[dict], by: str = ", Adam") -> list[Line2D]:
    """Keys of a legend for points of the paper's protocol: a colour for each dimension, a mark for each problem."""
    points = list(points)
    keys = [key(f"d = {d}", color=colour(d), lw=3) for d in sorted({point["d"] for point in points})]
    return keys + mark_keys(points, by, ms=4.5)


def legend(figure: Figure, columns: int, keys: list[Line2D] | None = None) -> int:
    """Draw one legend below all panels, of these keys or else with each label once; return the number of its lines."""
    labels: dict[str, Artist] = {str(key.get_label()): key for key in keys or ()}
    if keys is None:
        for panel in figure.axes:
            for handle, name in zip(*panel.get_legend_handles_labels()):
                labels.setdefault(name, handle)
    handles, names = list(labels.values()), list(labels)
    figure.legend(handles, names, loc="lower center", ncols=columns, frameon=False, bbox_to_anchor=(0.5, 0))
    return -(-len(labels) // columns)


#: How every figure is written.
FORMATS: tuple[str, ...] = (".svg", ".pdf", ".png")


def save(figure: Figure, stem: Path, numbers: object = None) -> list[Path]:
    """Write a figure to `stem` as SVG, PDF and PNG and the plotted numbers as JSON, and close it."""
    import matplotlib.pyplot as plt

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
