"""Means over streams beside the functional, and what is left out."""

import numpy as np
import pytest

from loadstone.studies import solution_space
from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.solution_space import points
from loadstone.theory.answers import memories_seen
from loadstone.theory.entropy import facts_free_entropy
from tests.studies.drawing import compared


def rows(problem, values, d=8, p=5):
    base = {"problem": problem, "d": d, "p": p, "solver": "space", "status": "sampled"}
    return [base | {"seed": seed, "overlap": q, "log_volume": v} for seed, (q, v) in enumerate(values)]


def test_means_and_predictions(few_samples):
    given = rows("original", [(0.1, -8.0), (0.2, -9.0), (0.3, -10.0)])
    (point,) = points(given)
    # Five outputs show 4 of 8 directions of a query: 32 of 64 dimensions of W.
    assert memories_seen("full", 8, answers=5).delta == 32 and (point["streams"], point["without"]) == (3, 0)
    assert point["overlap"] == pytest.approx(0.2) and point["overlap_error"] == pytest.approx(0.1 / np.sqrt(3))
    assert point["free_entropy"] == pytest.approx(-9 / 32)
    batches = [facts_free_entropy(5, 5, 32, solution_space.SAMPLES, seed) for seed in range(5)]
    q, phi = ([getattr(one, name) for one in batches] for name in ("q", "phi"))
    assert point["overlap_predicted"] == pytest.approx(np.mean(q) / 2)
    assert point["overlap_predicted_error"] == pytest.approx(np.std(q, ddof=1) / np.sqrt(5) / 2)
    assert point["free_entropy_predicted"] == pytest.approx(np.mean(phi))
    overlaps, entropies = compared("space", given)
    assert overlaps.dof == 2 and overlaps.measured == pytest.approx(0.2)
    # A prediction that is sampled is not known exactly.
    assert overlaps.error == pytest.approx(np.hypot(0.1 / np.sqrt(3), point["overlap_predicted_error"]))
    assert entropies.measured == pytest.approx(-9 / 32) and entropies.error > 1 / 32 / np.sqrt(3)
    assert compared("space", given[:1]) == []


@pytest.mark.parametrize("power, holds", [(1, True), (0, False)])
def test_whether_the_scatter_over_streams_falls_with_d(few_samples, power, holds):
    """Deviations of q and phi that fall as 1 / d, or not at all, at half the capacity."""
    random, given = np.random.default_rng(0), []
    for d, p in ((8, 11), (16, 31), (32, 92)):
        scatter = random.standard_normal((40, 2)) / d**power
        given += rows("decoupled", [(0.5 + 0.1 * q, d**2 * (-0.5 + 0.1 * phi)) for q, phi in scatter], d, p)
    trends = [one for one in compared("space", given) if one.what.startswith("exponent")]
    of = "over streams, decoupled, 0.5 of the capacity"
    names = [one.what.removeprefix("exponent of d in the scatter of the ") for one in trends]
    assert names == [f"free entropy {of}", f"overlap {of}"]
    assert trends[0].dof == 3 * 39
    for one in trends:
        assert abs(one.measured + power) < 4 * one.error and one.error < 0.2
        assert (one.verdict == Judgement.AGREES) == holds


def test_streams_that_are_left_out_do_not_make_the_rest_a_mean(few_samples):
    """Streams with the smallest volumes are those whose volume is not seen: the mean of the others is too large."""
    volumes = np.random.default_rng(0).normal(-9, 1, 40)
    given = rows("original", [(0.2 + 0.001 * seed, volume) for seed, volume in enumerate(volumes)])
    assert points(given)[0]["free_entropy"] == pytest.approx(volumes.mean() / 32)
    for row in given:
        if row["log_volume"] < -10.3:
            del row["log_volume"]
    (point,) = points(given)
    missing = int((volumes < -10.3).sum())
    assert missing and (point["unknown"], point["volumes"]) == (missing, 40 - missing)
    assert point["free_entropy"] is None and point["overlap"] == pytest.approx(0.2195)
    assert [one.what[:7] for one in compared("space", given)] == ["overlap"]
    # Where the volume was not asked for, nothing is unknown.
    for row in given:
        row["parameters"] = {"volume": False}
    assert points(given)[0]["unknown"] == 0
    # A stream that is not storable has no overlap either.
    del given[0]["overlap"]
    assert points(given)[0]["without"] == 1 and compared("space", given) == []
