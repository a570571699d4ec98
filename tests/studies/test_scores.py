"""Scores of targets: which rows count, and errors as simulated samples scatter."""

import numpy as np
import pytest

from loadstone.evidence.scores import (
    as_in_the_paper,
    compare_gaps,
    compare_hebbian_scores,
    compare_scores,
    widths_in_words,
)
from loadstone.studies.kit.comparison import Judgement
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.hebbian import score_moments
from loadstone.theory.load import load
from loadstone.theory.scores import target_deviation, target_mean

D = 10
FULL = round(float(capacity_associations(D)))
DRAWS = 20_000
# A deviation of so many nearly normal numbers is known to 1 / sqrt(2 DRAWS): five times that.
KNOWN = 5 / (2 * DRAWS) ** 0.5


def moments(mean, deviation):
    return {"mean": mean, "deviation": deviation}


def trained(mean=0.0, deviation=0.0, problem="original", p=FULL, seed=0):
    scores = {"own_target": moments(mean, deviation), "target_mean": mean, "target_deviation": deviation}
    return {"problem": problem, "d": D, "p": p, "seed": seed, "scores": scores}


def scatter(mean, deviation, p, seeds):
    """How the mean over seeds of a mean and of a deviation scatters, if all scores are independent and normal."""
    drawn = np.random.default_rng(2).normal(mean, deviation, (DRAWS, seeds, p))
    return {"mean": drawn.mean(axis=2).mean(axis=1).std(), "deviation": drawn.std(axis=2).mean(axis=1).std()}


def test_trained_scores_at_capacity():
    rows = [trained(2.0 + seed, 0.3 * seed, seed=seed) for seed in range(3)]
    mean, deviation = compare_scores(rows)
    assert mean.predicted == target_mean(FULL) and mean.measured == pytest.approx(3.0)
    assert deviation.predicted == target_deviation(FULL) and deviation.measured == pytest.approx(0.3)
    expected = scatter(target_mean(FULL), target_deviation(FULL), FULL, 3)
    assert mean.error == pytest.approx(expected["mean"], rel=KNOWN)
    # A deviation is a normal number only up to corrections of order 1 / p.
    assert deviation.error == pytest.approx(expected["deviation"], rel=KNOWN + 1 / FULL)
    assert mean.what == f"mean of the target's score at capacity, trained, original, d = {D}"
    assert mean.note and mean.freedom == np.inf


def test_scores_count_only_at_capacity_and_in_units_of_their_own_query():
    old = trained()
    del old["scores"]["own_target"]  # a record from before it was measured
    assert not compare_scores([trained(p=FULL - 1), trained(p=FULL + 1), old])
    found = compare_scores([trained(5.0), old, trained(7.0, problem="decoupled"), trained(9.0, p=FULL + 1)])
    assert [one.measured for one in found if one.what.startswith("mean")] == [7.0, 5.0]
    one_seed = float(target_deviation(FULL)) / FULL**0.5
    assert [one.error for one in found if one.what.startswith("mean")] == pytest.approx([one_seed, one_seed])


def test_hebbian_scores():
    p, seeds = 40, 3
    rows = [trained(1.0 + seed, 0.5 * seed, p=p, seed=seed) for seed in range(seeds)] + [trained(9.0, p=p + 1)]
    mean, deviation, *others = compare_hebbian_scores(rows)
    _, predicted, spread = score_moments(p, D)
    assert (mean.predicted, mean.measured) == (predicted, 2.0)
    assert (deviation.predicted, deviation.measured) == (spread, 0.5)
    expected = scatter(predicted, spread, p, seeds)
    assert mean.error == pytest.approx(expected["mean"], rel=KNOWN)
    assert deviation.error == pytest.approx(expected["deviation"], rel=KNOWN + 1 / p)
    assert mean.what == f"mean on the diagonal, d = {D}, load {load(p, D):.3f}" and mean.freedom == np.inf
    assert [one.measured for one in others] == [9.0, 0.0]


def test_gaps_are_those_of_the_largest_load_that_is_stored():
    def run(p, seed, gap, accuracy):
        edges = np.linspace(-8, 8, 321)
        random = np.random.default_rng([p, seed])
        rival = random.normal(2.5, 0.3, 4000)
        scores = {"low": -8.0, "high": 8.0, "target": np.histogram(rival + gap, edges)[0].tolist()}
        scores["rival"] = np.histogram(rival, edges)[0].tolist()
        return {"problem": "original", "d": D, "p": p, "seed": seed, "accuracy": accuracy, "scores": scores}

    rows = [run(10, seed, 1.7, 1.0) for seed in range(3)] + [run(30, seed, 0.1, 0.8) for seed in range(3)]
    rows += [run(20, seed, gap, 0.9995) for seed, gap in enumerate((0.4, 0.5, 0.6))]
    (one,) = compare_gaps(rows)
    # Bins are a twentieth wide, and each gap is a difference of two means of 4000 of them.
    assert one.measured == pytest.approx(0.5, abs=4 * 0.05 / np.sqrt(12 * 4000)) and one.verdict == Judgement.AGREES
    assert one.what == f"gap between the target and its best rival, original, d = {D}, load {load(20, D):.2f}"
    (wide,) = compare_gaps(rows[:6])
    assert wide.verdict == Judgement.DIFFERS and compare_gaps(rows[3:6]) == []


def test_the_papers_stop_rule_is_shown_where_it_was_run():
    def run(p, stop, mean):
        return trained(mean, p=p) | {"protocol": {"stop": stop}}

    rows = [run(10, "paper", 3.0), run(10, "none", 5.0), run(20, "none", 4.0)]
    assert as_in_the_paper(rows) == [rows[0], rows[2]] and as_in_the_paper(rows[1:]) == rows[1:]
    (said,) = widths_in_words(rows)
    assert "3.00 and" in said and "5.00 and" in said and widths_in_words(rows[1:]) == []
