"""What pruning stores beside proofs and the bound: by hand on small tables, and on the shipped records."""

import pytest

from loadstone.studies.pruning import points
from loadstone.theory.answers import facts_capacity
from tests.studies.shipped import RESULTS, shipped_rows


def row(stored, seed=0, d=12, density=0.5, rounds=4):
    parameters = {"optimiser": f"pruning:density={density},rounds={rounds}"}
    return {"problem": "original", "d": d, "seed": seed, "stored": stored, "solver": "reach", "parameters": parameters}


def proved(p_c, seed=0, d=12, family="masked:density=0.5"):
    of = {"problem": "original", "d": d, "seed": seed}
    return of | {"solver": "capacity", "p_c": p_c, "storable": None, "not_storable": None, "family": family}


def test_means_over_streams_beside_the_bound_and_the_proofs_of_the_same_streams():
    others = [proved(99, family="symmetric"), {"d": 12, "seed": 0, "solver": "reach", "stored": 9}]
    rows = [row(30), row(34, 1), row(28, rounds=1), row(20, density=0.25), proved(20), proved(21, 1), *others]
    quarter, one_round, four = points(rows).pruned
    assert (four["stored"], four["error"], four["streams"]) == (32.0, pytest.approx(2.0), 2)
    assert four["gains"] == [10, 13] and one_round["gains"] == [8] and "gains" not in quarter
    assert four["bound"] == facts_capacity("pruned:0.5", 12) > facts_capacity("masked:0.5", 12)
    assert [point["rounds"] for point in (one_round, four)] == [1, 4] and quarter["density"] == 0.25
    (random,) = points(rows).random
    assert (random["stored"], random["error"], random["streams"]) == (20.5, pytest.approx(0.5), 2)
    # The mean capacity of a stream lies within one association of the capacity itself.
    assert random["predicted"] == pytest.approx(facts_capacity("masked:0.5", 12), abs=1)


def test_an_undecided_stream_gives_no_gain():
    (point,) = points([row(30), proved(None)]).pruned
    assert "gains" not in point and points([proved(None)]).random == []


@pytest.fixture(scope="module")
def shipped():
    return points(shipped_rows("pruning", "pruning", "one_law")).pruned


def test_pruning_beats_the_proof_of_a_random_mask_on_every_shipped_stream(shipped):
    assert {(point["d"], point["density"]) for point in shipped} == {(d, n) for d in (20, 30) for n in (0.25, 0.5)}
    for point in shipped:
        assert point["streams"] == 10 and min(point["gains"]) > 0 and point["stored"] < point["bound"]


def test_sixteen_rounds_store_more_than_one_on_every_shipped_stream(shipped):
    of_stream = {(point["d"], point["density"], point["rounds"]): point["of_stream"] for point in shipped}
    for d, density in ((20, 0.25), (20, 0.5), (30, 0.25), (30, 0.5)):
        few, many = (of_stream[d, density, rounds] for rounds in (1, 16))
        assert all(many[seed] > few[seed] for seed in few)


def test_the_table_in_the_docs_is_that_of_the_shipped_records(shipped):
    text = (RESULTS.parents[1] / "docs" / "measured.md").read_text()
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}
    for point in shipped:
        line = rows[f"{point['d']}, 1/{round(1 / point['density'])}"]
        number = f"{point['stored']:.1f}({point['error']:.1f}), {point['stored'] / point['bound']:.3f}"
        assert number in line and f"| {point['bound']:.1f} |" in line
