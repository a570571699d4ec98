"""Proved capacities beside the one law: means of streams, what is predicted for them, and what is said about it."""

import math

import pytest

from loadstone.studies.kit.proved_facts import compare_proved_facts, expected_capacity, proved_facts
from loadstone.theory.answers import facts_capacity
from loadstone.theory.storable import capacity_moments


def row(p_c, seed=0, **changes):
    return {"solver": "capacity", "problem": "decoupled", "d": 12, "seed": seed, "p": 40, "p_c": p_c} | changes


def test_the_mean_capacity_is_the_sum_of_its_tail():
    assert expected_capacity("full", 12, None, True) == pytest.approx(capacity_moments(12)[0], abs=1e-6)
    # Two answers: Cover's P = 2^(1-N) sum_{k<n} C(N-1, k), n = d shared, d^2 decoupled; it sums to 2 n exactly.
    n = 7
    cover = sum(sum(math.comb(N - 1, k) for k in range(n)) / 2 ** (N - 1) for N in range(1, 200))
    assert expected_capacity("full", n, 2, False) == pytest.approx(cover, abs=1e-6) == pytest.approx(2 * n, abs=1e-6)
    assert expected_capacity("full", n, 2, True) == pytest.approx(2 * n * n, abs=1e-5)


def test_where_no_probability_is_known_the_capacity_itself_is_compared():
    assert expected_capacity("rank:3", 12, None, True) == facts_capacity("rank:3", 12, answers=None, decoupled=True)


def test_streams_of_one_kind_are_averaged():
    rows = [row(38), row(40, 1), row(45, 2), row(None, 3)]
    (point,) = proved_facts(rows + [row(1) | {"solver": "reach"}])
    assert (point["facts"], point["streams"], point["undecided"]) == (41, 3, 1)
    assert point["error"] == pytest.approx(math.sqrt((9 + 1 + 16) / 2 / 3))
    assert (point["answers"], point["family"], point["delta"]) == (None, "full", 144)


def test_kinds_are_told_apart():
    kinds = [
        {"problem": "original"}, {"d": 13}, {"answers": 5}, {"answers": 5, "frequencies": "balanced"},
        {"family": "blocks:count=3"}, {"family": "symmetric"}, {},
    ]  # fmt: skip
    points = proved_facts([row(20, **kind) for kind in kinds for _ in range(2)])
    assert len(points) == len(kinds) and {point["streams"] for point in points} == {2}
    blocks = next(point for point in points if point["family"] == "blocks:3")
    assert blocks["delta"] == 48 and blocks["predicted"] == expected_capacity("blocks:3", 12, None, True)
    shared = proved_facts([row(20, problem="original", answers=5)])
    assert shared[0]["delta"] == 12 * 4


def test_comparisons_say_what_was_compared():
    rows = [row(39, seed, answers=30, problem="original", frequencies="balanced") for seed in range(3)]
    rows[0] |= {"p_c": 42}
    rows.append(row(None, 9, answers=30, problem="original", frequencies="balanced"))
    (found,) = compare_proved_facts(proved_facts(rows))
    assert found.measured == 40 and found.error == pytest.approx(1) and found.dof == 2
    assert found.predicted == expected_capacity("full", 12, 30, False)
    for words in ("original", "d = 12", "full memories", "answers: 30", "balanced targets", "3 streams"):
        assert words in found.what
    assert "shared" in found.note and "1 streams stayed undecided" in found.note
    assert compare_proved_facts(proved_facts([row(39)])) == []
    assert compare_proved_facts(proved_facts([row(39), row(40, 1)]))[0].note == ""
