"""The explorer: one page that predicts in the browser how many facts fit at any size."""

from __future__ import annotations

import json
from importlib.resources import files
from string import Template

import numpy as np
from scipy.special import log_ndtr

from loadstone.theory.cone import log_solid_angles, merge_law

#: Largest d and p of the page: this p is more than twice what fits into this d.
MOST_DIMENSION, MOST_FACTS = 2**15, 10**8
#: Grid of tau. On it the trapezium rule has converged for every p up to the largest, and beyond it the law vanishes.
FIRST, LAST, STEP = -9.0, 12.0, 0.025

#: The scripts; each needs only those before it.
SCRIPTS = tuple("alone theory margin families numbers drawing panels answers compare pictures view".split())


def explorer_page() -> str:
    """The page as HTML. It loads nothing else, neither from this machine nor from the network."""
    return Template(_part("explorer.html")).substitute(
        style=_part("explorer.css"),
        tables=json.dumps(_tables()),
        scripts="".join(f"<script>\n{_part(f'explorer_{name}.js')}</script>\n" for name in SCRIPTS),
    )


def _tables() -> dict[str, object]:
    """Values of functions that JavaScript lacks, at the points where explorer_theory.js needs them."""
    tau = FIRST + STEP * np.arange(round((LAST - FIRST) / STEP) + 1)
    most_merged = len(merge_law(MOST_FACTS).probabilities) - 1
    return {
        "mostDimension": MOST_DIMENSION,
        "mostFacts": MOST_FACTS,
        "first": FIRST,
        "step": STEP,
        "logPhi": log_ndtr(tau).tolist(),
        "logAngles": log_solid_angles(most_merged).tolist(),
        "faddeeva": _faddeeva(),
    }


def _faddeeva(terms: int = 44) -> dict[str, object]:
    """Weideman's rational function for w(z) (SIAM J. Numer. Anal. 31, 1994): accurate to about 1e-14 with 44 terms."""
    count, scale = 2 * terms, np.sqrt(terms / np.sqrt(2))
    angle = np.arange(-count + 1, count) * np.pi / count
    t = scale * np.tan(angle / 2)
    values = np.concatenate([[0.0], np.exp(-(t**2)) * (scale**2 + t**2)])
    coefficients = np.fft.fft(np.fft.fftshift(values)).real / (2 * count)
    return {"scale": scale, "coefficients": coefficients[terms:0:-1].tolist()}


def _part(name: str) -> str:
    return (files("loadstone.pages") / name).read_text(encoding="utf-8")
