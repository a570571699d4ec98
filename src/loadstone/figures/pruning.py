"""How many associations a memory with few entries stores: at random places, and at places that pruning has chosen."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from loadstone.evidence.pruning import proved_random_masks, stored_by_pruning
from loadstone.studies.kit.panels import COLOURS, STYLE, NothingToDrawError, counted, legend, save
from loadstone.studies.kit.proved_facts import compare_proved_facts, proved_facts
from loadstone.studies.kit.rows import Row
from loadstone.studies.kit.study import Caption, Figure, from_catalogue
from loadstone.theory.answers import facts_capacity

_MARKS = ("o", "s", "^", "D")


def draw_pruning(rows: list[Row], stem: Path) -> list[Path]:
    """Left how many are stored at each density, relative to a full memory; right how close the rounds come to the
    bound."""
    pruned, random = stored_by_pruning(rows), proved_random_masks(rows)
    if not pruned:
        raise NothingToDrawError("nothing was pruned")
    tints = dict(zip(sorted({point["d"] for point in pruned}), COLOURS))
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 4.3))
        for d, tint in tints.items():
            _by_density(left, d, tint, [p for p in pruned if p["d"] == d], [p for p in random if p["d"] == d])
        kinds = sorted({(point["d"], point["density"]) for point in pruned})
        densities = sorted({density for _, density in kinds})
        for d, density in kinds:
            chosen = [point for point in pruned if (point["d"], point["density"]) == (d, density)]
            _by_rounds(right, chosen, tints[d], _MARKS[densities.index(density) % len(_MARKS)])
        right.axhline(1, color="0.3", lw=1, zorder=0)
        left.set(xlabel="density: share of entries that are not zero", ylabel="associations / law for a full memory")
        right.set(xscale="log", xlabel="rounds of pruning", ylabel="stored / bound for the best places")
        rounds = sorted({point["rounds"] for point in pruned})
        right.set_xticks(rounds, [str(count) for count in rounds])
        right.minorticks_off()
        streams = counted((point["streams"] for point in pruned), "streams")
        figure.suptitle(f"Few entries, original problem ({streams} a point)", fontsize=10)
        lines = legend(figure, 3)
        figure.tight_layout(rect=(0, 0.02 + 0.05 * lines, 1, 1))
        return save(figure, stem, {"pruned": pruned, "random": random})


def _by_density(panel: Axes, d: int, tint: str, pruned: list[dict], random: list[dict]) -> None:
    full = facts_capacity("full", d)
    densities = np.linspace(min(0.1, *(point["density"] for point in pruned)), 1, 40)
    for name, style, words in (("pruned", "-", "bound for the best places"), ("masked", ":", "law for random places")):
        law = [facts_capacity(f"{name}:{float(density)}", d) / full for density in densities]
        panel.plot(densities, law, style, color=tint, lw=1.2, label=f"d = {d}, {words}")
    most = max(point["rounds"] for point in pruned)
    best = [point for point in pruned if point["rounds"] == most]
    kinds = ((random, "o", "white", "random, proved"), (best, "s", tint, f"pruned in {most} rounds"))
    for points, mark, face, words in kinds:
        if points:
            x, y, error = ([point[name] for point in points] for name in ("density", "stored", "error"))
            panel.errorbar(
                x, np.divide(y, full), np.divide(error, full), color=tint, marker=mark, mfc=face, ls="", ms=5.5, lw=1,
                label=f"d = {d}, {words}",
            )  # fmt: skip


def _by_rounds(panel: Axes, points: list[dict], tint: str, mark: str) -> None:
    bound = points[0]["bound"]
    x, y, error = ([point[name] for point in points] for name in ("rounds", "stored", "error"))
    label = f"d = {points[0]['d']}, density {points[0]['density']:g}"
    panel.errorbar(
        x, np.divide(y, bound), np.divide(error, bound), color=tint, marker=mark, mfc="white", ms=5, lw=1, label=label
    )


def _remarks(rows: list[Row]) -> list[str]:
    """What the most rounds store, as shares of the bound and of what is proved for random places."""
    proved = {(point["d"], point["density"]): point["stored"] for point in proved_random_masks(rows)}
    last: dict[tuple, dict] = {}
    for point in sorted(stored_by_pruning(rows), key=lambda point: point["rounds"]):
        last[point["d"], point["density"]] = point
    words = []
    for (d, density), point in sorted(last.items()):
        beside = f", {point['stored'] / proved[d, density]:.2f} times the mean proved for random places"
        words.append(
            f"d = {d}, {density:g} of the entries: {point['rounds']} rounds of pruning store "
            f"{point['stored'] / point['bound']:.3f} of the bound{beside if (d, density) in proved else ''}."
        )
    return words


PRUNING = Figure(
    "pruning",
    from_catalogue("pruning"),
    draw_pruning,
    lambda rows: compare_proved_facts(proved_facts(rows)),
    Caption(
        "Few entries: chosen by pruning, or at random",
        "The largest p up to which a memory with a given share of non-zero entries stores every association of a "
        "stream, mean over streams with standard errors. Pruned: a full memory is trained by L-BFGS, its smallest "
        "entries are put to zero for good, the others are trained again, and so on in a number of rounds; what is "
        "stored bounds from below what the best places could store. Random: exact capacities of random masks with as "
        "many entries, on the same streams, each proved.",
        "N D(N) = delta. For random places delta is the number of entries n. For the best places it is at most the "
        "mean of the sum of the n largest of d^2 squared normal numbers; the family is not convex, and N is a bound "
        "from above for the decoupled problem in the limit of large d.",
    ),
    remarks=_remarks,
)
