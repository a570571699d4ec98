"""Scores of one association: of which run they are, and whether its target is said to be stored."""

import numpy as np
import pytest

from loadstone.studies.single_association import points
from tests.studies.drawing import drawn

EDGES = np.linspace(-8, 8, 321)


def run(p, seed, target, rival, stop="none"):
    scores = {"low": -8.0, "high": 8.0, "others": np.histogram([5.0], EDGES)[0].tolist()}  # of all associations
    first = np.histogram(np.random.default_rng([p, seed]).standard_normal(p), EDGES)[0].tolist()
    scores["first"] = {"target": target, "rival": rival, "others": first}
    return {"problem": "original", "d": 10, "p": p, "seed": seed, "scores": scores, "protocol": {"stop": stop}}


ROWS = [run(30, 4, 3.0, 2.0), run(30, 3, 1.0, 2.0), run(20, 3, 4.0, 2.5), run(20, 3, 3.0, 2.5, "paper")]


def test_one_stream_is_shown_with_the_papers_stop_rule_where_it_was_run():
    shown = points(ROWS)
    said = [(one["p"], one["seeds"], one["target"], one["rival"]) for one in shown]
    assert said == [(20, 1, 3.0, 2.5), (30, 1, 1.0, 2.0)]
    for one, row in zip(shown, (ROWS[3], ROWS[1])):
        counts = np.reshape(row["scores"]["first"]["others"], (-1, 8)).sum(axis=1)
        assert one["edges"] == pytest.approx(EDGES[::8]) and one["others"] == pytest.approx(counts / counts.sum() / 0.4)
    assert points([]) == []


def test_an_association_is_stored_if_its_target_beats_its_best_rival():
    with drawn("single", ROWS) as (picture, _):
        said = [[text.get_text() for text in panel.texts] for panel in picture.axes]
        lines = [[line.get_xdata()[0] for line in panel.lines] for panel in picture.axes]
    assert said == [["stored"], ["not stored"]] and lines == [[3.0, 2.5], [1.0, 2.0]]
