"""What edits lose: by hand on a small table, and on the shipped records."""

import pytest

from loadstone.studies.edits import in_words, points
from loadstone.theory.capacity import capacity_associations
from tests.studies.shipped import RESULTS, shipped_rows


def row(lost, missed, seed=0, **parameters):
    spec = {"solver": "edits", "d": 12, "p": 20, "seed": seed, "parameters": parameters}
    return spec | {"edits": [1, 2, 4, 10], "lost": lost, "missed": missed, "undecided": [0, 0, 0, 1]}


def test_means_over_streams_and_where_a_method_breaks_down():
    rows = [row([0, 0, 2, 8], [0, 0, 1, 5]), row([0, 0, 4, 12], [0, 1, 1, 5], 1)]
    rows += [row([0, 0, 0, 0], [0, 0, 0, 1], method="refit"), {"solver": "capacity"}]
    rank_one, refit = points([*rows, {"solver": "edits", "status": "not storable"}])
    assert (rank_one["method"], rank_one["action"], rank_one["streams"]) == ("rank-one", "add", 2)
    assert rank_one["lost"] == pytest.approx([0, 0, 0.15, 0.5]) and rank_one["missed"] == [0, 0.25, 0.25, 0.5]
    assert rank_one["lost_error"][2] == pytest.approx(0.05) and rank_one["undecided"] == 2
    # 5 % lies a third of the way from 0 after two edits to 15 % after four. One stream was harmed after two edits.
    assert rank_one["broken"] == pytest.approx(2 + 2 / 3) and rank_one["harmless"] == 1.5
    capacity = float(capacity_associations(12))
    assert rank_one["load"] == pytest.approx([21 / capacity, 22 / capacity, 24 / capacity, 30 / capacity])
    assert refit["broken"] is None and refit["harmless"] == 4
    words = in_words([rank_one, refit])
    assert words == (
        f"5 % of the old facts are lost to added ones: rank-one at {(20 + 8 / 3) / capacity:.2f} of the capacity, "
        "refit never"
    )


def test_where_all_answers_are_changed_no_fact_was_to_stay():
    all_changed = row([0, 0, 0], [0, 1, 20], action="change") | {"edits": [1, 10, 20], "undecided": [0, 0, 0]}
    (curve,) = points([all_changed])
    assert curve["lost"] == [0, 0, None] and curve["missed"] == [0, 0.1, 1] and curve["changed"] == [0.05, 0.5, 1]
    assert curve["broken"] is None and curve["load"] == [20 / float(capacity_associations(12))] * 3


@pytest.fixture(scope="module")
def shipped():
    return {(one["action"], one["d"], one["p"], one["method"]): one for one in points(shipped_rows("edits", "edits"))}


def test_shipped_refits_lose_no_old_fact_and_reach_the_capacity(shipped):
    refits = {key: curve for key, curve in shipped.items() if key[3] == "refit"}
    assert len(refits) == 10 and all(not any(curve["lost"][:-1]) for curve in refits.values())
    for (action, d, p, _), curve in refits.items():
        if action == "add" and d < 100:
            assert abs((p + curve["harmless"]) / curve["capacity"] - 1) < 0.05 and curve["undecided"] == 0
        else:
            assert not any(curve["missed"])


def test_shipped_updates_break_down_before_the_capacity(shipped):
    for (action, d, p, method), curve in shipped.items():
        if action == "add" and method != "refit":
            assert (p + curve["broken"]) / curve["capacity"] < 0.6, (d, p, method)


def test_the_table_in_the_docs_is_that_of_the_shipped_records(shipped):
    text = (RESULTS.parents[1] / "docs" / "measured.md").read_text()
    for (action, d, p, method), curve in shipped.items():
        if action == "add" and method == "refit":
            cells = [shipped[action, d, p, name] for name in ("rank-one", "batch", "refit")]
            broken = ["never" if one["broken"] is None else f"{one['broken']:.1f}" for one in cells]
            said = [f"{one['harmless']:.1f}, {last}" for one, last in zip(cells, broken)]
            assert f"| {d}, {p} of {curve['capacity']:.1f} | {' | '.join(said)} |" in text
