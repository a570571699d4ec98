"""How studies draw their points: with errors, ticks at their sizes, keys of the problems, and a title that counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from loadstone.studies.kit.panels import Axes, Figure, Line2D, NothingToDrawError, counted, legend

T = TypeVar("T")
#: The shape of a mark, and the colour of its face if that is another than its own.
Mark = tuple[str, str | None]


def some(points: T, otherwise: str) -> T:
    """The points, if there are any; otherwise a NothingToDrawError with this reason."""
    if not points:
        raise NothingToDrawError(otherwise)
    return points


def values_of(points: Iterable[dict], *names: str) -> list[list[Any]]:
    """The values of each of these fields, one for each point."""
    points = list(points)
    return [[point[name] for point in points] for name in names]


def errorbars(
    panel: Axes, points: Iterable[dict], fields: tuple[str, str, str], ink: str,
    mark: Mark = ("o", None), unit: Any = 1.0, **style: Any,
) -> None:  # fmt: skip
    """Draw two fields of the points against each other, with the third as the error of the second.

    unit: of the second field and its error, one for all points or one for each.
    """
    (x, y, error), (shape, face) = values_of(points, *fields), mark
    options: dict[str, Any] = {"ls": "", "ms": 5, "lw": 1} | style
    panel.errorbar(x, np.divide(y, unit), np.divide(error, unit), color=ink, marker=shape, mfc=face or ink, **options)


def log_ticks(panel: Axes, sizes: Iterable[Any], words: Sequence[str] = ()) -> None:
    """Make the horizontal axis logarithmic, with ticks at these sizes alone."""
    panel.set_xscale("log")
    panel.set_xticks(sizes := sorted(set(sizes)), words or [str(size) for size in sizes])
    panel.minorticks_off()


def finish(
    figure: Figure, title: str, points: Sequence[dict], columns: int, below: tuple[float, float] = (0.02, 0.05),
    keys: list[Line2D] | None = None,
) -> None:  # fmt: skip
    """Title the picture, and put one legend below all panels: of these keys, or else of every label.

    title: {} in it stands for how many streams or seeds the points have. below: room below the panels, and for each
    line of the legend, as shares of the height.
    """
    figure.suptitle(title.format(streams_in(points)) if "{}" in title else title, fontsize=10)
    lines = legend(figure, columns, keys)
    figure.tight_layout(rect=(0, below[0] + below[1] * lines, 1, 1))


def streams_in(points: Sequence[dict]) -> str:
    """How many streams or seeds the points have, in words."""
    what = "streams" if "streams" in points[0] else "seeds"
    return counted((point[what] for point in points), what)
