"""Means over streams beside the functional, and what is left out."""

import numpy as np
import pytest

from loadstone.evidence import space
from loadstone.evidence.space import compare_space, solution_spaces
from loadstone.studies.bits import TRAINED, compare, points
from loadstone.studies.kit.comparison import Judgement
from loadstone.theory.answers import memories_seen
from loadstone.theory.entropy import facts_free_entropy


def rows(problem, values, d=8, p=5):
    base = {"problem": problem, "d": d, "p": p, "solver": "space", "status": "sampled"}
    return [base | {"seed": seed, "overlap": q, "log_volume": v} for seed, (q, v) in enumerate(values)]


def test_means_and_predictions(monkeypatch):
    monkeypatch.setattr(space, "_SAMPLES", 30)
    space.predicted.cache_clear()
    given = rows("original", [(0.1, -8.0), (0.2, -9.0), (0.3, -10.0)])
    (point,) = solution_spaces(given)
    # Five outputs show 4 of 8 directions of a query: 32 of 64 dimensions of W.
    assert memories_seen("full", 8, 5).delta == 32 and (point["streams"], point["without"]) == (3, 0)
    assert point["overlap"] == pytest.approx(0.2) and point["overlap_error"] == pytest.approx(0.1 / np.sqrt(3))
    assert point["free_entropy"] == pytest.approx(-9 / 32)
    batches = [facts_free_entropy(5, 5, 32, 30, seed) for seed in range(5)]
    q, phi = ([getattr(one, name) for one in batches] for name in ("q", "phi"))
    assert point["overlap_predicted"] == pytest.approx(np.mean(q) / 2)
    assert point["overlap_predicted_error"] == pytest.approx(np.std(q, ddof=1) / np.sqrt(5) / 2)
    assert point["free_entropy_predicted"] == pytest.approx(np.mean(phi))
    overlaps, entropies = compare_space(given)
    assert overlaps.freedom == 2 and overlaps.measured == pytest.approx(0.2)
    # A prediction that is sampled is not known exactly.
    assert overlaps.error == pytest.approx(np.hypot(0.1 / np.sqrt(3), point["overlap_predicted_error"]))
    assert entropies.measured == pytest.approx(-9 / 32) and entropies.error > 1 / 32 / np.sqrt(3)
    assert compare_space(given[:1]) == []
    space.predicted.cache_clear()


@pytest.mark.parametrize("power, holds", [(1, True), (0, False)])
def test_whether_the_scatter_over_streams_falls_with_d(monkeypatch, power, holds):
    """Deviations of q and phi that fall as 1 / d, or not at all, at half the capacity."""
    monkeypatch.setattr(space, "_SAMPLES", 10)
    space.predicted.cache_clear()
    random, given = np.random.default_rng(0), []
    for d, p in ((8, 11), (16, 31), (32, 92)):
        scatter = random.standard_normal((40, 2)) / d**power
        given += rows("decoupled", [(0.5 + 0.1 * q, d**2 * (-0.5 + 0.1 * phi)) for q, phi in scatter], d, p)
    trends = [one for one in compare_space(given) if one.what.startswith("exponent")]
    of = "over streams, decoupled, 0.5 of the capacity"
    names = [one.what.removeprefix("exponent of d in the scatter of the ") for one in trends]
    assert names == [f"free entropy {of}", f"overlap {of}"]
    for one in trends:
        assert abs(one.measured + power) < 4 * one.error and one.error < 0.2
        assert (one.verdict == Judgement.AGREES) == holds
    space.predicted.cache_clear()


def test_streams_that_are_left_out_do_not_make_the_rest_a_mean(monkeypatch):
    """Streams with the smallest volumes are those whose volume is not seen: the mean of the others is too large."""
    monkeypatch.setattr(space, "_SAMPLES", 30)
    space.predicted.cache_clear()
    volumes = np.random.default_rng(0).normal(-9, 1, 40)
    given = rows("original", [(0.2 + 0.001 * seed, volume) for seed, volume in enumerate(volumes)])
    assert solution_spaces(given)[0]["free_entropy"] == pytest.approx(volumes.mean() / 32)
    for row in given:
        if row["log_volume"] < -10.3:
            del row["log_volume"]
    (point,) = solution_spaces(given)
    missing = int((volumes < -10.3).sum())
    assert missing and (point["unknown"], point["volumes"]) == (missing, 40 - missing)
    assert point["free_entropy"] is None and point["overlap"] == pytest.approx(0.2195)
    assert [one.what[:7] for one in compare_space(given)] == ["overlap"]
    # Where the volume was not asked for, nothing is unknown.
    for row in given:
        row["parameters"] = {"volume": False}
    assert solution_spaces(given)[0]["unknown"] == 0
    # A stream that is not storable has no overlap either.
    del given[0]["overlap"]
    assert solution_spaces(given)[0]["without"] == 1 and compare_space(given) == []
    space.predicted.cache_clear()


def test_bits_of_all_three_ways():
    base = {"problem": "original", "d": 12, "p": 40, "solver": "bits"}
    given = [base | {"seed": s, "stored": n, "parameters": {"bits": 2}} for s, n in enumerate((14, 16, 18))]
    given += [base | {"seed": 0, "stored": 20, "parameters": {"bits": 2, "way": "centre"}}]
    given += [base | {"seed": 0, "solver": "reach", "family": "rounded:bits=2", "stored": 25}]
    given += [base | {"seed": 0, "solver": "reach", "family": "full", "stored": 39}]  # of another figure
    ways = {point["way"]: point for point in points(given)}
    assert ways.keys() == {"largest margin", "centre", TRAINED} and ways[TRAINED]["stored"] == 25
    best = ways["largest margin"]
    assert best["facts_per_parameter"] == pytest.approx(16 / 144) and best["bits_per_bit"] == pytest.approx(64 / 288)
    assert best["error"] == pytest.approx(2 / np.sqrt(3)) and best["stored"] < best["bound"]
    (only,) = compare(points(given))
    assert only.predicted == best["noise"] and only.freedom == 2
