"""Figures of the pages that are not in the gallery, from the shipped records: `make figures` draws them again."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator, ScalarFormatter

from docs.building.flow import flow
from docs.building.links import ROOT
from docs.building.shipped import PROVED, Point, full_rank_points, large_runs, thresholds
from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE
from loadstone.studies.kit.proved_facts import proved_facts
from loadstone.theory.capacity import asymptotic_capacity_associations, bits_per_parameter, capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import merge_law

FOLDER = ROOT / "docs" / "figures"
_INKS = {"decoupled": COLOURS[0], "original": COLOURS[1]}
_NAMES = {"decoupled": "separate outputs", "original": "shared outputs"}
_DIMENSIONS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


def law(points: list[Point], large: list[tuple[int, int]]) -> plt.Figure:
    """Capacities from the smallest to the largest dimension on p D(p) = d^2, and their ratio to it. Of `large` memories
    (dimension, facts) beyond the capacities it is only known that they hold so many."""
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.6, 6.0), sharex=True, height_ratios=(2, 1), layout="constrained"
    )
    large = [one for one in large if one[0] > max(point.d for point in points)]
    most = max([point.d for point in points] + [d for d, _ in large])
    d = np.unique(np.geomspace(7, most * 1.15, 60).round().astype(int))
    above.plot(d, capacity_associations(d), color=PREDICTION, lw=1.6, label="$p\\,D(p) = d^2$, no free parameter")
    limit = [asymptotic_capacity_associations(one) for one in d]
    above.plot(d, limit, color="0.5", lw=1, ls="--", label="limit of large d alone, $p \\log p = d^2/2$")
    below.axhline(1, color=PREDICTION, lw=1.6)
    for problem, ink in _INKS.items():
        for way in dict.fromkeys(point.way for point in points):
            group = [point for point in points if (point.problem, point.way) == (problem, way)]
            if not group:
                continue
            x = np.array([point.d for point in group])
            face = ink if way == PROVED else "white"
            label = f"{_NAMES[problem]}, {'proved' if way == PROVED else 'stored by L-BFGS'}"
            y, predicted = np.array([point.p for point in group]), np.array([point.predicted for point in group])
            error = np.array([point.error for point in group])
            style = {"fmt": "o" if way == PROVED else "s", "color": ink, "mfc": face, "ms": 5, "lw": 1.2}
            above.errorbar(x, y, error, label=label, **style)
            aside = 1.02 if problem == "original" else 1 / 1.02  # otherwise they would hide each other
            below.errorbar(x * aside, y / predicted, error / predicted, **style)
    if large:
        style = {"marker": "^", "ls": "", "color": _INKS["original"], "ms": 7}
        above.plot(*zip(*large), **style, label="shared outputs, stored and proved (more was not tried)")
    above.set(xscale="log", yscale="log", ylabel="facts that fit, p")
    below.set(xlabel="dimension d", ylabel="measured / law", ylim=(0.975, 1.045))
    shown = [one for one in _DIMENSIONS if one <= most * 1.15]
    below.set_xticks(shown, [str(one) for one in shown])
    below.xaxis.set_minor_locator(NullLocator())
    above.legend(frameon=False, loc="upper left")
    return figure


def one_law(points: list[dict]) -> plt.Figure:
    """What N_c facts cost, N_c D(M), against what the memories have to give, delta."""
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.6, 6.0), sharex=True, height_ratios=(2, 1), layout="constrained"
    )
    delta = np.array([point["delta"] for point in points])
    ends = np.array([delta.min() / 1.3, delta.max() * 1.3])
    above.plot(ends, ends, color=PREDICTION, lw=1.6, label=r"$N_c\,D(M) = \delta$, no free parameter")
    below.axhline(1, color=PREDICTION, lw=1.6)
    kinds = {"answers": ("o", "M answers, full W"), "family": ("^", "a family of W, one answer a fact")}
    for problem, ink in _INKS.items():
        for kind, (mark, name) in kinds.items():
            of_problem = [one for one in points if one["problem"] == problem]
            group = [one for one in of_problem if (one["answers"] is None) == (kind == "family")]
            if not group:
                continue
            x, ratio = _of(group, "delta"), _of(group, "facts") / _of(group, "predicted")
            # Half a fact: the capacity of a stream lies between the last fact that fits and the next.
            cost = [(one["facts"] + 0.5) * _cost(one) for one in group]
            style = {"fmt": mark, "color": ink, "mfc": ink if problem == "decoupled" else "white", "ms": 5, "lw": 1}
            above.plot(x, cost, mark, color=ink, mfc=style["mfc"], ms=5, label=f"{_NAMES[problem]}: {name}")
            below.errorbar(x, ratio, _of(group, "error") / _of(group, "predicted"), **style)
    above.set(xscale="log", yscale="log", ylabel=r"cost of the facts that fit, $N_c\,D(M)$")
    below.set(xlabel=r"what the memories have to give, $\delta$", ylabel="measured / law", ylim=(0.85, 1.15))
    for axis in (above.xaxis, above.yaxis):
        axis.set_major_formatter(ScalarFormatter())
    above.legend(frameon=False, loc="upper left", fontsize=8)
    return figure


def _of(points: list[dict], name: str) -> np.ndarray:
    return np.array([point[name] for point in points], float)


def _cost(point: dict) -> float:
    """D(M); with one answer a fact M is the number of facts, which need not be whole on average."""
    if point["answers"] is not None:
        return codimension(point["answers"])
    facts = point["facts"] + 0.5
    low = int(facts)
    return float(np.interp(facts, [low, low + 1], codimension([low, low + 1])))


def projection() -> plt.Figure:
    """The law of the number of rivals that a projection merges, and its mean D(p) beside 2 log p."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2), layout="constrained")
    for ink, p in zip(COLOURS, (10, 100, 1000, 10**5)):
        law = merge_law(p).probabilities
        left.plot(np.arange(len(law)), law, "o-", color=ink, ms=3, lw=1, label=f"p = {p:,}".replace(",", " "))
    left.set(xlabel="rivals merged with the target, k", ylabel="$v_k(p)$", xlim=(-0.5, 40))
    left.legend(frameon=False)
    p = np.unique(np.geomspace(2, 1e9, 80).round().astype(int))
    right.plot(p, codimension(p), color=PREDICTION, lw=1.6, label="D(p), exact")
    right.plot(p, 2 * np.log(p), color="0.5", lw=1, ls="--", label="2 log p, its limit")
    right.set(xscale="log", xlabel="p", ylabel="cost of a fact, in dimensions")
    right.legend(frameon=False)
    return figure


def bits() -> plt.Figure:
    """Bits per parameter at capacity against the dimension, for three rank fractions."""
    figure, panel = plt.subplots(figsize=(4.8, 3.3), layout="constrained")
    d = 4 * np.unique(np.geomspace(5, 25_000, 50).round().astype(int))  # every rank is whole
    for ink, kappa in zip(COLOURS, (1.0, 0.5, 0.25)):
        held = [float(bits_per_parameter(capacity_associations(one, kappa), one, kappa=kappa)) for one in d]
        panel.plot(d, held, color=ink, lw=1.5, label=f"rank {kappa:g} d" if kappa < 1 else "full rank")
    panel.set(xscale="log", xlabel="dimension d", ylabel="bits per parameter at capacity", ylim=(0.6, None))
    panel.legend(frameon=False)
    return figure


def main() -> None:
    """Draw all of them into docs/figures."""
    with plt.rc_context(STYLE):
        facts = [point for point in proved_facts(thresholds()) if _is_even(point)]
        drawn = {"law": law(full_rank_points(), large_runs()), "one_law": one_law(facts)}
        drawn |= {"projection": projection(), "bits": bits(), "flow": flow()}
        for name, figure in drawn.items():
            _write(figure, FOLDER / f"{name}.png")


def _is_even(point: dict) -> bool:
    """Whether every answer is asked for as often as the others; the law is about such facts."""
    return point["frequencies"] == "balanced" or point["problem"] == "decoupled" or point["answers"] is None


def _write(figure: plt.Figure, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=180)
    plt.close(figure)
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
