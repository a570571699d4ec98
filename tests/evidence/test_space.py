"""Means over streams beside the functional, and what is left out."""

import numpy as np
import pytest

from loadstone.evidence import space
from loadstone.evidence.bits import TRAINED, compare_bits, stored_in_bits
from loadstone.evidence.space import compare_space, solution_spaces
from loadstone.theory.answers import memories_seen
from loadstone.theory.entropy import facts_free_entropy


def rows(problem, values, d=8, p=5):
    base = {"problem": problem, "d": d, "p": p, "solver": "space", "status": "sampled"}
    return [base | {"seed": seed, "overlap": q, "log_volume": v} for seed, (q, v) in enumerate(values)]


def test_means_and_predictions(monkeypatch):
    monkeypatch.setattr(space, "_SAMPLES", 30)
    space.predicted.cache_clear()
    values = [(0.1, -8.0), (0.2, -9.0), (0.3, -10.0)]
    given = rows("original", values) + [{**rows("original", values)[0], "seed": 9}]
    for name in ("overlap", "log_volume"):
        del given[-1][name]
    (point,) = solution_spaces(given)
    # Five outputs show 4 of 8 directions of a query: 32 of 64 dimensions of W.
    assert memories_seen("full", 8, 5).delta == 32 and (point["streams"], point["without"]) == (3, 1)
    assert point["overlap"] == pytest.approx(0.2) and point["overlap_error"] == pytest.approx(0.1 / np.sqrt(3))
    assert point["free_entropy"] == pytest.approx(-9 / 32)
    expected = facts_free_entropy(5, 5, 32, 30)
    assert point["overlap_predicted"] == pytest.approx(expected.q / 2)
    assert point["free_entropy_predicted"] == pytest.approx(expected.phi)
    overlaps, entropies = compare_space(given)
    assert overlaps.freedom == 2 and "1 streams are not storable" in overlaps.note
    assert entropies.measured == pytest.approx(-9 / 32) and entropies.error > 1 / 32 / np.sqrt(3)
    assert compare_space(given[:1]) == []
    space.predicted.cache_clear()


def test_bits_of_all_three_ways():
    base = {"problem": "original", "d": 12, "p": 40, "solver": "bits"}
    given = [base | {"seed": s, "stored": n, "parameters": {"bits": 2}} for s, n in enumerate((14, 16, 18))]
    given += [base | {"seed": 0, "stored": 20, "parameters": {"bits": 2, "way": "centre"}}]
    given += [base | {"seed": 0, "solver": "reach", "family": "rounded:bits=2", "stored": 25}]
    given += [base | {"seed": 0, "solver": "reach", "family": "full", "stored": 39}]  # of another figure
    points = {point["way"]: point for point in stored_in_bits(given)}
    assert points.keys() == {"largest margin", "centre", TRAINED} and points[TRAINED]["stored"] == 25
    best = points["largest margin"]
    assert best["facts_per_parameter"] == pytest.approx(16 / 144) and best["bits_per_bit"] == pytest.approx(64 / 288)
    assert best["error"] == pytest.approx(2 / np.sqrt(3)) and best["stored"] < best["bound"]
    (only,) = compare_bits(given)
    assert only.predicted == best["noise"] and only.freedom == 2
