"""Free entropy and overlap, in the limit and at finite p; the energetic term with the paper's bounds. Theory only."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.studies.kit.panels import COLOURS, PREDICTION, STYLE, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, no_comparison, no_runs
from loadstone.theory.capacity import finite_capacity
from loadstone.theory.entropy import (
    EntropyCurve,
    annealed,
    energetic_lower_bound,
    energetic_upper_bound,
    free_entropy,
    free_entropy_curve,
    overlap,
)

#: Colour and number of samples of the curve of each finite p.
_SIZES = {10: COLOURS[0], 100: COLOURS[2], 1000: COLOURS[1]}
_SAMPLES = {10: 600, 100: 200, 1000: 60}


def draw_entropy(rows: list[Row], stem: Path) -> list[Path]:
    """From left: the free entropy, the overlap of two memories that store everything, the energetic term."""
    curves = {p: _finite(p) for p in _SIZES}
    with plt.rc_context(STYLE):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 3.7))
        _limits(left, middle)
        for p, (loads, curve) in curves.items():
            left.plot(loads, curve.phi, color=_SIZES[p], lw=1.3, label=f"p = {p}")
            middle.plot(loads, curve.q, color=_SIZES[p], lw=1.3)
            right.plot(curve.nodes, (1 - curve.nodes) * curve.energetic, color=_SIZES[p], lw=1.3)
            for panel in (left, middle):
                panel.axvline(float(finite_capacity(p)), color=_SIZES[p], lw=0.8, ls=":")
        _bounds(right)
        left.set(xlabel=r"load $\alpha$", ylabel=r"free entropy $\varphi$", ylim=(-2.6, 0.05))
        middle.set(xlabel=r"load $\alpha$", ylabel=r"overlap $q$", ylim=(0, 1.03))
        right.set(xlabel="overlap $q$", ylabel=r"$(1-q)\,G(q)$", xlim=(0, 1), ylim=(-2.1, 0.05))
        samples = " to ".join(str(count) for count in (min(_SAMPLES.values()), max(_SAMPLES.values())))
        figure.suptitle(f"How many memories store everything ({samples} samples; dots: capacity)", fontsize=10)
        lines = legend(figure, 4)
        figure.tight_layout(rect=(0, 0.06 * lines, 1, 1))
        numbers = []
        for p, (loads, curve) in curves.items():
            found = {name: values.tolist() for name, values in vars(curve).items()}
            numbers.append({"p": p, "samples": _SAMPLES[p], "load": loads.tolist()} | found)
        return save(figure, stem, {"curves": numbers})


@cache
def _finite(p: int) -> tuple[np.ndarray, EntropyCurve]:
    """Loads up to the capacity of p and the curve over them, which takes seconds for p = 1000."""
    loads = np.linspace(0.02, 0.995, 60) * float(finite_capacity(p))
    return loads, free_entropy_curve(loads, p, _SAMPLES[p])


def _limits(left: Axes, middle: Axes) -> None:
    loads = np.linspace(0.002, 0.4999, 300)
    left.plot(loads, free_entropy(loads), color=PREDICTION, lw=1.5, label=r"limit, $\frac{1}{2}\log(1-2\alpha)$")
    whole = np.linspace(0.002, 1.2, 50)
    left.plot(whole, annealed(whole), color="0.5", lw=1, ls="--", label=r"annealed bound, $-\alpha$")
    middle.plot(loads, overlap(loads), color=PREDICTION, lw=1.5)


def _bounds(panel: Axes) -> None:
    """The paper's bounds, multiplied by 1 - q like everything in this panel, so that the limit is a straight line."""
    q = np.linspace(0, 0.999, 400)
    panel.axhline(-1, color=PREDICTION, lw=1.5)
    panel.plot(q, (1 - q) * energetic_lower_bound(q), color="0.25", lw=1, ls="-.", label="paper's lower bound")
    for k, name in ((1, r"paper's upper bounds, $k = 1, \infty$"), (10**9, None)):
        panel.plot(q, (1 - q) * energetic_upper_bound(q, k), color="0.25", lw=1, ls=":", label=name)


ENTROPY = Figure(
    name="entropy",
    sweep=no_runs,
    draw=draw_entropy,
    compare=no_comparison,
    caption=Caption(
        title="How many memories store everything",
        drawn=(
            "The logarithm of the share of all memories that store everything, per parameter; the overlap of two such "
            "memories; and the energetic term of the theory, from which both follow."
        ),
        theory=(
            "In the limit (red) the overlap grows to 1 at a load of 1/2, where only one memory is left; at finite p "
            "the same happens at a higher load (dotted lines). The paper's bounds hold in the limit."
        ),
    ),
)
