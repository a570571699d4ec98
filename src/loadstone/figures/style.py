"""What all figures share: colours, sizes, and how they are written."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from loadstone.files import write_whole

#: Colour-blind safe (Okabe and Ito).
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
PREDICTION = "#B00020"
TARGET, OTHERS = "#B00020", "0.55"
STYLE = {"font.size": 9, "svg.hashsalt": "loadstone", "axes.spines.top": False, "axes.spines.right": False}

#: A dimension has the same colour in every figure.
_DIMENSIONS = (50, 100, 150, 300, 400, 500)


def colour(d: int) -> str:
    """The colour of a dimension: the paper's six have one each, others share them in order of their size."""
    if d in _DIMENSIONS:
        return COLOURS[_DIMENSIONS.index(d)]
    return COLOURS[{12: 3, 20: 0, 30: 2, 40: 1}.get(d, d % len(COLOURS))]


def save(figure: plt.Figure, stem: Path, numbers: object = None) -> list[Path]:
    """Write a figure beside `stem` as SVG, PDF and PNG, what is plotted as JSON, and close it."""
    paths = [stem.with_suffix(suffix) for suffix in (".svg", ".pdf", ".png")]
    for path in paths:
        # Dates would make the same records give other bytes.
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": None}[path.suffix]
        figure.savefig(path, dpi=160, metadata=metadata)
    plt.close(figure)
    if numbers is not None:
        text = json.dumps(numbers, indent=1).encode()
        write_whole(stem.with_suffix(".json"), lambda file: file.write(text))
        paths.append(stem.with_suffix(".json"))
    return paths
