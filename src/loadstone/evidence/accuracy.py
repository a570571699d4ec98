"""Accuracy and loss against the load: the curves, and what theory says about them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from loadstone.evidence.curves import compare_curves
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.counts import count_comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.theory.hebbian import finite_accuracy
from loadstone.theory.load import load


def load_curves(rows: list[Row], quantity: str) -> list[dict]:
    """Mean, deviation and number of seeds at each load: one curve for each rank fraction, problem, solver and d.

    Curves of the Hebbian rule also have its predicted accuracy.
    """
    curves = []
    for (kappa, problem, solver, d), found in grouped(rows, "kappa", "problem", "solver", "d"):
        points = {p: [row[quantity] for row in group] for (p,), group in grouped(found, "p")}
        curve = {"kappa": kappa, "problem": problem, "solver": solver, "d": d, "p": list(points)}
        curve["load"] = [float(load(p, d)) for p in points]
        curve["mean"] = [float(np.mean(values)) for values in points.values()]
        curve["deviation"] = [deviation(values) for values in points.values()]
        curve["seeds"] = [len(values) for values in points.values()]
        if solver == "hebbian":
            curve["predicted"] = [finite_accuracy(p, d) for p in points]
        curves.append(curve)
    return curves


def compare_equivalence(rows: list[Row]) -> list[Comparison]:
    """Mean accuracy over the loads: decoupled - original is zero in theory. And what L-BFGS reaches above capacity."""
    return compare_problems(rows) + compare_minimised(rows)


def compare_losses(rows: list[Row]) -> list[Comparison]:
    """decoupled - original in mean loss over the loads: zero in theory."""
    return compare_problems(rows, "loss")


def compare_problems(rows: list[Row], quantity: str = "accuracy") -> list[Comparison]:
    """decoupled - original in the mean of a quantity over the loads, for each solver, rank fraction and dimension."""
    comparisons = []
    for (solver, kappa, d), found in grouped(rows, "solver", "kappa", "d"):
        original, decoupled = (_mean_by_seed(found, problem, quantity) for problem in ("original", "decoupled"))
        if min(len(original), len(decoupled)) < FEWEST:
            continue
        error = math.sqrt(sum(np.var(means, ddof=1) / len(means) for means in (original, decoupled)))
        by = " by L-BFGS" if solver == "lbfgs" else ""
        by += f" at kappa = {kappa:g}" if kappa < 1 else ""
        what = f"{quantity} over all loads{by}, decoupled - original, d = {d}"
        freedom = len(original) + len(decoupled) - 2
        difference = float(decoupled.mean() - original.mean())
        family, streams = f"{quantity} over all loads{by}, decoupled - original", f"d = {d}"
        scale = float(original.mean())
        comparisons.append(Comparison(what, 0.0, difference, error, freedom, "", family, streams, scale))
    return comparisons


def compare_minimised(rows: list[Row]) -> list[Comparison]:
    """Accuracy of L-BFGS at full rank above capacity, where it ends at the minimum of the loss, beside the predicted
    accuracy of that minimum."""
    searched = [row for row in rows if row["solver"] == "lbfgs"]
    # Where some streams were stored, the others are not a fair sample.
    minimised = [
        row | {"solver": "adam"}
        for _, group in grouped(searched, "problem", "kappa", "d", "p")
        if all(row["status"] == "minimum reached" for row in group)
        for row in group
    ]
    found = compare_curves(minimised)
    return [
        replace(one, what=f"{one.what}, L-BFGS", family=f"{one.family}, L-BFGS")
        for one in found
        if one.what.startswith("accuracy")
    ]


def _mean_by_seed(rows: list[Row], problem: str, quantity: str) -> np.ndarray:
    """The mean over the loads for each seed of a problem."""
    chosen = [row for row in rows if row["problem"] == problem]
    return np.array([np.mean([row[quantity] for row in group]) for _, group in grouped(chosen, "seed")])


def compare_hebbian_accuracy(rows: list[Row]) -> list[Comparison]:
    """Accuracy of the Hebbian rule beside its law at finite size."""
    comparisons: list[Comparison] = []
    for (d, p), group in grouped([row for row in rows if row["solver"] == "hebbian"], "d", "p"):
        predicted = finite_accuracy(p, d)
        # The associations of one memory are nearly independent: how many are recalled is nearly binomial.
        cases = p * len(group)
        recalled = round(cases * float(np.mean([row["accuracy"] for row in group])))
        what = f"Hebbian accuracy, d = {d}, load {load(p, d):.2f}"
        note = "the law takes the rivals of one association as independent"
        family, streams = "Hebbian accuracy", f"d = {d}"
        comparisons.append(count_comparison(what, predicted, recalled, cases, note, family, streams))
    return comparisons
