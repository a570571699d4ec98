"""Scores of targets in memories that prove a capacity: errors by hand, and which streams count."""

import numpy as np
import pytest

from loadstone.studies.kit.proved_scores import compare_proved_scores, proved_scores
from loadstone.theory.scores import target_deviation, target_mean

D = 10


def moments(mean, deviation):
    return {"mean": mean, "deviation": deviation}


def test_proved_scores_are_compared_stream_by_stream():
    """Every stream has its own p_c, and with it its own prediction."""
    differences = {"mean": (0.1, 0.2, 0.6), "deviation": (-0.03, 0.0, 0.03)}
    sizes = (30, 36, 45)
    rows = [
        {"problem": "decoupled", "d": D, "p_c": p}
        | {"own_target": moments(float(target_mean(p)) + of_mean, float(target_deviation(p)) + of_deviation)}
        for p, of_mean, of_deviation in zip(sizes, *differences.values())
    ]
    undecided = {"problem": "decoupled", "d": D, "p_c": None}
    mean, deviation, scatter = compare_proved_scores(proved_scores([*rows, undecided]))
    assert mean.predicted == float(target_mean(37)) and deviation.predicted == float(target_deviation(37))
    assert mean.measured - mean.predicted == pytest.approx(0.3) and mean.dof == deviation.dof == 2
    assert deviation.measured == pytest.approx(deviation.predicted)
    # Variances of 0.07 and 0.0009, of three streams each.
    assert mean.error == pytest.approx((0.07 / 3) ** 0.5) and deviation.error == pytest.approx((0.0009 / 3) ** 0.5)
    assert mean.note == "" and mean.what == f"mean of the target's score at the proved capacity, decoupled, d = {D}"
    widths = [row["own_target"]["deviation"] for row in rows]
    assert scatter.measured == pytest.approx(np.mean(widths)) and scatter.predicted == 0.5
    assert scatter.error == pytest.approx(np.std(widths, ddof=1) / 3**0.5) and scatter.side == "below"


def test_proved_scores_need_two_streams_of_one_problem():
    rows = [
        {"problem": problem, "d": D, "p_c": 36, "own_target": moments(2.0, 0.3)}
        for problem in ("original", "original", "decoupled")
    ]
    found = compare_proved_scores(proved_scores(rows))
    assert len(found) == 2 and all("original" in one.what and one.note for one in found)
