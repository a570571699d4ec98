"""What all figures share: colours, sizes, and how they are written."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

#: Colour-blind safe (Okabe and Ito), one per dimension in order of size.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
PREDICTION = "#B00020"
STYLE = {"font.size": 9, "svg.hashsalt": "loadstone", "axes.spines.top": False, "axes.spines.right": False}


def save(figure: plt.Figure, stem: Path) -> list[Path]:
    """Write a figure beside `stem` as SVG, PDF and PNG, and close it."""
    paths = [stem.with_suffix(suffix) for suffix in (".svg", ".pdf", ".png")]
    for path in paths:
        # Dates would make the same records give other bytes.
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": None}[path.suffix]
        figure.savefig(path, dpi=160, metadata=metadata)
    plt.close(figure)
    return paths
