"""How many associations fit if the target must only be among the first k, and where targets are found then."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.topk import compare_topk, stored_by_length
from loadstone.studies.kit.panels import COLOURS, MARKS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue

_TRAINED = (("", "-", "for the list"), ("_by_all_rivals", "--", "against all rivals"))


def draw_topk(rows: list[Row], stem: Path) -> list[Path]:
    """Left the largest p stored for each k, right the shares of targets in the first place and among the first k."""
    points = stored_by_length(rows)
    if not points:
        raise NothingToDrawError("no stream was stored up to its limit")
    tints = dict(zip(sorted({point["d"] for point in points}), COLOURS))
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.4))
        for d, tint in tints.items():
            _capacities(left, d, [point for point in points if point["d"] == d], tint)
        largest = max(tints)
        alike = [point for point in points if point["d"] == largest and point["problem"] == "original"]
        _places(right, [point for point in alike if "first" in point])
        right.set_title(f"original, d = {largest}, at the largest p stored for the list", fontsize=8.5)
        lengths = sorted({point["rivals"] for point in points})
        for panel in (left, right):
            panel.set(xscale="log", xlabel="length k of the list")
            panel.set_xticks(lengths, [str(k) for k in lengths])
            panel.minorticks_off()
        left.set(ylabel="largest p stored / d²")
        right.set(ylabel="share of targets", ylim=(-0.03, 1.05))
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Recall from the first k ({streams} a point)", fontsize=10)
        lines = legend(figure, 3)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"points": points})


def _capacities(panel: Axes, d: int, points: list[dict], tint: str) -> None:
    law = sorted({(point["rivals"], point["predicted"]) for point in points})
    panel.plot([k for k, _ in law], [p / d**2 for _, p in law], "-", color=tint, lw=1.2, label=f"law, d = {d}")
    for problem in ("original", "decoupled"):
        chosen = [point for point in points if point["problem"] == problem]
        shape, face = MARKS[problem]
        x, y, error = ([point[name] for point in chosen] for name in ("rivals", "stored", "error"))
        panel.errorbar(
            x, np.divide(y, d**2), np.divide(error, d**2), color=tint, marker=shape, mfc=face or tint, ls="", ms=5,
            label=f"{problem}, d = {d}",
        )  # fmt: skip


def _places(panel: Axes, points: list[dict]) -> None:
    lengths = [point["rivals"] for point in points]
    for ending, style, words in _TRAINED:
        for name, ink, place in (("listed", "0.2", "among the first k"), ("first", "0.55", "first")):
            shares = [point[name + ending] for point in points]
            panel.plot(lengths, shares, style, color=ink, marker="o", ms=4, lw=1.2, label=f"{place}, trained {words}")


TOPK = Figure(
    "topk",
    from_catalogue("topk"),
    draw_topk,
    compare_topk,
    Caption(
        "How many associations fit if the target must be among the first k",
        "Left: the largest p up to which L-BFGS finds a memory in which every target beats the mean of its k best "
        "rivals (the tail-average margin of Barnfield et al., 2026), so that it is among the first k; mean over "
        "streams with standard errors. k = 1 is recall by the largest score. Right, at that p: the share of targets in "
        "the first place and among the first k, by the same memory, and by one that was trained against all rivals.",
        "p D_k(p) = d^2 with D_k(M) = E dist^2(eta, K), K the cone of scores whose first beats the mean of the k "
        "largest others; computed by Monte Carlo, whose error is part of that of the points. If k is a share of p, D_k "
        "stays finite and p grows as d^2, without the logarithm.",
    ),
)
