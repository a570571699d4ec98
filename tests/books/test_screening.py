"""What stands in the way of facts, by hand: who is named, with which weights, and when it is not looked for."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone import deadline
from loadstone.books.gathered import Gathered
from loadstone.books.screening import alike, obstructions, screen
from loadstone.proofs.verdict import Outcome


def facts(inputs, outputs, targets):
    names = [f"s{row}" for row in range(len(inputs))], [f"a{row}" for row in range(len(outputs))]
    return Gathered(*map(tuple, names), np.array(targets), np.array(inputs, float), np.array(outputs, float))


AXES = np.eye(4)


def test_one_subject_with_two_answers_and_two_subjects_in_one_direction():
    found = facts([AXES[0], 2 * AXES[0], 3 * AXES[1], AXES[0], AXES[1]], AXES[:3], [0, 1, 2, 0, 2])
    same = Gathered(("s0", "s0", "s2", "s3", "s4"), found.answers, found.targets, found.inputs, found.outputs)
    (one,), (other,) = obstructions(found), obstructions(same)
    assert one.kind == "parallel inputs" and one.facts == (0, 1) and one.impossible == ()
    assert one.multipliers == {(0, 1): 2.0, (1, 0): 1.0}
    wins = "so at most one answer can win."
    assert one.statement == f"s0 -> a0; s1 -> a1: these facts have subjects with the same direction, {wins}"
    assert other.statement == f"s0 -> a0; s0 -> a1: these facts ask for two answers with one subject, {wins}"
    assert one.is_proved(found, [0, 1]) and not one.is_proved(found, [0, 2, 3])
    verdict = one.verdict(found)
    assert verdict.verdict == Outcome.NOT_STORABLE and verdict.certificate.tolist() == [[0, 2, 0], [1, 0, 0]]
    assert (verdict.passes, verdict.newton_steps, verdict.cg_products, verdict.dense_solves) == (0, 0, 0, 0)
    assert 0 <= verdict.seconds < 5 and verdict.bound is not None and verdict.share is not None


def test_each_fact_of_equal_answers_is_named():
    found = facts(AXES, [AXES[0], AXES[1], AXES[0], AXES[2]], [2, 0, 1, 3])
    one, other = obstructions(found)
    assert (one.facts, one.impossible, one.multipliers) == ((0,), (0,), {(0, 0): 1.0})
    assert (other.facts, other.impossible, other.multipliers) == ((1,), (1,), {(1, 2): 1.0})
    assert one.statement == "a0, a2: these answers have the same vector and always tie."


def test_a_hidden_answer_is_looked_for_among_doubtful_facts_alone():
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 2.0]])
    found = facts([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.5], [-0.5, -1.0]], corners, [3, 1, 2, 3])
    assert obstructions(found) == obstructions(found, [1, 2]) == []
    one, other = obstructions(found, [3, 0, 1])
    assert (one.facts, other.facts) == ((3,), (0,)) and one.impossible == (3,) and one.kind == "hidden answer"
    assert one.multipliers == pytest.approx({(3, 0): 0.25, (3, 1): 0.25, (3, 2): 0.5})
    assert one.statement == "a3 = 0.5 a2 + 0.25 a0 + 0.25 a1: one of these answers always scores at least as high."
    outside = facts(found.inputs, [*corners[:3], [2.1, 2.0]], found.targets)
    assert obstructions(outside, range(4)) == []
    assert obstructions(found, [3], seconds=-1) == []
    (one,) = obstructions(facts(found.inputs[:1], [*corners, [9.0, 9.0]], [3]), [0])
    assert len(one.multipliers) <= 3 and min(one.multipliers.values()) > 0  # one corner of four is not needed


def test_a_conic_input_and_the_first_that_is_found_of_several():
    inputs = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.5]])
    found = facts(inputs, AXES[:3, :3], [1, 1, 0, 1, 2])
    one, other = obstructions(found, [2, 4])
    assert (one.kind, one.facts, one.impossible) == ("conic input", (2, 0, 1), ())
    assert one.multipliers == pytest.approx({(0, 0): 2.0, (1, 0): 3.0, (2, 1): 1.0})
    assert one.statement.startswith("s2 = 3 s1 + 2 s0, and all of these have the answer a1: a W that stores them gives")
    assert other.facts == (4, 0, 3) and other.multipliers == pytest.approx({(0, 2): 1.0, (3, 2): 0.5, (4, 1): 1.0})
    assert [one.facts for one in obstructions(found, [4])] == [(4, 0, 3)] and obstructions(found, [0, 1, 3]) == []
    # A weight may not be negative, and one fact alone is no combination.
    assert obstructions(facts(inputs * [[1], [1], [-1], [1], [1]], AXES[:3, :3], found.targets), [2]) == []
    assert obstructions(facts(inputs[:3], AXES[:3, :3], [1, 2, 0]), [2]) == []
    # However short the vectors are, one that misses the cone by a millionth is no combination.
    beside = inputs - 1e-6 * AXES[2, :3] * (np.arange(5) == 2)[:, None]
    assert obstructions(facts(1e-4 * beside, AXES[:3, :3], found.targets), [2]) == []


def test_what_is_known_at_once_is_not_looked_for_again():
    """Both facts with the same direction are in the cone of two others, and one has a hidden answer."""
    inputs = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]
    found = facts(inputs, [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], [0, 0, 1, 0, 2])
    assert [(one.kind, one.facts) for one in obstructions(found, range(5))] == [
        ("parallel inputs", (2, 3)), ("hidden answer", (4,)),
    ]  # fmt: skip


def test_rows_that_are_alike():
    turned = np.array([[np.cos(t), np.sin(t)] for t in (0.3, 0.3 + 9e-7, 0.3 + 3e-6, 1.3, 0.3 - 9e-7, 1.3, 0.3)])
    groups = alike(turned)
    assert [5, 3] not in groups and [3, 5] in groups
    (group,) = [one for one in groups if 0 in one]
    assert {0, 6} <= set(group) and 2 not in group and alike(turned[:1]) == [] and alike(turned[[0, 2, 3]]) == []
    # All are found, however many lie between two of them along the axis by which they are sorted.
    random = np.random.default_rng(1).standard_normal((60, 5))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    assert sorted(alike(np.concatenate([random, random[::-1]]))) == [[row, 119 - row] for row in range(60)]


def test_screening_looks_at_what_a_verdict_left_out():
    random = np.random.default_rng(0)
    inputs, outputs = random.standard_normal((12, 9)), random.standard_normal((6, 9))
    inputs[4] = 0.7 * inputs[0] + 0.2 * inputs[6]
    found = screen(facts(inputs, outputs, np.arange(12) % 6))
    assert found.verdict.verdict == Outcome.NOT_STORABLE and found.verdict.newton_steps > 0
    assert [one.facts for one in found.obstructions] == [(4, 0, 6)]
    assert (found.input_rank, found.output_rank) == (9, 5)
    inputs[4] = random.standard_normal(9)
    found = screen(facts(inputs[:, :3] @ np.ones((3, 9)) + inputs, outputs, np.arange(12) % 6))
    assert found.verdict.verdict == Outcome.STORABLE and found.obstructions == ()


def test_a_verdict_is_about_the_facts_that_do_not_stand_in_each_others_way():
    pairs = facts([AXES[0], AXES[0], AXES[1], AXES[2]], AXES[:3], [0, 1, 2, 1])
    assert screen(pairs, seconds=7).verdict.verdict == Outcome.NOT_STORABLE
    tied = facts([AXES[0], AXES[1]], [AXES[0], AXES[0]], [0, 1])
    found = screen(tied)
    assert found.verdict.verdict == Outcome.NOT_STORABLE and len(found.obstructions) == 2
    assert (found.input_rank, found.output_rank) == (2, 0)
    with pytest.raises(ValueError, match="seconds is 0"):
        screen(tied, 0)


def test_of_a_long_combination_six_terms_are_said():
    """The centre of ten corners is hidden; what differs by rounding keeps its order."""
    corners = np.eye(10)
    found = facts(np.eye(10)[:2], [*corners, corners.mean(axis=0)], [10, 0])
    (hidden,) = obstructions(found, [0])
    terms = " + ".join(f"0.1 a{answer}" for answer in range(6))
    assert hidden.statement.startswith(f"a10 = {terms} + 4 more: one of these answers")


def test_each_search_ends_with_the_time(monkeypatch):
    """A clock that goes on by a second whenever it is looked at."""
    cone = facts([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0], [1.0, 3.0]], AXES[:2, :2], [1, 1, 0, 0])
    counts = []
    for seconds in (1.0, 5.0, 30.0):
        ticks = itertools.count()
        monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda ticks=ticks: float(next(ticks))))
        counts.append(len(obstructions(cone, [2, 3], seconds)))
    assert counts == [0, 1, 2]
