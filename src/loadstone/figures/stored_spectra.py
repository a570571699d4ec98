"""How far the spectra of the last memories that are stored are from the law at capacity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from loadstone.evidence.stored_spectra import SOLVERS, compare_stored_spectra, distances_in_words, spectrum_points
from loadstone.evidence.strands import compare_strands
from loadstone.studies.kit.panels import COLOURS, MARKS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue

_INKS = dict(zip(SOLVERS, COLOURS))


def draw_stored_spectra(rows: list[Row], stem: Path) -> list[Path]:
    """Distance against dimension, one panel for each rank fraction."""
    points = spectrum_points(rows)
    if not points:
        raise NothingToDrawError("no run was stored")
    kappas = sorted({point["kappa"] for point in points})
    with plt.rc_context(STYLE):
        size = (2.9 * len(kappas) + 0.6, 4.0)
        figure, axes = plt.subplots(1, len(kappas), figsize=size, sharey=True, squeeze=False)
        for panel, kappa in zip(axes[0], kappas):
            chosen = [point for point in points if point["kappa"] == kappa]
            gaussian = sorted({(point["d"], point["gaussian"]) for point in chosen})
            panel.plot(*zip(*gaussian), color="0.4", lw=1, ls="--", label="Gaussian matrices")
            for solver, words in SOLVERS.items():
                for problem, (mark, face) in MARKS.items():
                    some = [one for one in chosen if (one["solver"], one["problem"]) == (solver, problem)]
                    if some:
                        x, y, error = ([point[name] for point in some] for name in ("d", "distance", "error"))
                        ink = _INKS[solver]
                        style: dict[str, Any] = {"color": ink, "mfc": face or ink, "ms": 4.5, "lw": 1}
                        panel.errorbar(x, y, error, fmt=f"{mark}-", label=f"{problem}, {words}", **style)
            dimensions = sorted({point["d"] for point in chosen})
            panel.set(xscale="log", yscale="log", xlabel="dimension d")
            panel.set_title(rf"$\kappa = {kappa:g}$")
            panel.set_xticks(dimensions, [str(d) for d in dimensions], rotation=60, fontsize=8)
            panel.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes[0, 0].set_ylabel("distance to the law at capacity")
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Spectra of the last memories that met their stop rule ({streams} a point)", fontsize=10)
        lines = legend(figure, 3)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"points": points})


STORED_SPECTRA = Figure(
    "stored-spectra",
    from_catalogue("stored-spectra"),
    draw_stored_spectra,
    lambda rows: compare_stored_spectra(rows) + compare_strands(rows),
    Caption(
        "How far spectra lie from their law",
        "Kolmogorov distance of the non-zero singular values from the law at capacity, against the dimension, for the "
        "runs of the accuracy figure: of each stream the last run that met its stop rule (99.9 % for Adam, everything "
        "for L-BFGS). Means over streams with standard errors.",
        "At capacity and for large d singular values follow the upper part of a quarter circle. Gaussian matrices of "
        "the same size (dashed) do, cut to the same rank; so what the distance exceeds theirs by should fall with d. "
        "The last run stored lies a little below capacity, the more so where loads are far apart.",
    ),
    distances_in_words,
)
