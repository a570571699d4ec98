"""Scores of typical solutions: histograms at one size, and means against the load."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.solution_scores import SCORES, compare_solution_scores, law_of_scores, score_points
from loadstone.studies.kit.panels import MARKS, OTHERS, STYLE, TARGET, NothingToDrawError, colour, counted, legend, save
from loadstone.studies.kit.rows import Row, grouped
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.capacity import capacity_associations

#: How many bins of a record are joined to one of the figure.
_JOINED = 3
_INKS = {"others": OTHERS, "rival": "black", "target": TARGET}
_WORDS = {"others": "all rivals", "rival": "best rivals", "target": "targets"}


def draw_solution_scores(rows: list[Row], stem: Path) -> list[Path]:
    """Left histograms, in the middle mean scores of targets, right of best rivals."""
    points = score_points(rows)
    if not points:
        raise NothingToDrawError("no scores of sampled memories were kept")
    d = max(point["d"] for point in points)
    half = float(capacity_associations(d)) / 2
    size = min(points, key=lambda point: (point["d"] < d, point["problem"], abs(point["p"] - half)))
    with plt.rc_context(STYLE):
        figure, (left, *panels) = plt.subplots(1, 3, figsize=(9.6, 4.2))
        chosen = [row for row in rows if all(row[name] == size[name] for name in ("problem", "d", "p"))]
        histograms = _histograms(left, [row for row in chosen if "typical_scores" in row], size)
        left.set_title(f"{size['problem']}, d = {d}, p = {size['p']}")
        for panel, (name, words) in zip(panels, SCORES.items()):
            _means(panel, points, name)
            panel.set(xlabel=r"load $\alpha = p \log p / d^2$", ylabel=f"mean of {words}")
        streams = counted((point["streams"] for point in points), "streams")
        figure.suptitle(f"Scores of typical solutions below capacity ({streams} a point)", fontsize=10)
        lines = legend(figure, 5)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"points": points, "histograms": histograms})


def _histograms(panel: Axes, rows: list[Row], size: dict) -> dict[str, list[float]]:
    first, found = rows[0]["typical_scores"], {}
    edges = np.linspace(first["low"], first["high"], len(first["target"]) // _JOINED + 1)
    width, law = edges[1] - edges[0], law_of_scores(size["problem"], size["d"], size["p"])
    for name, ink in _INKS.items():
        counts = np.sum([row["typical_scores"][name] for row in rows], axis=0).reshape(-1, _JOINED).sum(axis=1)
        found[name] = (counts / (counts.sum() * width)).tolist()
        panel.stairs(found[name], edges, color=ink, lw=1.3, label=_WORDS[name], fill=name == "others", alpha=0.75)
        expected = np.histogram(law[name], edges)[0] / (len(law[name]) * width)
        panel.plot((edges[1:] + edges[:-1]) / 2, expected, "--", color="0.25" if name == "others" else ink, lw=1.1)
        found[f"{name}_predicted"] = expected.tolist()
    panel.plot([], [], "--", color="0.3", lw=1.1, label="predicted")
    panel.set(xlabel="score / length of the query", ylabel="density", xlim=(-4, 4.5))
    return {"edges": edges.tolist()} | found


def _means(panel: Axes, points: list[dict], name: str) -> None:
    for (d,), of_size in grouped(points, "d"):
        for (problem,), group in grouped(of_size, "problem"):
            mark, face = MARKS[problem]
            x, y = [one["load"] for one in group], [one[name]["mean"] for one in group]
            error = [one[name]["error"] for one in group]
            panel.errorbar(x, y, error, fmt=mark, color=colour(d), mfc=face or colour(d), ms=4.5, lw=1)
        law = sorted({(one["load"], one[name]["predicted"]) for one in of_size if one["problem"] == "decoupled"})
        if law:
            panel.plot(*zip(*law), "--", color=colour(d), lw=1.2)
        panel.plot([], [], color=colour(d), lw=3, label=f"d = {d}")
    for problem in sorted({point["problem"] for point in points}, reverse=True):
        mark, face = MARKS[problem]
        panel.plot([], [], mark, color="0.3", mfc=face or "0.3", ms=4.5, label=problem)


SOLUTION_SCORES = Figure(
    "solution-scores",
    from_catalogue("solution-scores"),
    draw_solution_scores,
    compare_solution_scores,
    Caption(
        "Scores of typical solutions",
        "Left the scores of targets, of their best rivals and of all rivals under memories drawn from all that store "
        "everything, in units of the length of the query; in the middle and right the means of the first two against "
        "the load. Means over streams with standard errors.",
        "Without one association its queries under two solutions are normal with the overlap as their correlation; "
        "storing it keeps those that let the target win. The overlap is that of the replica-symmetric functional. No "
        "free parameter.",
    ),
)
