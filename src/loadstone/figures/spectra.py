"""Singular values of memories trained at capacity, and before training, beside their laws."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.spectra import compare_initial_spectra, compare_spectra
from loadstone.studies.kit.panels import PREDICTION, STYLE, NothingToDrawError, colour, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.spectra import Spectrum, at_capacity, initial_factored, initial_full

_FINE = np.linspace(0, 2, 801)


def draw_spectra(rows: list[Row], stem: Path) -> list[Path]:
    """Non-zero singular values at capacity: original above, decoupled below, one column for each rank fraction."""
    kappas = _kappas(rows)
    problems = ("original", "decoupled")
    numbers = []
    with plt.rc_context(STYLE):
        size = (3.1 * len(kappas), 4.9)
        figure, axes = plt.subplots(2, len(kappas), figsize=size, sharex=True, squeeze=False)
        for line, problem in zip(axes, problems):
            for panel, kappa in zip(line, kappas):
                chosen = [row for row in rows if row["problem"] == problem and row["kappa"] == kappa]
                numbers += _histograms(panel, chosen)
                # A memory of full rank has no factors: it starts as a Gaussian matrix.
                initial = initial_full() if kappa == 1 else initial_factored(kappa).nonzero()
                _law(panel, at_capacity(kappa).nonzero(), "at capacity, large d", color="black", lw=1.4)
                _law(panel, initial, "at initialisation, large d", color=PREDICTION, lw=1.2, ls="--")
                top = float(at_capacity(kappa).nonzero().density(at_capacity(kappa).lower))
                panel.set_ylim(0, max(1.5, 1.35 * top))
            line[0].set_ylabel(f"{problem}: density")
        for panel, kappa in zip(axes[0], kappas):
            panel.set_title(rf"$\kappa = {kappa:g}$")
        for panel in axes[1]:
            panel.set_xlabel("non-zero singular value (largest: 2)")
        title = f"Spectra after Adam at {_shares(rows)} of the predicted capacity"
        return _finished(figure, title, rows, numbers, stem)


def draw_initial_spectra(rows: list[Row], stem: Path) -> list[Path]:
    """W = Q R^T at initialisation; below full rank an arrow stands for the share of values that are zero."""
    kappas = _kappas(rows)
    numbers = []
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(kappas), figsize=(3.1 * len(kappas), 3.0), sharex=True, squeeze=False)
        for panel, kappa in zip(axes[0], kappas):
            law = initial_factored(kappa)
            numbers += _histograms(panel, [row for row in rows if row["kappa"] == kappa], law.share)
            _law(panel, law, "predicted, large d", color="black", lw=1.4)
            top = panel.get_ylim()[1]
            if law.atom > 0.01:
                panel.annotate("", (0, top), (0, 0), arrowprops={"arrowstyle": "->", "color": PREDICTION, "lw": 1.5})
                words = {"xycoords": "axes fraction", "color": PREDICTION, "fontsize": 8, "va": "bottom"}
                panel.annotate(f"{law.atom:.2g} at zero", (0, 1.01), **words)
            panel.set(xlabel="singular value (largest: 2)", xlim=(-0.05, 2.1), ylim=(0, top))
            panel.set_title(rf"$\kappa = {kappa:.3g}$", pad=14)
        axes[0, 0].set_ylabel("density")
        return _finished(figure, "Spectra at initialisation", rows, numbers, stem)


def _kappas(rows: list[Row]) -> list[float]:
    if not rows:
        raise NothingToDrawError("there are no runs with singular values")
    return sorted({row["kappa"] for row in rows})


def _shares(rows: list[Row]) -> str:
    """At which loads the memories were trained, relative to the capacity that is predicted for their size and rank."""
    shares = [100 * row["p"] / float(capacity_associations(row["d"], row["kappa"])) for row in rows]
    return f"{' to '.join(dict.fromkeys(f'{share:.0f}' for share in (min(shares), max(shares))))} %"


def _finished(figure: plt.Figure, title: str, rows: list[Row], numbers: list[dict], stem: Path) -> list[Path]:
    legend(figure, 4)
    seeds = len({row["seed"] for row in rows})
    figure.suptitle(f"{title} ({seeds} seeds a histogram)", y=0.985, fontsize=10)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    return save(figure, stem, {"histograms": numbers})


def _histograms(panel: Axes, rows: list[Row], share: float = 1.0) -> list[dict]:
    """Shaded histograms of the values of all seeds, one for each dimension; their mass is `share`."""
    numbers = []
    for d in sorted({row["d"] for row in rows}):
        chosen = [row for row in rows if row["d"] == d]
        values = np.concatenate([row["singular_values"] for row in chosen])
        # About as many values in a bin as there are bins. Values are scaled so that the largest of each memory is 2.
        bins = np.linspace(0, 2, int(np.clip(np.sqrt(len(values)), 8, 40)) + 1)
        counts = np.histogram(np.minimum(values, 2), bins)[0]
        density = share * counts / (len(values) * (bins[1] - bins[0]))
        ink = colour(d)
        panel.stairs(density, bins, fill=True, color=ink, alpha=0.3, label=f"d = {d}")
        panel.stairs(density, bins, color=ink, lw=0.8, alpha=0.9)
        first = chosen[0]
        numbers.append(
            {"problem": first["problem"], "kappa": first["kappa"], "d": d, "p": first["p"], "seeds": len(chosen)}
            | {"edges": bins.tolist(), "density": density.tolist()}
        )
    return numbers


def _law(panel: Axes, law: Spectrum, name: str, color: str, lw: float, ls: str = "-") -> None:
    # Where the density begins with a jump, the line begins there too.
    inside = _FINE[(_FINE >= law.lower) & (_FINE < law.upper)]
    grid = np.concatenate([[law.lower], inside[inside > 0], [law.upper]])
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.array(law.density(grid))
    density[~np.isfinite(density)] = np.nan
    panel.plot(grid, density, label=name, color=color, lw=lw, ls=ls)


SPECTRA = Figure(
    name="spectra",
    sweep=from_catalogue("spectra"),
    draw=draw_spectra,
    compare=compare_spectra,
    caption=Caption(
        title="Spectra of memories trained at the predicted capacity",
        drawn=(
            "Non-zero singular values of memories that Adam (the paper's protocol) trained at the capacity that is "
            "predicted for their size; the original problem above, the decoupled one below."
        ),
        theory=(
            "At capacity and for large d they follow the upper part of a quarter circle (solid), which at full rank "
            "is also the law before training (dashed). The number compared is the Kolmogorov distance; its prediction "
            "is the distance found for Gaussian matrices of the same size, cut to the same rank."
        ),
    ),
)

INITIAL_SPECTRA = Figure(
    name="initial-spectra",
    sweep=from_catalogue("initial-spectra"),
    draw=draw_initial_spectra,
    compare=compare_initial_spectra,
    caption=Caption(
        title="The spectrum before training",
        drawn=(
            "Singular values of a product of two Gaussian factors before training. The arrow stands for the values "
            "that are zero because the rank is low."
        ),
        theory="The law is a free product of two random-matrix laws (black), not a quarter circle, even at full rank.",
    ),
)
