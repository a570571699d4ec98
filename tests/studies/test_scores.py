"""Scores of trained memories: which runs count, targets beside their law, all others beside a normal law, and gaps."""

import numpy as np
import pytest
from scipy.special import ndtr

from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.scores import as_in_the_paper, compare, points, remarks, shape
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from loadstone.theory.scores import target_deviation, target_mean

D = 10
FULL = round(float(capacity_associations(D)))
EDGES = np.linspace(-8, 8, 321)
NORMAL = np.random.default_rng(1).standard_normal((5, 200_000))
TARGET, DISTANCE, GAP = "of the target's score at capacity", "of the scores of the others", "gap between the target"


def histogram(values):
    return np.histogram(values, EDGES)[0].tolist()


def run(p=FULL, seed=0, problem="original", mean=2.5, deviation=0.3, others=NORMAL[0, :1000], rival=2.0, **fields):
    """A run whose targets all have the score `mean`, and whose best rivals all have the score `rival`."""
    scores = {"low": -8.0, "high": 8.0, "target": histogram([mean]), "own": histogram([mean])}
    scores |= {"rival": histogram(rival), "others": histogram(others)}
    scores |= {"target_mean": mean, "target_deviation": deviation}
    scores["own_target"] = {"mean": mean, "deviation": deviation}
    return {"problem": problem, "d": D, "p": p, "seed": seed, "scores": scores} | fields


def compared(kind, rows):
    return [one for one in compare(points(rows)) if kind in one.family]


def test_targets_at_capacity_are_set_beside_their_law():
    mean, deviation = compared(TARGET, [run(seed=seed, mean=2.0 + seed, deviation=0.3 * seed) for seed in range(3)])
    assert mean.predicted == target_mean(FULL) and mean.measured == pytest.approx(3.0)
    assert deviation.predicted == target_deviation(FULL) and deviation.measured == pytest.approx(0.3)
    # All scores of three streams are taken as independent and normal.
    assert mean.error == pytest.approx(float(target_deviation(FULL)) / (3 * FULL) ** 0.5)
    assert deviation.error == pytest.approx(float(target_deviation(FULL)) / (2 * 3 * FULL) ** 0.5)
    assert mean.what == f"mean of the target's score at capacity, trained, original, d = {D}"
    assert mean.note and mean.dof == np.inf


def test_targets_count_only_at_capacity_and_in_units_of_their_own_query():
    old = run()
    del old["scores"]["own_target"], old["scores"]["own"]  # a record from before they were measured
    assert not compared(TARGET, [run(p=FULL - 1), run(p=FULL + 1), old])
    rows = [run(mean=5.0), old, run(mean=7.0, problem="decoupled"), run(mean=6.0, p=FULL + 1)]
    means = [one for one in compared(TARGET, rows) if one.what.startswith("mean")]
    assert [one.measured for one in means] == [7.0, 5.0]
    one_stream = float(target_deviation(FULL)) / FULL**0.5
    assert [one.error for one in means] == pytest.approx([one_stream, one_stream])


def test_moments_of_a_histogram_are_those_of_the_numbers():
    values = np.random.default_rng(0).gamma(9.0, size=100_000) / 3 - 3
    centred = (values - values.mean()) / values.std()
    measured = shape(run(others=values)["scores"])
    assert measured["skewness"] == pytest.approx(np.mean(centred**3), abs=0.002)
    assert measured["fourth moment"] == pytest.approx(np.mean(centred**4), abs=0.01)


def test_scores_with_a_normal_law_are_told_from_those_with_a_cut_tail():
    normal = compared(DISTANCE, [run(seed=seed, others=draw) for seed, draw in enumerate(NORMAL)])
    assert all(one.verdict == Judgement.AGREES for one in normal) and len(normal) == 3
    cut = [run(seed=seed, others=np.minimum(draw, 2.0)) for seed, draw in enumerate(NORMAL)]
    skewness, fourth, distance = compared(DISTANCE, cut)
    assert skewness.verdict == fourth.verdict == Judgement.DIFFERS and skewness.measured < 0 and fourth.measured < 3
    # All that lies above 2 is in the bin from 2 to 2.05, beyond which a normal law has more than one per cent.
    assert distance.measured == pytest.approx(1 - ndtr(2.05), abs=1e-6) and distance.verdict == Judgement.DIFFERS
    assert compared(DISTANCE, cut[:1]) == []


def test_gaps_are_those_of_the_largest_load_that_is_stored():
    def with_gap(p, seed, gap, accuracy):
        rival = np.random.default_rng([p, seed]).normal(2.5, 0.3, 4000)
        one = run(p, seed, rival=rival, accuracy=accuracy)
        one["scores"]["target"] = histogram(rival + gap)
        return one

    rows = [with_gap(10, seed, 1.7, 1.0) for seed in range(3)] + [with_gap(30, seed, 0.1, 0.8) for seed in range(3)]
    rows += [with_gap(20, seed, gap, 0.9995) for seed, gap in enumerate((0.4, 0.5, 0.6))]
    (one,) = compared(GAP, rows)
    # Bins are a twentieth wide, and each gap is a difference of two means of 4000 of them.
    assert one.measured == pytest.approx(0.5, abs=4 * 0.05 / np.sqrt(12 * 4000)) and one.verdict == Judgement.AGREES
    assert one.what == f"gap between the target and its best rival, original, d = {D}, load {load(20, D):.2f}"
    (wide,) = compared(GAP, rows[:6])
    assert wide.verdict == Judgement.DIFFERS and compared(GAP, rows[3:6]) == []


def test_the_papers_stop_rule_is_shown_where_it_was_run():
    def stopped(p, stop, mean):
        return run(p, mean=mean, protocol={"stop": stop})

    rows = [stopped(10, "paper", 3.0), stopped(10, "none", 5.0), stopped(20, "none", 4.0)]
    assert as_in_the_paper(rows) == [rows[0], rows[2]] and as_in_the_paper(rows[1:]) == rows[1:]
    (said,) = remarks(points(rows))
    assert "3.00 and 0.30 with the paper's stop rule, 5.00 and 0.30 at the end of the schedule" in said
    assert remarks(points(rows[1:])) == []
