"""The largest p stored at each rank, by hand on small tables."""

import pytest

from loadstone.evidence.ranks import EVERYTHING, ONE_START, compare_ranks, help_of, stored_by_rank
from loadstone.theory.capacity import capacity_associations

ALL = {"starts": 5, "grown": True}


def row(stored, seed=0, rank=7, parameters=ALL, d=12, kappa=0.6, not_stored=None):
    named = {"solver": "reach"} | ({"parameters": parameters} if parameters else {})
    return {"problem": "original", "d": d, "kappa": kappa, "rank": rank, "seed": seed, "stored": stored} | named | {
        "not_stored": not_stored or stored + 1
    }  # fmt: skip


def proved(p_c, seed=0, d=12):
    return {"problem": "original", "d": d, "seed": seed, "solver": "capacity", "p_c": p_c}


def test_helps_in_words():
    assert [help_of(one) for one in ({}, {"starts": 5}, {"grown": True}, {"truncated": True}, ALL)] == [
        ONE_START, "5 starts", "grown", "truncated", EVERYTHING
    ]  # fmt: skip


def test_the_prediction_is_that_of_the_rank_and_not_of_the_rounded_fraction():
    (point,) = stored_by_rank([row(30), row(34, 1)])
    assert (point["stored"], point["streams"], point["error"]) == (32.0, 2, pytest.approx(2.0))
    assert point["predicted"] == pytest.approx(capacity_associations(12, 7 / 12)) != capacity_associations(12, 0.6)
    assert "proved" not in point


def test_what_is_stored_is_held_against_the_proof_of_its_own_stream():
    rows = [row(30), row(34, 1), row(39, rank=12, kappa=1.0), row(36, 1, rank=12, kappa=1.0), row(25, 2, rank=3)]
    low, middle, full = stored_by_rank([*rows, proved(39), proved(37, 1), proved(None, 2), proved(50, d=20)])
    assert (full["proved"], full["differences"]) == (38.0, [0, -1]) and middle["differences"] == [-9, -3]
    assert "proved" not in low  # that stream is undecided


def test_each_help_is_a_point_of_its_own_and_only_everything_is_compared():
    rows = [row(30), row(34, 1), row(20, parameters={}), row(22, 1, parameters={}), row(25, parameters={"starts": 5})]
    points = stored_by_rank(rows)
    assert {point["help"]: point["stored"] for point in points} == {"5 starts": 25, EVERYTHING: 32, ONE_START: 21}
    (one,) = compare_ranks(rows)
    assert one.what == "associations stored with everything tried, original, d = 12, kappa = 0.6"
    assert one.measured == 32.5 and one.predicted == pytest.approx(capacity_associations(12, 7 / 12))
