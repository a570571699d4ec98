"""Scores of the targets beside their laws: for trained memories at capacity, for proofs, for the Hebbian rule."""

from __future__ import annotations

import math

import numpy as np

from loadstone.studies.kit.bounds import BELOW, BoundComparison
from loadstone.studies.kit.comparison import FEWEST, Comparison
from loadstone.studies.kit.rows import Row, deviation, grouped
from loadstone.studies.kit.thresholds import TRAINING_STOPS_SHORT
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.hebbian import score_moments
from loadstone.theory.load import load
from loadstone.theory.scores import target_deviation, target_mean

#: The accuracy at which the paper stops.
_NEARLY_ALL = 0.999
_LAWS = {"mean": target_mean, "deviation": target_deviation}


def as_in_the_paper(rows: list[Row]) -> list[Row]:
    """The runs with the paper's stop rule where a problem and size has some, the others elsewhere: there no run meets
    the rule, and training goes to the end of its schedule."""
    stopped = {(row["problem"], row["d"], row["p"]) for row in rows if _stop(row) == "paper"}
    return [row for row in rows if (_stop(row) == "paper") == ((row["problem"], row["d"], row["p"]) in stopped)]


def widths_in_words(rows: list[Row]) -> list[str]:
    """What the paper's stop rule changes: mean and deviation of the targets' scores with it, and after 512 steps."""
    words = []
    for (problem, d, p), group in grouped(rows, "problem", "d", "p"):
        found = {stop: [row["scores"] for row in some] for (stop,), some in grouped(_with_stop(group), "stop_rule")}
        if {"paper", "none"} <= set(found):
            stopped, ended = (
                " and ".join(f"{np.mean([one[f'target_{name}'] for one in found[stop]]):.2f}" for name in _LAWS)
                for stop in ("paper", "none")
            )
            words.append(
                f"Targets at load {load(p, d):.2f}, {problem}, d = {d}: mean and deviation are {stopped} with the "
                f"paper's stop rule, {ended} at the end of the schedule."
            )
    return words


def _stop(row: Row) -> str:
    return row.get("protocol", {}).get("stop", "")


def _with_stop(rows: list[Row]) -> list[Row]:
    return [row | {"stop_rule": _stop(row)} for row in rows]


def compare_scores(rows: list[Row]) -> list[Comparison]:
    """Mean and deviation of the targets' scores at capacity, each in units of the length of its query."""
    comparisons = []
    for (problem, d, p), group in grouped(rows, "problem", "d", "p"):
        group = [row for row in group if "own_target" in row["scores"]]
        if p != round(float(capacity_associations(d))) or not group:
            continue
        errors = _errors(float(target_deviation(p)), p * len(group))
        for name, law in _LAWS.items():
            measured = float(np.mean([row["scores"]["own_target"][name] for row in group]))
            what = f"{name} of the target's score at capacity, trained, {problem}, d = {d}"
            family, streams = f"{name} of the target's score at capacity, trained, {problem}", f"d = {d}"
            comparisons.append(
                Comparison(
                    what, float(law(p)), measured, errors[name], math.inf, TRAINING_STOPS_SHORT, family, streams
                )
            )
    return comparisons


def compare_hebbian_scores(rows: list[Row]) -> list[Comparison]:
    """Mean and deviation of the scores on the diagonal, in units of the deviation off it."""
    comparisons = []
    for (_, d, p), group in grouped(rows, "problem", "d", "p"):
        _, mean, scatter = score_moments(p, d)
        errors = _errors(scatter, p * len(group))
        for name, predicted in {"mean": mean, "deviation": scatter}.items():
            measured = float(np.mean([row["scores"][f"target_{name}"] for row in group]))
            what = f"{name} on the diagonal, d = {d}, load {load(p, d):.3f}"
            family, streams = f"{name} on the diagonal", f"d = {d}"
            comparisons.append(Comparison(what, predicted, measured, errors[name], family=family, streams=streams))
    return comparisons


def compare_gaps(rows: list[Row]) -> list[Comparison]:
    """By how much targets exceed their best rivals on average, at the largest load at which 99.9 % are stored, in units
    of the deviation of the other scores. 'Just above' is less than one of them."""
    comparisons: list[Comparison] = []
    nearly_all = [row for row in rows if row.get("accuracy", 0) >= _NEARLY_ALL]
    for (problem, d), found in grouped(nearly_all, "problem", "d"):
        p, group = max((p, group) for (p,), group in grouped(found, "p"))
        gaps = [mean_gap(row["scores"]) for row in group]
        if len(gaps) < FEWEST:
            continue
        family = f"gap between the target and its best rival, {problem}"
        what = f"{family}, d = {d}, load {load(p, d):.2f}"
        error = deviation(gaps) / math.sqrt(len(gaps))
        comparisons.append(
            BoundComparison(
                what, 1.0, float(np.mean(gaps)), error, len(gaps) - 1, "", family, f"d = {d}", side=BELOW
            )  # fmt: skip
        )
    return comparisons


def mean_gap(scores: dict) -> float:
    """Mean score of the targets less that of their best rivals, from the histograms of a record."""
    edges = np.linspace(scores["low"], scores["high"], len(scores["target"]) + 1)
    target, rival = (np.average((edges[1:] + edges[:-1]) / 2, weights=scores[name]) for name in ("target", "rival"))
    return float(target - rival)


def _errors(scatter: float, count: int) -> dict[str, float]:
    """Standard errors of the mean and of the deviation of `count` scores, taken as independent and normal."""
    return {"mean": scatter / math.sqrt(count), "deviation": scatter / math.sqrt(2 * count)}
