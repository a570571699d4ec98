"""A study: a question, the runs that answer it, what is read off their records, and how that is drawn and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.studies.kit import panels
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from loadstone.runs.spec import Spec


@dataclass(frozen=True)
class Caption:
    """The words below a picture, for a reader who has not seen the paper."""

    #: What the picture is about; what it shows is said by its numbers (sentences.py).
    title: str
    #: What is drawn.
    drawn: str
    #: What theory says about it.
    theory: str


def no_runs(scale: str) -> list[Spec]:
    """The runs of a study of theory alone."""
    return []


@dataclass(frozen=True)
class Study:
    """One question, from the runs to the words below the picture. A new one is such a value in a file of its own, and
    a line in `registry.py`.

    Points are what is read off the records of the runs: a list of dictionaries, or whatever else the study draws and
    compares.
    """

    #: Its name in commands, in file names and in the report's links.
    name: str
    #: What it asks.
    question: str
    #: The runs that answer it at a scale, 'quick' or 'paper'.
    runs: Callable[[str], list[Spec]]
    #: What is drawn and compared, from the records of the runs.
    points: Callable[[list[Row]], Any]
    #: Draws the points on an empty picture, or raises a NothingToDrawError.
    draw: Callable[[Picture, Any], None]
    #: The words below the picture.
    caption: Caption
    #: Measured numbers beside their predictions; none, if theory predicts no number.
    compare: Callable[[Any], list[Comparison]] = lambda points: []
    #: Sentences that no comparison makes: fits, ratios, counts. Their numbers come from the points.
    remarks: Callable[[Any], list[str]] = lambda points: []
    #: The numbers that are plotted, as they are written beside the picture.
    plotted: Callable[[Any], object] = lambda points: {"points": points}

    def write(self, points: Any, stem: Path) -> list[Path]:
        """Draw, write the picture to `stem` as SVG, PDF and PNG and its numbers as JSON, and return the files."""
        with panels.picture() as picture:
            self.draw(picture, points)
            return panels.save(picture, stem, self.plotted(points))
