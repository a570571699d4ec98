"""What a figure is: the runs that it shows, how it is drawn, what it is compared with, and its caption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.rows import Row

if TYPE_CHECKING:
    from loadstone.runs.spec import Spec


@dataclass(frozen=True)
class Caption:
    """The words below a figure, for a reader who has not seen the paper."""

    #: What the figure is about; what it shows is told by its numbers (studies/kit/sentences.py).
    title: str
    #: What is drawn.
    drawn: str
    #: What theory says about it.
    theory: str


@dataclass(frozen=True)
class Figure:
    """One figure. A new one is such a value in a separate file, and a line in `gallery.py`."""

    #: Its name in commands, in file names and in the report's links.
    name: str
    #: The runs that it shows at a scale, 'quick' or 'paper'; none if it shows only theory.
    sweep: Callable[[str], list[Spec]]
    #: Draws rows and writes files at a path given without its ending; returns them: SVG, PDF, PNG, and JSON with the
    #: plotted numbers.
    draw: Callable[[list[Row], Path], list[Path]]
    #: The measured numbers of the rows beside their predictions.
    compare: Callable[[list[Row]], list[Comparison]]
    #: The words below it in the report.
    caption: Caption
    #: Sentences about the rows that no comparison makes: fits, ratios, counts. Their numbers come from the rows.
    remarks: Callable[[list[Row]], list[str]] = lambda rows: []


def from_catalogue(name: str) -> Callable[[str], list[Spec]]:
    """The sweep of this name in the catalogue, which is imported only when the specs are asked for: it loads JAX."""

    def sweep(scale: str) -> list[Spec]:
        from loadstone.sweeps.catalogue import named_sweep

        return named_sweep(name, scale)

    return sweep


def no_runs(scale: str) -> list[Spec]:
    """The sweep of a figure that shows only theory."""
    return []


def no_comparison(rows: list[Row]) -> list[Comparison]:
    """For a figure without a measured number that has a prediction."""
    return []
