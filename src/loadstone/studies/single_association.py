"""Which scores does one input give to all outputs, before and after the memory is full?"""

from __future__ import annotations

from loadstone.studies import scores
from loadstone.studies.kit.panels import OTHERS, TARGET, Axes, Figure
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.score_panels import densities, draw_panels, of_each_panel, shade
from loadstone.studies.kit.study import Caption, Study


def points(rows: list[Row]) -> list[dict]:
    """The scores of the first association of one stream at each size and problem."""
    shown = scores.as_in_the_paper(rows)
    stream = min((row["seed"] for row in shown), default=0)
    return of_each_panel([row for row in shown if row["seed"] == stream], _first_association)


def _first_association(rows: list[Row]) -> dict:
    (row,) = rows
    first = row["scores"]["first"]
    others = densities([row["scores"] | first], "others", joined=8)
    return others | {"target": first["target"], "rival": first["rival"]}


def draw(figure: Figure, points: list[dict]) -> None:
    """All scores of one input (grey), with its target and its best rival marked."""
    draw_panels(figure, points, _draw_association, "Scores of one association")


def _draw_association(panel: Axes, point: dict) -> None:
    shade(panel, point["edges"], point["others"], OTHERS, "others")
    panel.axvline(point["target"], color=TARGET, lw=1.6, label="target")
    panel.axvline(point["rival"], color="black", lw=1, ls=":", label="best rival")
    stored = "stored" if point["target"] > point["rival"] else "not stored"
    panel.annotate(stored, (0.03, 0.88), xycoords="axes fraction", fontsize=8, color="0.25")
    panel.set(xlim=(-4.5, 6.5))


SINGLE = Study(
    "single",
    "Which scores does one input give to all outputs?",
    scores.runs,
    points,
    draw,
    Caption(
        "One association at a time",
        "The scores that one input gives to all outputs: its target (red line), its best rival (dotted) and the "
        "others. The same memories, trained by Adam.",
        "An association is stored if the red line is to the right of the dotted one. Below capacity a memory "
        "exists for which this holds for all associations at once.",
    ),
    plotted=lambda points: {"panels": points},
)
