"""How many memories store everything: the free entropy, the overlap of two of them, and the energetic term?

In the limit and at finite p, beside the paper's bounds. Theory only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loadstone.studies.kit.panels import COLOURS, PREDICTION, Axes, Figure, counted, legend, subplots
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Study, no_runs
from loadstone.theory import entropy as theory
from loadstone.theory.capacity import finite_capacity

#: Colour and number of samples of the curve of each finite p.
_INKS = {10: COLOURS[0], 100: COLOURS[2], 1000: COLOURS[1]}
SAMPLES = {10: 600, 100: 200, 1000: 60}


class FiniteCurve(NamedTuple):
    """The curve of a finite p, over loads up to its capacity."""

    p: int
    samples: int
    loads: np.ndarray
    curve: theory.EntropyCurve


def points(rows: list[Row]) -> list[FiniteCurve]:
    """The curve of each p, which takes seconds for p = 1000."""
    curves = []
    for p, samples in SAMPLES.items():
        loads = np.linspace(0.02, 0.995, 60) * float(finite_capacity(p))
        curves.append(FiniteCurve(p, samples, loads, theory.free_entropy_curve(loads, p, samples)))
    return curves


def draw(figure: Figure, points: list[FiniteCurve]) -> None:
    """From left: the free entropy, the overlap of two memories that store everything, the energetic term."""
    left, middle, right = subplots(figure, 1, 3, size=(9.6, 3.7))
    _limits(left, middle)
    for p, _, loads, curve in points:
        left.plot(loads, curve.phi, color=_INKS[p], lw=1.3, label=f"p = {p}")
        middle.plot(loads, curve.q, color=_INKS[p], lw=1.3)
        right.plot(curve.nodes, (1 - curve.nodes) * curve.energetic, color=_INKS[p], lw=1.3)
        for panel in (left, middle):
            panel.axvline(float(finite_capacity(p)), color=_INKS[p], lw=0.8, ls=":")
    _bounds(right)
    left.set(xlabel=r"load $\alpha$", ylabel=r"free entropy $\varphi$", ylim=(-2.6, 0.05))
    middle.set(xlabel=r"load $\alpha$", ylabel=r"overlap $q$", ylim=(0, 1.03))
    right.set(xlabel="overlap $q$", ylabel=r"$(1-q)\,G(q)$", xlim=(0, 1), ylim=(-2.1, 0.05))
    samples = counted((curve.samples for curve in points), "samples")
    figure.suptitle(f"How many memories store everything ({samples}; dots: capacity)", fontsize=10)
    figure.tight_layout(rect=(0, 0.06 * legend(figure, 4), 1, 1))


def _limits(left: Axes, middle: Axes) -> None:
    loads = np.linspace(0.002, 0.4999, 300)
    left.plot(loads, theory.free_entropy(loads), color=PREDICTION, lw=1.5, label=r"limit, $\frac{1}{2}\log(1-2\alpha)$")
    whole = np.linspace(0.002, 1.2, 50)
    left.plot(whole, theory.annealed(whole), color="0.5", lw=1, ls="--", label=r"annealed bound, $-\alpha$")
    middle.plot(loads, theory.overlap(loads), color=PREDICTION, lw=1.5)


def _bounds(panel: Axes) -> None:
    """The paper's bounds, multiplied by 1 - q like everything in this panel, so that the limit is a straight line."""
    q = np.linspace(0, 0.999, 400)
    panel.axhline(-1, color=PREDICTION, lw=1.5)
    panel.plot(q, (1 - q) * theory.energetic_lower_bound(q), color="0.25", lw=1, ls="-.", label="paper's lower bound")
    for k, name in ((1, r"paper's upper bounds, $k = 1, \infty$"), (10**9, None)):
        panel.plot(q, (1 - q) * theory.energetic_upper_bound(q, k), color="0.25", lw=1, ls=":", label=name)


def plotted(points: list[FiniteCurve]) -> dict[str, list[dict]]:
    """The curves of finite p."""
    curves = []
    for p, samples, loads, curve in points:
        arrays = {"load": loads, **vars(curve)}
        curves.append({"p": p, "samples": samples} | {name: values.tolist() for name, values in arrays.items()})
    return {"curves": curves}


ENTROPY = Study(
    "entropy",
    "How many memories store everything?",
    no_runs,
    points,
    draw,
    Caption(
        "How many memories store everything",
        "The logarithm of the share of all memories that store everything, per parameter; the overlap of two such "
        "memories; and the energetic term of the theory, from which both follow.",
        "In the limit (red) the overlap grows to 1 at a load of 1/2, where only one memory is left; at finite p the "
        "same happens at a higher load (dotted lines). The paper's bounds hold in the limit.",
    ),
    plotted=plotted,
)
