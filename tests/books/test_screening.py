"""What stands in the way of facts, by hand: who is named, with which weights, and when it is not looked for."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone import deadline
from loadstone.books.gathered import Gathered
from loadstone.books.screening import obstructions, screen
from loadstone.books.storing import store
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import decide


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
    assert 0 <= verdict.seconds < 5 and verdict.reason == "No W stores every association."


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


def test_screening_looks_at_what_a_verdict_left_out():
    random = np.random.default_rng(0)
    inputs, outputs = random.integers(-9, 10, (12, 9)).astype(float), random.standard_normal((6, 9))
    inputs[4] = 0.75 * inputs[0] + 0.25 * inputs[6]
    found = screen(facts(inputs, outputs, np.arange(12) % 6))
    assert found.verdict.verdict == Outcome.NOT_STORABLE and found.verdict.newton_steps > 0
    assert [one.facts for one in found.obstructions] == [(4, 0, 6)]
    assert (found.input_rank, found.output_rank) == (9, 5)
    inputs[4] = random.integers(-9, 10, 9)
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


CLOSE = facts([(1, 0), (1, 1e-7), (0, 1)], [(1, 0), (0, 1)], [0, 1, 0])


def nearly_collinear(random):
    """A few facts, of which two subjects or two answers are collinear: exactly, or but for some 1e-5 to 1e-16."""
    n, m, d = random.integers(3, 7), random.integers(2, 5), random.integers(2, 5)
    whole = random.random(2) < 0.4
    inputs, outputs = (
        random.integers(-2, 3, (count, d)) + 0.0 if few else random.standard_normal((count, d))
        for count, few in zip((n, m), whole)
    )
    inputs[~inputs.any(axis=1)] = 1.0
    one, other = random.choice(n, 2, replace=False)
    close = 10.0 ** -random.integers(5, 17) * (random.random() < 0.7)
    if random.random() < 0.6:
        inputs[other] = random.choice([1, 3, 0.25, 0.1]) * inputs[one] + close * random.standard_normal(d)
    else:
        outputs[1] = outputs[0] + close * random.standard_normal(d)
    return facts(inputs, outputs, random.permutation([*random.integers(m, size=n - 2), 0, 1]))


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 300), marks=pytest.mark.soak)])
def test_no_sentence_contradicts_the_verdict_on_the_facts_that_it_names(seeds):
    for seed in seeds:
        gathered = nearly_collinear(np.random.default_rng(seed))
        found, verdict = screen(gathered), decide(gathered.arrays()).verdict
        assert Outcome.UNDECIDED in (found.verdict.verdict, verdict) or found.verdict.verdict == verdict, seed
        for reason in found.obstructions:
            rows = reason.impossible or reason.facts
            storable = decide(gathered.arrays(rows)).verdict == Outcome.STORABLE
            assert not storable or (reason.to_rounding and "to rounding" in reason.statement), (seed, reason)
        book = store(gathered).book
        stored, row_of = book.stored, {gathered.name(row): row for row in range(len(gathered))}
        for names in book.conflicts():
            assert decide(gathered.arrays([row_of[name] for name in names])).verdict != Outcome.STORABLE, (seed, names)
        assert stored.all() if verdict == Outcome.STORABLE else not stored.all() or verdict == Outcome.UNDECIDED, seed


def test_directions_that_are_only_close_are_ordinary_facts():
    """The second subject is 1 s0 + 1e-7 s2, both of which have the other answer; with it, the rest is storable."""
    found = screen(CLOSE)
    assert found.verdict.verdict == found.others.verdict == Outcome.NOT_STORABLE and found.aside == ()
    (reason,) = found.obstructions
    assert reason.kind == "conic input" and reason.is_proved(CLOSE, range(3))
    storable = facts(CLOSE.inputs, CLOSE.outputs, [0, 1, 1])
    found = screen(storable)
    assert found.verdict.verdict == Outcome.STORABLE and found.obstructions == () and found.aside == ()
    stored = store(storable)
    assert stored.proved and stored.book.stored.all() and stored.obstructions == ()


def test_what_is_put_aside_is_named_and_has_no_part_in_the_other_verdict():
    found = screen(facts([AXES[0], 3 * AXES[0], AXES[1]], AXES[:2], [0, 1, 1]))
    assert found.verdict.verdict == Outcome.NOT_STORABLE and found.aside == (1,)
    assert found.others.verdict == Outcome.STORABLE
    tied = screen(facts([AXES[0], AXES[1]], [AXES[0], AXES[0]], [0, 1]))
    assert tied.aside == (0, 1) and tied.others is None


def test_an_obstruction_without_a_certificate_leaves_the_verdict_to_a_search():
    """The answers are so close that rounding hides them from each other: there is no proof that one fact excludes the
    other, and what is said of the first alone is not said of both."""
    gathered = facts([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1e-12], [0.0, 1.0]], [0, 1, 2])
    found = screen(gathered)
    (reason,) = [one for one in found.obstructions if one.kind == "parallel inputs"]
    assert reason.facts == (0, 1) and found.aside == (1,) and found.others.verdict == Outcome.STORABLE
    assert found.verdict.verdict != Outcome.STORABLE


def test_a_direction_that_is_the_same_to_rounding_is_a_combination_of_one():
    """Three times a vector, rounded, is not quite parallel to it."""
    near = facts([[0.1, 0.2, 0.7], [0.3, 0.6, 2.1], [0.0, 1.0, 0.0]], np.eye(3), [0, 1, 2])
    (reason,) = obstructions(near, [1])
    start = "s1 = 3 s0 to rounding, which has the answer a0: beside it s1 cannot win by a margin of more than that."
    assert (reason.kind, reason.facts, reason.statement) == ("conic input", (1, 0), start)
    further = facts(near.inputs + 1e-11 * AXES[0, :3] * (np.arange(3) == 1)[:, None], near.outputs, near.targets)
    (reason,) = obstructions(further, [1])
    assert "s1 = 3 s0 to rounding, which has the answer a0: beside it s1 cannot win by a margin of" in reason.statement


def test_signs_of_zero_make_no_difference():
    found = facts([[1.0, 0.0], [2.0, -0.0]], [[1.0, 0.0], [1.0, -0.0]], [0, 1])
    assert [(one.kind, one.facts) for one in obstructions(found)] == [
        ("parallel inputs", (0, 1)), ("equal answers", (0,)), ("equal answers", (1,)),
    ]  # fmt: skip


def test_a_combination_that_is_one_to_rounding_alone_is_not_called_impossible():
    """The last answer lies above the line between the first two, by less than a search sees."""
    above = facts([[0.5, 1.0], [1.0, 0.0], [-1.0, 0.0]], [[-1.0, 0.0], [1.0, 0.0], [0.0, 1e-11]], [2, 1, 0])
    (reason,) = obstructions(above, [0])
    assert reason.statement == "a2 = 0.5 a0 + 0.5 a1 to rounding: it cannot win by a margin of more than that."
    assert reason.impossible == () and not reason.is_proved(above, range(3))
    on_it = facts(above.inputs, [*above.outputs[:2], [0.0, 0.0]], above.targets)
    (reason,) = obstructions(on_it, [0])
    assert reason.impossible == (0,) and "to rounding" not in reason.statement
    beside = facts([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.eye(2), [0, 0, 1])
    apart = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1e-11]])
    near = facts(apart, np.eye(3)[:2], beside.targets)
    (reason,), (proved,) = obstructions(near, [2]), obstructions(beside, [2])
    assert "s2 = 1 s0 + 1 s1 to rounding, and all of these have the answer a0" in reason.statement
    assert proved.is_proved(beside, range(3)) and "to rounding" not in proved.statement


@pytest.mark.parametrize("scale", [1e155, 1e-163])
def test_reasons_are_seen_at_any_scale(scale):
    inputs = np.array(
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.3, 0.2, 1.0]]
    )
    outputs = np.array([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [0.0, 4.0, 1.0], [1.0, 2.0, 1.0]])
    usual = screen(facts(inputs, outputs, [1, 1, 0, 1, 2, 3]))
    scaled = screen(facts(scale * inputs, scale * outputs, [1, 1, 0, 1, 2, 3]))
    assert [one.statement for one in scaled.obstructions] == [one.statement for one in usual.obstructions]
    assert {one.kind for one in usual.obstructions} == {"parallel inputs", "hidden answer", "conic input"}
    assert (scaled.input_rank, scaled.output_rank, scaled.verdict.verdict) == (3, 2, "not storable")
    uneven = facts(inputs * np.array([[scale], [1.0], [1.0], [1.0], [1.0], [1.0]]), outputs, [1, 1, 0, 1, 2, 3])
    reason = next(one for one in screen(uneven).obstructions if one.kind == "conic input")
    assert reason.is_proved(uneven, range(6)) and reason.multipliers[0, 0] == pytest.approx(2 / scale)


def test_of_a_long_combination_six_terms_are_said():
    """The centre of eight corners is hidden; what differs by rounding keeps its order."""
    corners = np.eye(8)
    found = facts(np.eye(8)[:2], [*corners, corners.mean(axis=0)], [8, 0])
    (hidden,) = obstructions(found, [0])
    terms = " + ".join(f"0.125 a{answer}" for answer in range(6))
    assert hidden.statement.startswith(f"a8 = {terms} + 2 more: one of these answers")


def test_each_search_ends_with_the_time(monkeypatch):
    """A clock that goes on by a second whenever it is looked at."""
    cone = facts([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0], [1.0, 3.0]], AXES[:2, :2], [1, 1, 0, 0])
    counts = []
    for seconds in (1.0, 5.0, 30.0):
        ticks = itertools.count()
        monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda ticks=ticks: float(next(ticks))))
        counts.append(len(obstructions(cone, [2, 3], seconds)))
    assert counts == [0, 1, 2]
