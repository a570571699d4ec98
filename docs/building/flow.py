"""The picture of docs/tour.md: how data flows through the rooms."""

from __future__ import annotations

from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

from loadstone.studies.kit.panels import COLOURS

_WIDTH, _HEIGHT = 1.5, 0.62
#: Ink of the library, of proofs and samples, of what is kept, of the studies, and of theory.
_LIBRARY, _PROOFS, _KEPT, _STUDIES, _THEORY = COLOURS[0], COLOURS[3], COLOURS[2], COLOURS[1], COLOURS[5]


class Box(NamedTuple):
    """A thing, the room that makes it, and where it stands."""

    thing: str
    room: str
    x: float
    y: float
    ink: str


_BOXES = {
    "stream": Box("random facts", "streams", 0, 2, _LIBRARY),
    "instance": Box("instance", "problems", 2, 2, _LIBRARY),
    "problem": Box("problem", "problems", 4, 2, _LIBRARY),
    "solution": Box("solution", "solvers", 6, 2, _LIBRARY),
    "measurement": Box("measurement", "measurements", 8, 2, _LIBRARY),
    "record": Box("record", "tasks, runs", 10, 2, _KEPT),
    "study": Box("study", "studies", 10, 0.7, _STUDIES),
    "figure": Box("figure, report", "studies", 8, 0.7, _STUDIES),
    "pass": Box("one pass", "kernels", 4, 0.7, _LIBRARY),
    "memory": Box("memory W", "memories", 6, 0.7, _LIBRARY),
    "verdict": Box("verdict, proof", "solvers, proofs", 4, 3.3, _PROOFS),
    "samples": Box("all solutions", "space", 8, 3.3, _PROOFS),
    "own": Box("your own facts", "books", 2, 3.3, _LIBRARY),
    "law": Box("prediction", "theory", 10, -0.6, _THEORY),
}
#: What is made of what.
_ARROWS = (
    ("stream", "instance"), ("instance", "problem"), ("problem", "solution"), ("solution", "measurement"),
    ("measurement", "record"), ("record", "study"), ("study", "figure"), ("law", "study"), ("pass", "problem"),
    ("memory", "solution"), ("instance", "verdict"), ("verdict", "samples"), ("own", "instance"), ("samples", "record"),
)  # fmt: skip


def flow() -> plt.Figure:
    """Boxes for what is made, with their rooms below the names, and arrows for what is made of what."""
    figure, panel = plt.subplots(figsize=(9.4, 4.1), layout="constrained")
    for box in _BOXES.values():
        corner = (box.x - _WIDTH / 2, box.y - _HEIGHT / 2)
        panel.add_patch(
            FancyBboxPatch(corner, _WIDTH, _HEIGHT, "round,pad=0.06", fc=box.ink + "22", ec=box.ink, lw=1.3)
        )
        panel.text(box.x, box.y + 0.1, box.thing, ha="center", va="center", fontsize=9)
        panel.text(box.x, box.y - 0.19, box.room, ha="center", va="center", fontsize=7, c="0.35", family="monospace")
    for start, end in _ARROWS:
        _arrow(panel, _BOXES[start], _BOXES[end])
    panel.set(xlim=(-1, 11), ylim=(-1.1, 3.85), aspect="equal")
    panel.axis("off")
    return figure


def _arrow(panel: plt.Axes, start: Box, end: Box) -> None:
    """From the edge of one box to the edge of another."""
    dx, dy = end.x - start.x, end.y - start.y
    reach = min(
        (_WIDTH / 2 + 0.09) / abs(dx) if dx else float("inf"), (_HEIGHT / 2 + 0.09) / abs(dy) if dy else float("inf")
    )
    tail, tip = (start.x + reach * dx, start.y + reach * dy), (end.x - reach * dx, end.y - reach * dy)
    style = {"arrowstyle": "-|>", "color": "0.35", "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
    panel.annotate("", tip, tail, arrowprops=style)
