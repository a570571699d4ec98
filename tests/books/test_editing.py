"""Edits of a book: what each method does to a book made by hand, what is lost, and one sentence for what is wrong."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from loadstone.books import editing
from loadstone.books.book import Book
from loadstone.books.draft import Change, changes_of, drafted
from loadstone.books.editing import METHODS, edit, typical_margin
from loadstone.books.gathered import gather
from loadstone.books.storing import remember, store
from loadstone.problems.arrays import Arrays
from loadstone.solvers.decide import decide

AXES = {name: np.eye(4)[index] for index, name in enumerate("red green blue white".split())}
#: Each subject has its own axis.
BY_HAND = {f"{name} thing": vector for name, vector in AXES.items()}
CHANGES = [("France", "Lyon", "change"), ("Wales", "Cardiff", "add"), ("Peru", None, "remove")]


def by_hand():
    """Three subjects along three axes, answers along the same: W = 1 stores them, each with margin 1."""
    names = list(AXES)[:3]
    inputs = np.eye(4)[:3]
    return Book(
        np.eye(4), tuple(f"{n} thing" for n in names), tuple(names), np.arange(3), inputs, inputs, np.ones(3, bool)
    )


def test_a_change_in_a_book_made_by_hand():
    """The nearest query to (1, 0, 0, 0) at which 'green' wins by 1 is (0, 1, 0, 0), and the input is orthogonal to all
    others: the first column of W becomes this query, and nothing else changes."""
    book = by_hand()
    assert typical_margin(book) == 1
    wanted = np.eye(4)
    wanted[:, 0] = [0, 1, 0, 0]
    for method in ("rank-one", "batch"):
        done = book.edit({"red thing": "green"}, method=method)
        # 'red' is the answer of no fact any more, and leaves the book.
        assert done.book.answers == ("green", "blue") and done.book.subjects == book.subjects
        assert done.taken == (Change("red thing", "green", "change", "facts"),) and not done.missed and not done.lost
        assert done.kept == 2 and done.proved and done.book.stored.all()
    kept = book.edit([("red thing", "green"), ("white thing", "red")], "rank-one", BY_HAND)
    np.testing.assert_allclose(kept.book.weights[:, 0], wanted[:, 0], atol=1e-6)
    np.testing.assert_allclose(kept.book.weights[:, 1:3], wanted[:, 1:3], atol=1e-6)
    # All scores of the new subject were 0: 'red' wins by 1 with the least change of the three about their mean.
    np.testing.assert_allclose(kept.book.weights[:, 3], [2 / 3, -1 / 3, -1 / 3, 1], atol=1e-6)
    assert np.array_equal(book.weights, np.eye(4)) and book.answers == ("red", "green", "blue")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_adds_changes_and_removes(method):
    done = by_hand().edit(
        [("green thing", "blue"), ("white thing", "white", "add"), ("red thing", "", "remove")], method, BY_HAND | AXES
    )
    assert [str(change) for change in done.taken] == [
        "change green thing -> blue", "add white thing -> white", "remove red thing",
    ]  # fmt: skip
    assert done.book.subjects == ("green thing", "blue thing", "white thing")
    assert done.book.answers == ("blue", "white") and done.book.stored.all() and done.kept == 1 and not done.lost
    assert {name: done.book.recall(name)[0].answer for name in done.book.subjects} == {
        "green thing": "blue", "blue thing": "blue", "white thing": "white",
    }  # fmt: skip
    (said,) = done.book.about["edits"]
    assert (said["method"], said["missed"], said["lost"]) == (method, [], []) and len(said["taken"]) == 3


def made(n, d, seed=0, answers=None):
    random = np.random.default_rng(seed)
    vectors = {f"s{i}": random.standard_normal(d) for i in range(n)}
    vectors |= {f"a{i}": random.standard_normal(d) for i in range(answers or n)}
    return [(f"s{i}", f"a{i % (answers or n)}") for i in range(n)], vectors


def arrays(book, rows=slice(None)):
    return Arrays(book.inputs[rows], book.outputs, book.targets[rows])


def test_a_refit_keeps_everything_if_a_proof_says_that_all_of_it_fits():
    pairs, vectors = made(24, 9)
    book = remember(pairs[:18], vectors)
    done = book.edit(pairs[18:], vectors=vectors)
    assert decide(arrays(done.book)).verdict == "storable"
    assert done.proved and not done.lost and not done.missed and done.kept == 18 and done.book.stored.all()
    assert done.book.about["proved"] and len(done.book) == 24
    again = done.book.edit({"s0": "a1"}, "batch", vectors).book
    assert [edit["method"] for edit in again.about["edits"]] == ["refit", "batch"]


def test_above_capacity_old_facts_come_first_and_what_is_left_out_does_not_fit():
    pairs, vectors = made(18, 4, answers=6)
    book = remember(pairs[:8], vectors)
    assert book.stored.all()
    done = book.edit(pairs[8:], vectors=vectors)
    rows = np.flatnonzero(done.book.stored)
    assert done.proved and not done.lost and done.kept == 8 and 0 < len(done.missed) < 10
    names = {f"{change.subject} -> {change.answer}" for change in done.missed}
    assert names == set(done.impossible) == set(done.book.about["impossible"])
    for change in done.missed:
        row = done.book.subjects.index(change.subject)
        assert decide(arrays(done.book, [*rows, row])).verdict == "not storable"


@pytest.mark.parametrize("method", ["rank-one", "batch"])
def test_what_the_updates_lose_is_named_and_a_refit_keeps_it(method):
    pairs, vectors = made(40, 10)
    book = remember(pairs[:22], vectors)
    done = book.edit(pairs[22:32], method, vectors)
    forgotten = [
        (subject, answer) for subject, answer in pairs[:22] if done.book.recall(subject)[0].answer != answer
    ]  # fmt: skip
    assert [(one.subject, one.answer) for one in done.lost] == forgotten and forgotten
    assert done.kept == 22 - len(forgotten)
    assert all(one.rival == done.book.recall(one.subject)[0].answer and one.margin < 0 for one in done.lost)
    missed = [pair for pair in pairs[22:32] if done.book.recall(pair[0])[0].answer != pair[1]]
    assert [(one.subject, one.answer) for one in done.missed] == missed
    assert done.proved and not done.book.about["proved"]  # what is stored is proved, but not that the rest cannot be
    assert not book.edit(pairs[22:32], "refit", vectors).lost


def test_removing_a_fact_makes_room():
    pairs, vectors = made(9, 6)
    vectors["s5"] = 2 * vectors["s2"]  # parallel to another subject with another answer
    book = store(gather(pairs, vectors)).book
    assert [one.subject for one in book.failures()] == ["s5"] and book.about["impossible"]
    done = book.edit([("s2", "", "remove")])
    assert done.gained == ("s5 -> a5",) and done.book.stored.all() and done.proved and not done.impossible
    assert decide(arrays(done.book)).verdict == "storable" and decide(arrays(book)).verdict == "not storable"
    # The updates look at nothing but the edits: W stays, and so does the failure.
    same = book.edit([("s2", "", "remove")], method="rank-one")
    assert np.array_equal(same.book.weights, book.weights)
    # Asked for again, it takes the place of the other.
    back = book.edit([("s5", "a5"), ("s2", "a1")])
    assert [one.subject for one in back.missed] == ["s2"] and back.obstructions[0].kind == "parallel inputs"
    assert back.book.recall("s5")[0].answer == "a5"


def test_a_new_answer_that_hides_an_old_one_costs_the_old_fact_and_it_is_said():
    pairs, vectors = made(8, 5)
    vectors = {name: vector.astype(np.float32).astype(float) for name, vector in vectors.items()}
    vectors["new"] = 2 * vectors["a3"] - vectors["a1"]  # a3 is half-way between a1 and the new answer
    vectors["someone"] = np.random.default_rng(9).standard_normal(5)
    done = remember(pairs, vectors).edit({"someone": "new"}, vectors=vectors)
    assert [(one.subject, one.answer) for one in done.lost] == [("s3", "a3")] and done.impossible == ("s3 -> a3",)
    assert [one.kind for one in done.obstructions] == ["hidden answer"] and done.proved and done.kept == 7


def write(folder, rows, header=("subject", "object", "change")):
    path = folder / "changes.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.mark.parametrize("third", ["change", "action"])
def test_changes_come_from_tables_with_two_columns_or_three(third, tmp_path):
    changes = changes_of(write(tmp_path, CHANGES, ("subject", "object", third)))
    assert [change[:3] for change in changes] == CHANGES == [change[:3] for change in changes_of(CHANGES)]
    assert changes[2].where == "line 4 of changes.csv"
    path = tmp_path / "changes.jsonl"
    path.write_text("\n".join(json.dumps(dict(zip(("a", "b", third), row))) for row in CHANGES))
    assert [change[:3] for change in changes_of(path, ("a", "b"))] == CHANGES
    path.write_text(json.dumps({"a": "s", "b": "t"}))
    assert changes_of(path, ("a", "b")) == [Change("s", "t", None, "line 1 of changes.jsonl")]


def test_names_are_looked_up_as_recall_does_and_words_of_the_book_need_no_vectors():
    pairs, vectors = made(6, 5)
    book = remember([("France", "a0"), *pairs[1:]], vectors | {"France": vectors["s0"]})
    done = book.edit([("france", "A1"), ("S2", "", "remove")])
    assert [str(change) for change in done.taken] == ["change France -> a1", "remove s2"]
    assert done.book.recall("France")[0].answer == "a1"
    # An answer may be a subject of the book, and a fact that is stored already only has to stay.
    done = book.edit([("s3", "France"), ("s4", "a4"), ("s4", "a4")])
    assert done.book.answers[-1] == "France" and np.array_equal(done.book.outputs[-1], book.inputs[0])
    assert [str(change) for change in done.taken] == ["change s3 -> France", "change s4 -> a4"] and done.kept == 5


def test_names_without_a_vector_are_listed_and_their_changes_left_out():
    pairs, vectors = made(6, 5)
    book, more = remember(pairs, vectors), vectors | {"new": vectors["s0"] + 1, "land": vectors["s1"] - 1}
    done = book.edit([("new land", "a1"), ("Atlantis", "a2"), ("s3", "El Dorado")], vectors=more)
    assert done.averaged == ("new land",) and done.missing == ("Atlantis", "El Dorado")
    assert [str(one) for one in done.left_out] == ["Atlantis -> a2", "s3 -> El Dorado"]
    assert done.book.recall("s3")[0].answer == "a3" and done.book.recall("new land")[0].answer == "a1"


def test_the_weight_of_old_facts_moves_a_batch_between_two_ends():
    pairs, vectors = made(30, 8)
    book = remember(pairs[:16], vectors)
    firm = book.edit(pairs[16:19], "batch", vectors, old=1e9)
    np.testing.assert_allclose(firm.book.weights, book.weights, atol=1e-6)
    loose = book.edit(pairs[16:19], "batch", vectors, old=1e-9)
    assert not loose.missed and len(loose.lost) >= len(book.edit(pairs[16:19], "batch", vectors).lost)


def test_a_book_in_which_nothing_is_stored_can_be_edited():
    pairs, vectors = made(4, 4)
    empty = remember(pairs, vectors)
    for weights in (np.zeros((4, 4)), -empty.weights):
        book = Book(
            weights, empty.subjects, empty.answers, empty.targets, empty.inputs, empty.outputs, np.zeros(4, bool)
        )
        for method in METHODS:
            assert not book.edit({"s1": "a2"}, method).missed


OTHER = {name: vector + 1 for name, vector in made(8, 6)[1].items()} | {"new": np.ones(6)}
BAD = {
    "unknown subject removed": ([("ss1", "", "remove")], {}, "remove ss1, because 'ss1' is not in the book .did you"),
    "other answer removed": ([("s1", "a2", "remove")], {}, "cannot remove s1 -> a2, because the book has s1 -> a1"),
    "unknown subject changed": ([("nobody", "a1", "change")], {"vectors": {"nobody": [1] * 6}}, "cannot change nobody"),
    "there already": ([("s1", "a2", "add")], {}, "book has s1 -> a1, and a subject has one answer: say change"),
    "action": ([("s1", "a2", "drop")], {}, "facts says 'drop', but must say add, change or remove, or nothing"),
    "no answer": ([("s1", "")], {}, "facts has no answer"),
    "method": ([("s1", "a2")], {"method": "rome"}, "method is 'rome', but must be one of refit, rank-one, batch"),
    "no vectors": ([("s1", "new")], {}, "vectors is None, but must be given, because the book has no vector for 'new'"),
    "no vector": ([("s1", "new")], {"vectors": {}}, "none of the changes has vectors for its new words"),
    "other vectors": ([("s1", "new")], {"vectors": OTHER}, "the vector of 's0' is not the one that the book has"),
    "length": ([("s1", "new")], {"vectors": {"new": [1, 2]}}, "'new' has 2 numbers, but those of the book have 6"),
    "twice": ([("s1", "a2"), ("S1", "a3")], {}, "s1 -> a3 comes after s1 -> a2: keep one change for each subject"),
    "nothing": ([], {}, "there is no change"),
    "one answer": ([(f"s{i}", "a1") for i in range(8)], {}, "every fact would have the answer 'a1'"),
    "all gone": ([(f"s{i}", "", "remove") for i in range(8)], {}, "no fact would be left"),
    "seconds": ([("s1", "a2")], {"seconds": 0}, "seconds is 0"),
    "old": ([("s1", "a2")], {"old": 1.0}, "old is 1.0, but must be left out for the method refit"),
    "old of a batch": ([("s1", "a2")], {"old": -1.0, "method": "batch"}, "old is -1.0, but must be a finite number"),
    "phrases": ([("s1", "a2")], {"phrases": "some"}, "phrases is 'some'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def eight():
    pairs, vectors = made(8, 6)
    return remember(pairs, vectors)


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_in_one_sentence(name, eight):
    changes, arguments, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence) as error:
        edit(eight, changes, **arguments)
    assert "\n" not in str(error.value)


def test_updates_are_for_full_memories():
    pairs, vectors = made(8, 6)
    book = remember(pairs, vectors, family="symmetric")
    with pytest.raises(ValueError, match="method is 'batch', but must be refit for a book of the family symmetric"):
        book.edit({"s1": "a2"}, "batch")
    done = book.edit({"s1": "a2"})
    assert np.allclose(done.book.weights, done.book.weights.T) and not done.lost


@pytest.mark.parametrize("row, expected", [
    (("a", "b"), Change("a", "b", None, "facts")), (("a", "b", " Add "), Change("a", "b", "add", "facts")),
    (("a", "b", None), Change("a", "b", None, "facts")), (("a", None, "remove"), Change("a", None, "remove", "facts")),
    (("a", "b", "remove"), Change("a", "b", "remove", "facts")),
])  # fmt: skip
def test_a_change_as_it_is_read(row, expected):
    assert changes_of([row]) == [expected]


def test_both_columns_may_say_what_is_done_if_they_agree(tmp_path):
    header = ("subject", "object", "change", "action")
    agreed = write(tmp_path, [("a", "b", "add", "ADD"), ("c", "d", "", "change")], header)
    assert [change.action for change in changes_of(agreed)] == ["add", "change"]
    with pytest.raises(ValueError, match="line 2 of changes.csv says 'add' and 'remove', but must say add, change or"):
        changes_of(write(tmp_path, [("a", "b", "add", "remove")], header))
    # A column that is asked for by name is no third one.
    path = write(tmp_path, [("a", "b", "add")])
    assert changes_of(path, ("subject", "change")) == [Change("a", "add", None, "line 2 of changes.csv")]
    assert str(Change("a", None, "remove")) == "remove a" and str(Change("a", "b", None)) == "a -> b"


def two_of_one():
    """'red thing' has two answers, of which one is stored, and 'blue thing' is in the book as 'Blue Thing' too."""
    subjects = ("red thing", "red thing", "green thing", "Blue Thing", "blue thing")
    inputs = np.eye(4)[[0, 0, 1, 2, 2]]
    stored = np.array([True, False, True, True, False])
    return Book(np.eye(4), subjects, ("red", "green", "blue"), np.array([0, 1, 1, 2, 1]), inputs, np.eye(4)[:3], stored)


def drafts(*changes, **arguments):
    found = drafted(two_of_one(), changes_of(list(changes)), **arguments)
    return found, [(line.subject, line.answer, line.row, line.asked) for line in found.lines]


def test_what_a_draft_makes_of_each_change():
    found, lines = drafts(("red thing", "green", "remove"), ("white thing", "blue", "add"), ("green thing", "green"),
                          vectors=BY_HAND)  # fmt: skip
    assert lines == [
        ("red thing", "red", 0, False), ("green thing", "green", 2, False), ("Blue Thing", "blue", 3, False),
        ("blue thing", "green", 4, False), ("white thing", "blue", None, True),
    ]  # fmt: skip
    assert found.rows == (None, 4, 1) and [change.action for change in found.changes] == ["remove", "add", "change"]
    assert found.asked() == [4] and found.stayed(two_of_one().stored) == [0, 1, 2]
    assert found.stayed(~two_of_one().stored) == [3] and found.facts.answers == ("red", "green", "blue")
    assert found.facts.targets.tolist() == [0, 1, 2, 1, 2] and found.facts.inputs[4].tolist() == [0, 0, 0, 1]
    # One that is not stored is asked for, in its place in the book; of two answers the new one is left.
    found, lines = drafts(("blue thing", "green", "add"), ("red thing", "blue"))
    assert lines[-1] == ("blue thing", "green", 4, True) and lines[0] == ("red thing", "blue", None, True)
    assert (
        found.rows == (3, 0) and found.asked() == [3, 0] and [one.action for one in found.changes] == ["add", "change"]
    )
    # Both facts of one subject, each once.
    found, lines = drafts(
        ("red thing", "red", "remove"), ("red thing", "green", "remove"), ("red thing", "red", "remove")
    )
    assert len(found.changes) == 2 and lines[0][0] == "green thing" and len(lines) == 3
    # A name is taken as it is written if the book has it, or if it is to be added.
    assert [drafts((name, "red"))[0].changes[0].subject for name in ("BLUE THING", "Blue Thing")] == [
        "blue thing", "Blue Thing",
    ]  # fmt: skip
    found, lines = drafts(("Red Thing", "blue", "add"), vectors=BY_HAND)
    assert lines[-1] == ("Red Thing", "blue", None, True) and found.facts.inputs[-1].tolist() == [1, 0, 0, 0]


def test_new_answers_come_after_those_that_are_left():
    found, _ = drafts(("green thing", "white"), ("red thing", "", "remove"), ("blue thing", "", "remove"),
                      vectors=AXES | BY_HAND)  # fmt: skip
    assert found.facts.answers == ("blue", "white") and found.facts.outputs.tolist() == np.eye(4)[[2, 3]].tolist()
    assert found.facts.missing == () and found.facts.averaged == ()


def test_the_vectors_of_a_book_are_compared_with_those_that_are_given():
    pairs, vectors = made(25, 6)
    book = remember(pairs, vectors, seconds=1e-3)  # what it stores does not matter
    for name, share, refused in (("s19", 2e-3, True), ("s19", 5e-4, False), ("s20", 1.0, False)):
        largest = np.abs(vectors[name]).argmax()
        moved = vectors[name] * (1 + share * (np.arange(6) == largest))
        given = vectors | {name: moved, "new": np.ones(6)}
        if refused:
            with pytest.raises(ValueError, match=f"the vector of '{name}' is not the one that the book has"):
                drafted(book, changes_of([("new", "a1")]), given)
        else:
            assert len(drafted(book, changes_of([("new", "a1")]), given).lines) == 26
    # A mean of words may be one of other words by now.
    known = replace(book, about={"averaged": ["s3"]})
    assert drafted(known, changes_of([("new", "a1")]), vectors | {"s3": np.ones(6), "new": np.ones(6)}).changes


def test_of_many_names_without_a_vector_five_are_shown(eight):
    shown = "'n0', 'n1', 'n2', 'n3', 'n4'"
    for count, more in ((5, "."), (6, " and 1 more.")):
        names = [(f"n{number}", "a1") for number in range(count)]
        with pytest.raises(ValueError, match=f"the book has no vector for {shown}{more}$"):
            edit(eight, names)
        with pytest.raises(ValueError, match=f"without one are, for example, {shown}.$"):
            edit(eight, names, vectors={})


def test_a_book_without_any_stored_fact_has_the_deviation_of_scores_as_its_margin():
    book = by_hand()
    none = replace(book, stored=np.zeros(3, bool))
    assert typical_margin(none) == pytest.approx(np.std([1, 0, 0]))
    assert typical_margin(replace(none, weights=np.zeros((4, 4)))) == 1.0
    assert typical_margin(replace(book, weights=np.diag([3.0, 1.0, 5.0, 1.0]))) == 3.0


def test_an_edit_beside_what_was_impossible_all_along_is_proved():
    pairs, vectors = made(9, 6)
    vectors["s5"] = 2 * vectors["s2"]
    done = remember(pairs, vectors).edit({"s0": "a1"}, seconds=20)
    assert done.proved and done.impossible == ("s5 -> a5",) and [one.facts for one in done.obstructions] == [(2, 5)]
    assert 0 < done.seconds < 20 and done.book.about["edits"][0]["seconds"] == round(done.seconds, 3)


def test_reasons_have_a_tenth_of_the_time(monkeypatch):
    asked = []
    monkeypatch.setattr(editing, "obstructions", lambda facts, rows, seconds: asked.append(([*rows], seconds)) or [])
    pairs, vectors = made(9, 6)
    vectors["s5"] = 2 * vectors["s2"]
    done = remember(pairs, vectors).edit({"s0": "a1"}, seconds=20)
    assert asked == [([5], 2.0)] and done.impossible == ("s5 -> a5",) and done.obstructions == ()
