"""What theory predicted beside what was measured, figure by figure: the difference in standard errors, and a verdict.

Each number here has its own prediction, made without looking at the measurement. Where a prediction is one for large
sizes, or for a memory that training does not reach, the note says so: then a difference is a finding, not a failure.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import t as student

from loadstone.figures.curves import curve_points, trained_law
from loadstone.figures.distances import capacity_reference, kolmogorov, square_reference
from loadstone.figures.thresholds import proved_capacities, trained_thresholds
from loadstone.theory import hebbian, scores
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.spectra import at_capacity, initial_factored
from loadstone.theory.storable import capacity_moments

#: A difference that chance alone would exceed less often than this is called one: 2.6 deviations of a normal number.
CHANCE = 0.01
#: Fewer seeds show no scatter, so nothing can be weighed by it.
_FEWEST = 2
_LAWS_OF_LARGE_D = "the law is that of large d"
_INDEPENDENT = "the law takes the rivals of one association as independent"
_TRAINED = "512 steps of training end before what can be stored does"


@dataclass(frozen=True)
class Comparison:
    """One number: `error` is the standard error of measured - predicted, from `freedom` degrees of freedom."""

    what: str
    predicted: float
    measured: float
    error: float
    freedom: float = math.inf
    note: str = ""

    @property
    def deviations(self) -> float:
        difference = self.measured - self.predicted
        return difference / self.error if self.error > 0 else math.copysign(math.inf, difference) if difference else 0.0

    @property
    def agrees(self) -> bool:
        """Within what chance allows; with few degrees of freedom Student's law allows more."""
        return abs(self.deviations) <= student.ppf(1 - CHANCE / 2, self.freedom)

    def as_row(self) -> dict[str, object]:
        row = asdict(self) | {"deviations": self.deviations, "agrees": bool(self.agrees)}
        # JSON has no infinity.
        return row | {name: None for name in ("freedom", "deviations") if math.isinf(row[name])}


def compare_equivalence(rows: list[dict]) -> list[Comparison]:
    """Mean accuracy over the loads: decoupled less original is zero in theory."""
    found: dict[tuple, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["d"], row["problem"]][row["seed"]].append(row["accuracy"])
    means = {key: np.array([np.mean(values) for values in seeds.values()]) for key, seeds in found.items()}
    comparisons = []
    for d in sorted({d for d, _ in means}):
        one, other = (means.get((d, problem), np.empty(0)) for problem in ("original", "decoupled"))
        if min(len(one), len(other)) < _FEWEST:
            continue
        error = math.sqrt(np.var(one, ddof=1) / len(one) + np.var(other, ddof=1) / len(other))
        what = f"accuracy over all loads, decoupled - original, d = {d}"
        freedom = len(one) + len(other) - 2
        comparisons.append(Comparison(what, 0.0, float(other.mean() - one.mean()), error, freedom))
    return comparisons


def compare_accuracy(rows: list[dict]) -> list[Comparison]:
    """Recall of the Hebbian rule, by its law at finite size."""
    found: dict[tuple, list[float]] = defaultdict(list)
    for row in rows:
        if row["solver"] == "hebbian":
            found[row["d"], row["p"]].append(row["accuracy"])
    comparisons = []
    for (d, p), values in sorted(found.items()):
        predicted = hebbian.finite_accuracy(p, d)
        # Associations of one memory are nearly independent: the number of those recalled is nearly binomial.
        error = math.sqrt(predicted * (1 - predicted) / (p * len(values)))
        what = f"Hebbian accuracy, d = {d}, load {load(p, d):.2f}"
        comparisons.append(Comparison(what, predicted, float(np.mean(values)), error, note=_INDEPENDENT))
    return comparisons


def compare_spectra(rows: list[dict]) -> list[Comparison]:
    """Kolmogorov distance to the law at capacity, beside that of Gaussian matrices cut to the same rank."""
    return [
        _distance(key, group, at_capacity(key[2]), capacity_reference(key[1], _rank(group)), "at capacity")
        for key, group in sorted(_grouped(rows).items())
    ]


def compare_initial_spectra(rows: list[dict]) -> list[Comparison]:
    """The same for W = Q R^T before training, beside square Gaussian matrices with as many singular values."""
    return [
        _distance(key, group, initial_factored(key[2]), square_reference(_rank(group)), "at initialisation")
        for key, group in sorted(_grouped(rows).items())
    ]


def _distance(key: tuple, group: list[dict], law, reference: tuple[float, float], name: str) -> Comparison:
    problem, d, kappa = key
    found = [kolmogorov(np.array(row["singular_values"]), law.nonzero()) for row in group]
    what = f"distance to the law {name}, {problem}, d = {d}, kappa = {kappa:.3g}"
    note = _LAWS_OF_LARGE_D if name == "at capacity" else ""
    return Comparison(what, reference[0], float(np.mean(found)), reference[1] / math.sqrt(len(found)), note=note)


def compare_scores(rows: list[dict]) -> list[Comparison]:
    """Mean and deviation of the target's score at capacity, in units of the length of its own query."""
    comparisons = []
    for (problem, d, p), group in sorted(_grouped(rows, "p").items()):
        group = [row for row in group if "own_target" in row["scores"]]
        if p != round(float(capacity_associations(d))) or not group:
            continue
        laws = {"mean": float(scores.target_mean(p)), "deviation": float(scores.target_deviation(p))}
        # Associations count as independent, as they nearly are in theory.
        error = laws["deviation"] / math.sqrt(p * len(group))
        errors = {"mean": error, "deviation": error / math.sqrt(2)}
        for name, predicted in laws.items():
            measured = float(np.mean([row["scores"]["own_target"][name] for row in group]))
            what = f"{name} of the target's score at capacity, trained, {problem}, d = {d}"
            comparisons.append(Comparison(what, predicted, measured, errors[name], note=_TRAINED))
    return comparisons


def compare_hebbian(rows: list[dict]) -> list[Comparison]:
    """Moments of the scores on the diagonal, in units of the deviation off it."""
    comparisons = []
    for (_, d, p), group in sorted(_grouped(rows, "p").items()):
        _, mean, deviation = hebbian.score_moments(p, d)
        count = p * len(group)
        of = f"on the diagonal, d = {d}, load {load(p, d):.3f}"
        means, spreads = (np.mean([row["scores"][f"target_{name}"] for row in group]) for name in ("mean", "deviation"))
        comparisons.append(Comparison(f"mean {of}", mean, float(means), deviation / math.sqrt(count)))
        comparisons.append(Comparison(f"deviation {of}", deviation, float(spreads), deviation / math.sqrt(2 * count)))
    return comparisons


def compare_capacity(rows: list[dict]) -> list[Comparison]:
    """Mean and deviation of the proved capacities; the prediction is one for the decoupled problem."""
    comparisons = []
    for (problem, d), found in sorted(proved_capacities(rows).items()):
        mean, deviation = capacity_moments(d)
        count = len(found)
        if count < _FEWEST:
            continue
        note = "original: a little more is storable at small d" if problem == "original" else ""
        of = f"of the proved capacity, {problem}, d = {d} ({count} streams)"
        errors = deviation / math.sqrt(count), deviation / math.sqrt(2 * (count - 1))
        comparisons.append(Comparison(f"mean {of}", mean, float(np.mean(found)), errors[0], note=note))
        comparisons.append(Comparison(f"deviation {of}", deviation, float(np.std(found, ddof=1)), errors[1], note=note))
    return comparisons + _proved_scores(rows)


def _proved_scores(rows: list[dict]) -> list[Comparison]:
    """Target scores of the memories that prove a capacity, in units of the length of their own query."""
    found: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        if "own_target" in row:
            found[row["problem"], row["d"]].append(row)
    comparisons = []
    for (problem, d), group in sorted(found.items()):
        if len(group) < _FEWEST:
            continue
        note = "original: outputs are shared, the law is that of own ones" if problem == "original" else ""
        for name, law in (("mean", scores.target_mean), ("deviation", scores.target_deviation)):
            values = [row["own_target"][name] - float(law(row["p_c"])) for row in group]
            predicted = float(law(round(float(np.mean([row["p_c"] for row in group])))))
            what = f"{name} of the target's score at the proved capacity, {problem}, d = {d}"
            error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
            measured = predicted + float(np.mean(values))
            comparisons.append(Comparison(what, predicted, measured, error, len(values) - 1, note))
    return comparisons


def compare_thresholds(rows: list[dict]) -> list[Comparison]:
    """Where training first fails, beside the capacity predicted for that size and rank."""
    comparisons = []
    for point in trained_thresholds(rows):
        d, kappa = point["d"], point["kappa"]
        predicted = float(load(capacity_associations(d, kappa), d))
        what = f"load at which training fails ({point['stop']} stop), {point['problem']}, d = {d}, kappa = {kappa:g}"
        # Satterthwaite: only the spread over seeds is estimated, the width of the step is known.
        ratio = point["error"] / point["spread"] if point["spread"] > 0 else math.inf
        freedom = (point["seeds"] - 1) * ratio**4 if point["seeds"] > 1 else math.inf
        comparisons.append(Comparison(what, predicted, point["alpha"], point["error"], freedom, _TRAINED))
    return comparisons


def compare_curves(rows: list[dict]) -> list[Comparison]:
    """Loss and accuracy above capacity beside the minimiser's."""
    comparisons = []
    for point in curve_points(rows):
        if point["seeds"] < _FEWEST or point["p"] <= capacity_associations(point["d"]):
            continue
        law = trained_law(point["p"], point["d"])
        for name in ("loss", "accuracy"):
            error = math.hypot(point[f"{name}_deviation"] / math.sqrt(point["seeds"]), getattr(law, f"{name}_error"))
            what = f"{name}, {point['problem']}, d = {point['d']}, load {point['load']:.2f}"
            freedom = point["seeds"] - 1
            note = _LAWS_OF_LARGE_D
            comparisons.append(Comparison(what, getattr(law, name), point[name], error, freedom, note))
    return comparisons


#: What each figure can be held to. A figure that is not here shows no measurement with a prediction of its own.
COMPARISONS: dict[str, Callable[[list[dict]], list[Comparison]]] = {
    "equivalence": compare_equivalence,
    "accuracy": compare_accuracy,
    "spectra": compare_spectra,
    "scores": compare_scores,
    "finite-size": lambda rows: compare_capacity(rows) + compare_thresholds(rows),
    "initial-spectra": compare_initial_spectra,
    "hebbian": compare_hebbian,
    "capacity": compare_capacity,
    "curves": compare_curves,
    "phase": compare_thresholds,
    "beyond": compare_curves,
}


def _grouped(rows: list[dict], by: str = "kappa") -> dict[tuple, list[dict]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row["problem"], row["d"], row[by]].append(row)
    return groups


def _rank(group: list[dict]) -> int:
    return len(group[0]["singular_values"])
