"""How many facts can be stored, and are: L-BFGS at the predicted capacity, at every size and rank?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loadstone.arguments import rank_of
from loadstone.studies.kit.panels import COLOURS, Figure, counted, key, mark_keys, mark_of, subplots
from loadstone.studies.kit.points import finish, some, values_of
from loadstone.studies.kit.runs import DIMENSIONS, Spec, share_of_capacity, spec
from loadstone.studies.kit.study import Caption, Study
from loadstone.studies.kit.thresholds import compare_reach, reached_thresholds
from loadstone.theory.capacity import capacity, capacity_associations
from loadstone.theory.load import load

_SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "quick": {"original": (20, 40), "decoupled": (20,)}, "paper": DIMENSIONS["paper"],
}  # fmt: skip
_LARGER: dict[str, dict[str, tuple[int, ...]]] = {"quick": {}, "paper": {"original": (1024,), "decoupled": (300,)}}
_KAPPAS = {"quick": (0.5, 1.0), "paper": (0.25, 0.5, 1.0)}
_STREAMS = {"quick": 3, "paper": 5}
#: Points of different rank fractions are drawn side by side where they would lie on each other.
_APART = 1.025


def runs_at_the_papers_sizes(scale: str) -> list[Spec]:
    """How many associations L-BFGS stores without a violation, at the sizes of the paper."""
    return [run for kappa in _KAPPAS[scale] for run in _reached(scale, _SIZES[scale], kappa, {})]


def runs(scale: str) -> list[Spec]:
    """The same, and at larger sizes.

    A pass of the larger ones takes up to a tenth of a second of a large GPU, so their searches are shorter. At full
    rank a search also ends when no memory has every margin above 0.003 |W|: by the law for margins, that costs 0.14 %
    of the capacity at most.
    """
    specs = runs_at_the_papers_sizes(scale)
    for kappa in _KAPPAS[scale]:
        shorter = {"passes": 300} | ({"optimiser": "lbfgs:margin=0.003"} if kappa == 1 else {})
        specs += _reached(scale, _LARGER[scale], kappa, shorter)
    return specs


def _reached(
    scale: str, sizes: Mapping[str, tuple[int, ...]], kappa: float, parameters: Mapping[str, object]
) -> list[Spec]:
    return [
        spec(problem, d, guess, seed, kappa, solver="reach", parameters=parameters)
        for problem, dimensions in sizes.items()
        for d in dimensions
        for guess in [share_of_capacity(1, d, rank_of(kappa, d) / d)]
        for seed in range(_STREAMS[scale])
    ]


def draw(figure: Figure, points: list[dict]) -> None:
    """Left the load that was stored, right its ratio to the prediction."""
    some(points, "no stream was stored up to its limit")
    left, right = subplots(figure, 1, 2, size=(7.6, 3.9))
    kappas = list(zip(sorted({point["kappa"] for point in points}, reverse=True), COLOURS))
    for index, (kappa, colour) in enumerate(kappas):
        at_kappa = [point for point in points if point["kappa"] == kappa]
        d, p, error, law = map(np.array, values_of(at_kappa, "d", "p", "error", "predicted"))
        # The prediction is for the exact rank fraction, between the smallest and the largest d.
        fine = np.unique(np.geomspace(d.min(), d.max(), 40).round().astype(int))
        left.plot(fine, load(np.asarray(capacity_associations(fine, kappa)), fine), color=colour, lw=1.3, zorder=1)
        for point, x, stored, relative, ratio in zip(at_kappa, d, np.asarray(load(p, d)), error / p, p / law):
            style = mark_of(point["problem"], colour) | {"ms": 5, "lw": 1, "zorder": 2}
            left.errorbar(x, stored, stored * relative, **style)
            right.errorbar(x * _APART**index, ratio, ratio * relative, **style)
        left.axhline(float(capacity(kappa)), color=colour, lw=0.7, ls=":", zorder=0)
    right.axhline(1, color="0.3", lw=1, zorder=0)
    dimensions = sorted({point["d"] for point in points})
    for panel in (left, right):
        panel.set(xscale="log", xlabel="dimension d")
        panel.set_xticks(dimensions, [str(d) for d in dimensions], rotation=60, fontsize=8)
        panel.minorticks_off()
    left.set_ylabel(r"load stored, $p \log p / d^2$")
    right.set_ylabel("stored / predicted")
    streams = counted((point["seeds"] for point in points), "streams")
    keys = [key(rf"$\kappa$ = {kappa:g}", color=colour, lw=3) for kappa, colour in kappas]
    keys += mark_keys(points, ", stored")
    keys += [key("predicted, no free parameter", color="0.3", lw=1.3)]
    keys += [key("limit of large d", color="0.3", lw=0.7, ls=":")]
    title = f"Stored without a violation by L-BFGS, and predicted ({streams} a point)"
    finish(figure, title, points, 4, (0.13, 0), keys)


LAW = Study(
    "law",
    "How many facts does L-BFGS store, at every size and rank?",
    runs,
    reached_thresholds,
    draw,
    Caption(
        "How many associations L-BFGS stores",
        "For each size and rank fraction, the mean over streams of the largest p up to which L-BFGS stores every "
        "association (bisection to 0.5 %), as a load and relative to the prediction. Bars are standard errors. A "
        "search has 1000 passes, but 300 at d = 1024 and, decoupled, at d = 300.",
        "p D(p) = 2 alpha_c(kappa) d^2 without a free parameter; for kappa < 1 an upper bound in the limit of large d.",
    ),
    compare_reach,
)
