"""Means of largest margins and of recalls over streams, and what they are compared with."""

import math

import pytest

from loadstone.studies.margin import compare, load_of, points
from loadstone.theory.codimension import codimension
from loadstone.theory.margin import largest_margin

pytestmark = pytest.mark.usefixtures("few_samples")


def row(margin, seed=0, recalled=(1.0, 0.5), **changes):
    spec = {"solver": "margin", "problem": "decoupled", "law": "gaussian", "d": 10, "p": 9, "seed": seed}
    result = {"status": "proved", "margin": margin, "upper_bound": margin, "gap": 1e-7, "noises": [0.1, 0.5]}
    return spec | result | {"recalled": list(recalled), "recalled_predicted": [0.99, 0.45]} | changes


def test_streams_are_averaged_and_those_without_a_margin_counted():
    rows = [row(1.0), row(1.4, 1), row(1.8, 2, gap=3e-7)]
    lost = {name: value for name, value in row(0.0, 3).items() if name not in ("margin", "gap", "recalled")}
    (point,) = points([*rows, lost | {"status": "not storable"}, row(9.0) | {"solver": "capacity"}]).margins
    assert (point["streams"], point["without"], point["gap"]) == (3, 1, 3e-7)
    assert point["margin"] == pytest.approx(1.4) and point["error"] == pytest.approx(0.4 / math.sqrt(3))
    assert point["limit"] == largest_margin(100, 9) and point["load"] == load_of(9, 10) == 9 * codimension(9) / 100
    assert 0.5 * point["limit"] < point["predicted"] < point["limit"] and point["predicted_error"] > 0


def test_recalls_are_averaged_at_each_noise():
    (point,) = points([row(1.0, recalled=(1.0, 0.4)), row(1.2, 1, recalled=(0.9, 0.6))]).recalls
    assert point["recalled"] == pytest.approx([0.95, 0.5]) and point["predicted"] == pytest.approx([0.99, 0.45])
    assert point["error"] == pytest.approx([0.05, 0.1])
    # Both memories were predicted to recall the same.
    assert point["difference_error"] == pytest.approx(point["error"])


def test_comparisons_say_what_was_compared():
    rows = [row(1.0, recalled=(1.0, 0.4)), row(1.2, 1, recalled=(0.9, 0.6))]
    margin, recall = compare(points(rows))
    (point,) = points(rows).margins
    assert margin.measured == pytest.approx(1.1) and margin.predicted == point["predicted"] and margin.dof == 1
    assert margin.error == pytest.approx(math.hypot(0.1, point["predicted_error"])) and margin.note == ""
    assert "noise 0.5" in recall.what and (recall.measured, recall.predicted) == (pytest.approx(0.5), 0.45)
    assert compare(points(rows[:1])) == []
    shared, _ = compare(points([one | {"problem": "original"} for one in rows]))
    assert "decoupled" in shared.note


def test_where_nothing_is_predicted_at_finite_d_only_the_limit_is_given():
    for unknown in ({"law": "power law:1"}, {"d": 3, "p": 5}):
        (point,) = points([row(1.0, **unknown)]).margins
        assert point["predicted"] is None and point["limit"] > 0
