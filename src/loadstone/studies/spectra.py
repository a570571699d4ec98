"""Do the singular values of memories follow their laws: trained at the predicted capacity, and before training?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from loadstone.studies.kit.comparison import LARGE_D, Comparison, dof_of
from loadstone.studies.kit.panels import MARKS, PREDICTION, Axes, Figure, colour, legend, subplots
from loadstone.studies.kit.points import some, streams_in
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.runs import DIMENSIONS, KAPPAS, SEEDS, Spec, share_of_capacity, spec
from loadstone.studies.kit.singular_values import capacity_reference, kolmogorov, square_reference
from loadstone.studies.kit.study import Caption, Study
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.spectra import Spectrum, at_capacity, initial_factored, initial_full

_FINE = np.linspace(0, 2, 801)


def runs(scale: str) -> list[Spec]:
    """Memories at the capacity that is predicted for their size and rank."""
    return [
        spec(problem, d, share_of_capacity(1, d, kappa), seed, kappa)
        for problem, dimensions in DIMENSIONS[scale].items()
        for d in dimensions
        for kappa in KAPPAS
        for seed in range(SEEDS[scale])
    ]


def initial_runs(scale: str) -> list[Spec]:
    """Factored memories before training; p does not matter."""
    d = {"quick": 300, "paper": 1000}[scale]
    # At kappa = 1 a memory has no factors; just below it has factors of full rank.
    kappas = (*KAPPAS[:-1], 0.9999)
    return [spec("original", d, 2, seed, kappa, solver="initial") for kappa in kappas for seed in range(SEEDS[scale])]


class Points(NamedTuple):
    #: Densities of the singular values, for each problem, rank fraction and dimension.
    histograms: list[dict]
    #: How far they lie from their law, and how far those of Gaussian matrices do.
    distances: list[dict]


def points(rows: list[Row]) -> Points:
    """Non-zero singular values at capacity, and their distance to the law and that of Gaussian matrices cut to the
    same rank."""
    return Points(_histograms(rows, lambda kappa: 1.0), _distances(rows, at_capacity, capacity_reference))


def initial_points(rows: list[Row]) -> Points:
    """The same for W = Q R^T before training, compared with square Gaussian matrices with as many singular values."""
    histograms = _histograms(rows, lambda kappa: initial_factored(kappa).share)
    return Points(histograms, _distances(rows, initial_factored, lambda d, rank: square_reference(rank)))


def _histograms(rows: list[Row], mass_of: Callable[[float], float]) -> list[dict]:
    """Densities of the values of all seeds together, the original problem first.

    mass_of: the share of the values that are not zero, for a rank fraction.
    """
    histograms = []
    for (problem, kappa, d, p), group in grouped(rows, "problem", "kappa", "d", "p"):
        values = np.concatenate([row["singular_values"] for row in group])
        # About as many values in a bin as there are bins. Values are scaled so that the largest of each memory is 2.
        edges = np.linspace(0, 2, int(np.clip(np.sqrt(len(values)), 8, 40)) + 1)
        counts = np.histogram(np.minimum(values, 2), edges)[0]
        density = mass_of(kappa) * counts / (len(values) * (edges[1] - edges[0]))
        histograms.append(
            {"problem": problem, "kappa": kappa, "d": d, "p": p, "seeds": len(group)}
            | {"edges": edges.tolist(), "density": density.tolist()}
        )
    return sorted(histograms, key=lambda one: list(MARKS).index(one["problem"]))


def _distances(
    rows: list[Row], law_of: Callable[[float], Spectrum], reference_of: Callable[[int, int], tuple[float, float]]
) -> list[dict]:
    """The mean Kolmogorov distance of the singular values to their law over seeds, that of Gaussian matrices, and the
    standard error of a mean over as many of these.

    law_of: the law for a rank fraction. reference_of: mean and deviation for Gaussian matrices of a dimension and rank.
    """
    points = []
    for (problem, d, kappa), group in grouped(rows, "problem", "d", "kappa"):
        rank = len(group[0]["singular_values"])
        law, (gaussian, scatter) = law_of(rank / d).nonzero(), reference_of(d, rank)
        distances = [kolmogorov(row["singular_values"], law) for row in group]
        points.append(
            {"problem": problem, "d": d, "kappa": kappa, "rank": rank, "p": group[0]["p"], "seeds": len(group)}
            | {"distance": float(np.mean(distances)), "gaussian": gaussian, "error": scatter / math.sqrt(len(group))}
        )
    return points


def compare(points: Points) -> list[Comparison]:
    """Distance to the law at capacity, compared with that of Gaussian matrices cut to the same rank."""
    comparisons = []
    for point in points.distances:
        # A rank fraction that was rounded to a whole rank has another capacity than the runs were made for.
        exceeds = point["p"] / float(capacity_associations(point["d"], point["rank"] / point["d"])) - 1
        above = f"; p is {100 * exceeds:.1f} % above the capacity of rank {point['rank']}" if exceeds > 0.005 else ""
        comparisons.append(_comparison(point, "at capacity", LARGE_D + above))
    return comparisons


def compare_initial(points: Points) -> list[Comparison]:
    """Distance to the law at initialisation, compared with that of square Gaussian matrices."""
    return [_comparison(point, "at initialisation", "") for point in points.distances]


def _comparison(point: dict, when: str, note: str) -> Comparison:
    family, where = f"distance to the law {when}, {point['problem']}", f"d = {point['d']}, kappa = {point['kappa']:.3g}"
    numbers = point["gaussian"], point["distance"], point["error"], note, where
    return Comparison.of(family, point, *numbers, dof=dof_of(point["seeds"]))


def draw(figure: Figure, points: Points) -> None:
    """Original above, decoupled below, one column for each rank fraction."""
    kappas = _kappas(points)
    panels = subplots(figure, 2, len(kappas), size=(3.1 * len(kappas), 4.9), sharex=True, squeeze=False)
    for line, problem in zip(panels, MARKS):
        for panel, kappa in zip(line, kappas):
            _draw_histograms(panel, [one for one in points.histograms if one["problem"] == problem], kappa)
            # A memory of full rank has no factors: it starts as a Gaussian matrix.
            initial = initial_full() if kappa == 1 else initial_factored(kappa).nonzero()
            _draw_law(panel, at_capacity(kappa).nonzero(), "at capacity, large d", color="black", lw=1.4)
            _draw_law(panel, initial, "at initialisation, large d", color=PREDICTION, lw=1.2, ls="--")
            top = float(at_capacity(kappa).nonzero().density(at_capacity(kappa).lower))
            panel.set_ylim(0, max(1.5, 1.35 * top))
        line[0].set_ylabel(f"{problem}: density")
    for panel, kappa in zip(panels[0], kappas):
        panel.set_title(rf"$\kappa = {kappa:g}$")
    for panel in panels[1]:
        panel.set_xlabel("non-zero singular value (largest: 2)")
    # At which loads they were trained, relative to the capacity that is predicted for their size and rank.
    shares = [100 * one["p"] / float(capacity_associations(one["d"], one["kappa"])) for one in points.histograms]
    range_of = " to ".join(dict.fromkeys(f"{share:.0f}" for share in (min(shares), max(shares))))
    _finish(figure, points, f"Spectra after Adam at {range_of} % of the predicted capacity")


def draw_initial(figure: Figure, points: Points) -> None:
    """One panel for each rank fraction; below full rank an arrow stands for the share of values that are zero."""
    kappas = _kappas(points)
    panels = subplots(figure, 1, len(kappas), size=(3.1 * len(kappas), 3.0), sharex=True, squeeze=False)[0]
    for panel, kappa in zip(panels, kappas):
        law = initial_factored(kappa)
        _draw_histograms(panel, points.histograms, kappa)
        _draw_law(panel, law, "predicted, large d", color="black", lw=1.4)
        top = panel.get_ylim()[1]
        if law.atom > 0.01:
            panel.annotate("", (0, top), (0, 0), arrowprops={"arrowstyle": "->", "color": PREDICTION, "lw": 1.5})
            words = {"xycoords": "axes fraction", "color": PREDICTION, "fontsize": 8, "va": "bottom"}
            panel.annotate(f"{law.atom:.2g} at zero", (0, 1.01), **words)
        panel.set(xlabel="singular value (largest: 2)", xlim=(-0.05, 2.1), ylim=(0, top))
        panel.set_title(rf"$\kappa = {kappa:.3g}$", pad=14)
    panels[0].set_ylabel("density")
    _finish(figure, points, "Spectra at initialisation")


def _kappas(points: Points) -> list[float]:
    return sorted({one["kappa"] for one in some(points.histograms, "there are no runs with singular values")})


def _draw_histograms(panel: Axes, histograms: list[dict], kappa: float) -> None:
    """Those of one rank fraction, shaded, one for each dimension."""
    for one in (one for one in histograms if one["kappa"] == kappa):
        ink = colour(one["d"])
        panel.stairs(one["density"], one["edges"], fill=True, color=ink, alpha=0.3, label=f"d = {one['d']}")
        panel.stairs(one["density"], one["edges"], color=ink, lw=0.8, alpha=0.9)


def _draw_law(panel: Axes, law: Spectrum, label: str, color: str, lw: float, ls: str = "-") -> None:
    # Where the density begins with a jump, the line begins there too.
    inside = _FINE[(_FINE >= law.lower) & (_FINE < law.upper)]
    grid = np.concatenate([[law.lower], inside[inside > 0], [law.upper]])
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.array(law.density(grid))
    density[~np.isfinite(density)] = np.nan
    panel.plot(grid, density, label=label, color=color, lw=lw, ls=ls)


def _finish(figure: Figure, points: Points, title: str) -> None:
    legend(figure, 4)
    figure.suptitle(f"{title} ({streams_in(points.histograms)} a histogram)", y=0.985, fontsize=10)
    figure.tight_layout(rect=(0, 0.09, 1, 1))


SPECTRA = Study(
    "spectra",
    "Do the singular values of memories trained at the predicted capacity follow their law?",
    runs,
    points,
    draw,
    Caption(
        "Spectra of memories trained at the predicted capacity",
        "Non-zero singular values of memories that Adam (the paper's protocol) trained at the capacity that is "
        "predicted for their size; the original problem above, the decoupled one below.",
        "At capacity and for large d they follow the upper part of a quarter circle (solid), which at full rank "
        "is also the law before training (dashed). The number compared is the Kolmogorov distance; its prediction "
        "is the distance found for Gaussian matrices of the same size, cut to the same rank.",
    ),
    compare,
    plotted=lambda points: {"histograms": points.histograms},
)

INITIAL_SPECTRA = Study(
    "initial-spectra",
    "Do the singular values of memories before training follow their law?",
    initial_runs,
    initial_points,
    draw_initial,
    Caption(
        "The spectrum before training",
        "Singular values of a product of two Gaussian factors before training. The arrow stands for the values "
        "that are zero because the rank is low.",
        "The law is a free product of two random-matrix laws (black), not a quarter circle, even at full rank.",
    ),
    compare_initial,
    plotted=lambda points: {"histograms": points.histograms},
)
