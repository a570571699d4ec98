"""The largest p stored at each rank, by hand on small tables."""

import pytest

from loadstone.studies.rank import EVERYTHING, ONE_START, method_label, points
from loadstone.theory.capacity import capacity_associations
from tests.studies.drawing import compared
from tests.studies.shipped import RESULTS, shipped_rows

ALL = {"starts": 5, "grown": True}


def row(stored, seed=0, rank=7, parameters=ALL, d=12, kappa=0.6, not_stored=None):
    named = {"solver": "reach"} | ({"parameters": parameters} if parameters else {})
    return {"problem": "original", "d": d, "kappa": kappa, "rank": rank, "seed": seed, "stored": stored} | named | {
        "not_stored": not_stored or stored + 1, "attempts": []
    }  # fmt: skip


def proved(p_c, seed=0, d=12):
    return {"problem": "original", "d": d, "seed": seed, "solver": "capacity", "p_c": p_c}


def test_methods_in_words():
    assert [method_label(one) for one in ({}, {"starts": 5}, {"grown": True}, {"truncated": True}, ALL)] == [
        ONE_START, "5 starts", "grown", "truncated", EVERYTHING
    ]  # fmt: skip


def test_the_prediction_is_that_of_the_rank_and_not_of_the_rounded_fraction():
    (point,) = points([row(30), row(34, 1)]).stored
    assert (point["stored"], point["streams"], point["error"]) == (32.0, 2, pytest.approx(2.0))
    assert point["predicted"] == pytest.approx(capacity_associations(12, 7 / 12)) != capacity_associations(12, 0.6)
    assert "proved" not in point and point["of_stream"] == {0: 30, 1: 34}


def test_what_is_stored_is_held_against_the_proof_of_its_own_stream():
    rows = [row(30), row(34, 1), row(39, rank=12, kappa=1.0), row(36, 1, rank=12, kappa=1.0), row(25, 2, rank=3)]
    low, middle, full = points([*rows, proved(39), proved(37, 1), proved(None, 2), proved(50, d=20)]).stored
    assert (full["proved"], full["differences"]) == (38.0, [0, -1]) and middle["differences"] == [-9, -3]
    assert "proved" not in low  # that stream is undecided


def test_each_help_is_a_point_of_its_own_and_only_everything_is_compared():
    rows = [row(30), row(34, 1), row(20, parameters={}), row(22, 1, parameters={}), row(25, parameters={"starts": 5})]
    stored = points(rows).stored
    assert {point["help"]: point["stored"] for point in stored} == {"5 starts": 25, EVERYTHING: 32, ONE_START: 21}
    (one,) = compared("rank", rows)
    assert one.what == "associations stored with everything tried, original, d = 12, kappa = 0.6"
    assert one.measured == 32.5 and one.predicted == pytest.approx(capacity_associations(12, 7 / 12))


@pytest.fixture(scope="module")
def shipped():
    """What was stored in the shipped records of the sweep, with the proofs of the same streams."""
    return points(shipped_rows("rank", "rank", "processor", "law")).stored


def test_no_shipped_rank_stores_more_than_is_proved_and_full_rank_stores_what_is_proved(shipped):
    # At d = 100 no capacity is proved.
    best = [point for point in shipped if point["help"] == EVERYTHING and point["d"] < 100]
    differences = {(point["problem"], point["d"], point["rank"]): point["differences"] for point in best}
    assert len(differences) == 30 and all(len(found) >= 5 and max(found) <= 0 for found in differences.values())
    assert set(differences["original", 20, 20]) == set(differences["decoupled", 20, 20]) == {0}
    # One stream of d = 50 is one association short of what is proved, and of what rank 45 stores.
    assert sorted(differences["original", 50, 50]) == [-1, 0, 0, 0, 0] and set(differences["original", 50, 45]) == {0}


def test_no_shipped_help_stores_less_than_one_start_on_any_stream(shipped):
    alone = {(point["d"], point["rank"], point["help"]): point["of_stream"] for point in shipped}
    compared = [
        (found[seed], alone[d, rank, ONE_START][seed])
        for (d, rank, tried), found in alone.items()
        if tried not in (ONE_START, EVERYTHING)
        for seed in found
    ]
    assert len(compared) == 4 * 4 * (10 + 5) and all(more >= one for more, one in compared)


def test_the_table_in_the_docs_is_that_of_the_shipped_records(shipped):
    text = (RESULTS.parents[1] / "docs" / "measured.md").read_text()
    for point in shipped:
        if point["help"] == EVERYTHING:
            number = f"{point['stored']:.1f}({point['error']:.1f}), {point['stored'] / point['predicted']:.3f}"
            assert number in text, (point["problem"], point["d"], point["rank"])
