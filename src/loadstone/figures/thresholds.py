"""Measured thresholds: where training first fails, and what was proved to be storable."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from loadstone.theory.load import load


def trained_thresholds(rows: list[dict]) -> list[dict]:
    """For each seed the middle between the last load at which its stop rule was met and the next one, then their mean.

    The error is that of the mean (`spread`), with the width of the step between loads. A seed that never or always
    meets its stop rule says nothing about the threshold and is left out; `seeds` says how many are left.
    """
    met: dict[tuple, dict[int, dict[int, bool]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row["solver"] == "adam" and row["protocol"]["stop"] != "none":
            way = row["problem"], row["d"], row["kappa"], row["protocol"]["stop"]
            met[way][row["seed"]][row["p"]] = row["status"] == "stop rule met"
    points = []
    for (problem, d, kappa, stop), seeds in sorted(met.items()):
        between = [pair for stored in seeds.values() if (pair := _last_and_next(stored))]
        if not between:
            continue
        loads = np.array([[float(load(p, d)) for p in pair] for pair in between])
        middle, step = loads.mean(axis=1), float(np.diff(loads, axis=1).max())
        spread = np.std(middle, ddof=1) / np.sqrt(len(middle)) if len(middle) > 1 else 0.0
        points.append(
            {"problem": problem, "d": d, "kappa": kappa, "stop": stop, "seeds": len(middle)}
            | {"alpha": float(middle.mean()), "error": float(np.hypot(spread, step / np.sqrt(12)))}
            | {"spread": float(spread), "p": float(np.mean(between))}
        )
    return points


def proved_capacities(rows: list[dict]) -> dict[tuple[str, int], list[int]]:
    """Exact capacities of the streams of each problem and dimension; streams left undecided say nothing."""
    found = defaultdict(list)
    for row in rows:
        if row["solver"] == "capacity" and row["p_c"] is not None:
            found[row["problem"], row["d"]].append(row["p_c"])
    return dict(found)


def _last_and_next(stored: dict[int, bool]) -> tuple[int, int] | None:
    """The last p before the first failure, and the p of that failure."""
    sizes = sorted(stored)
    failures = [place for place, p in enumerate(sizes) if not stored[p]]
    return (sizes[failures[0] - 1], sizes[failures[0]]) if failures and failures[0] > 0 else None
