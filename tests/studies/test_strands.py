"""Both problems at low rank: which runs are compared, and that differences which fall are told from those that stay."""

import numpy as np
import pytest

from loadstone.evidence.strands import NUMBERS, compare_strands, strand_points
from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.kit.moments import FOURTH

SCORE = "mean of the target's score"


def run(problem, d, seed, p=5, status="stored", score=2.0, values=None, kappa=0.5):
    row = {"solver": "lbfgs", "kappa": kappa, "problem": problem, "d": d, "seed": seed, "p": p, "status": status}
    spread = np.ones(4) if values is None else values
    return row | {"singular_values": list(spread), "scores": {"own_target": {"mean": score, "deviation": 1.0}}}


def both(d, seed, difference, **given):
    return [run("original", d, seed, score=2 + difference, **given), run("decoupled", d, seed, **given)]


def test_runs_are_compared_at_the_last_p_that_every_stream_stored():
    rows = [row for p in (5, 7) for seed in range(3) for row in both(20, seed, p / 100 + seed / 1000, p=p)]
    rows += [row for seed in range(3) for row in both(20, seed, 5.0, p=9)]
    rows[-1]["status"] = "minimum reached"
    rows += both(20, 0, 5.0, p=11) + both(20, 0, 5.0, p=3, kappa=1.0)
    rows += [run("original", 30, 0) | {"solver": "adam"}]
    points = {point["number"]: point for point in strand_points(rows)}
    assert set(points) == set(NUMBERS) and points[SCORE]["p"] == 7 and points[SCORE]["streams"] == 3
    assert points[SCORE]["difference"] == pytest.approx(0.071) and points[SCORE]["decoupled"] == 2
    assert points[SCORE]["error"] == pytest.approx(0.001 / np.sqrt(3))
    assert points[FOURTH]["difference"] == 0


@pytest.mark.parametrize("power, verdict", [(-1.0, Judgement.AGREES), (0.0, Judgement.CANNOT_TELL)])
def test_a_difference_that_falls_is_told_from_one_that_stays(power, verdict):
    random = np.random.default_rng(0)
    rows = [
        row
        for d, streams in ((50, 5), (100, 5), (150, 2))
        for seed in range(streams)
        for row in both(d, seed, -0.2 * (d / 50) ** power * (1 + 0.1 * random.standard_normal()))
    ]
    found = {one.what: one for one in compare_strands(rows)}
    at = f"at kappa = 0.5: {SCORE}, original - decoupled, d = "
    exponent = f"exponent of d at kappa = 0.5 in the difference: {SCORE}, original - decoupled"
    assert set(found) == {at + "50", at + "100", at + "150", exponent}
    trend = found[exponent]
    assert trend.verdict == verdict and trend.measured == pytest.approx(power, abs=4 * trend.error)
    assert found[at + "50"].verdict == Judgement.DIFFERS and found[at + "50"].measured == pytest.approx(-0.2, abs=0.04)


def test_differences_of_both_signs_have_no_exponent():
    rows = [row for d in (20, 40, 80) for seed in range(3) for row in both(d, seed, (d - 30) * (1 + seed / 10))]
    assert not [one for one in compare_strands(rows) if one.what.startswith("exponent")]
    assert compare_strands([]) == []
