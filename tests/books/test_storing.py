"""Books: everything is stored that can be, what cannot is named with its reason, and a book survives its file."""

import json
import re
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone import deadline
from loadstone.books import storing
from loadstone.books.book import open_book
from loadstone.books.gathered import gather
from loadstone.books.reading import pairs_of
from loadstone.books.screening import obstructions, screen
from loadstone.books.storing import store
from loadstone.problems.arrays import Arrays
from loadstone.proofs.conditioned import Conditioned
from loadstone.solvers.decide import decide
from loadstone.solvers.weighted import store_most


def made(n, d, answers=None, seed=0):
    random = np.random.default_rng(seed)
    vectors = {f"s{i}": random.standard_normal(d) for i in range(n)}
    vectors |= {f"a{i}": random.standard_normal(d) for i in range(answers or n)}
    return [(f"s{i}", f"a{i % (answers or n)}") for i in range(n)], vectors


def test_what_can_be_stored_is_stored_with_proof(tmp_path):
    pairs, vectors = made(20, 10)
    found = store(gather(pairs, vectors))
    assert found.proved and found.book.stored.all() and not found.impossible and found.conflict is None
    assert [found.book.recall(subject)[0].answer for subject, _ in pairs] == [answer for _, answer in pairs]
    assert found.book.margins().min() > 0 and not found.book.failures()
    assert repr(found.book) == "<Book: 20 of 20 facts stored (proved), 20 answers, d = 10>"


def test_recall_gives_scores_and_margins_against_the_definition():
    pairs, vectors = made(12, 8)
    book = store(gather(pairs, vectors)).book
    best = book.recall("S3", 4)  # capital letters do not matter where they tell nothing apart
    scores = {name: vectors[name] @ book.weights @ vectors["s3"] for name in vectors if name.startswith("a")}
    order = sorted(scores, key=scores.get, reverse=True)
    assert [one.answer for one in best] == order[:4]
    np.testing.assert_allclose([one.score for one in best], [scores[name] for name in order[:4]], rtol=1e-6)
    assert best[0].margin == pytest.approx(scores[order[0]] - scores[order[1]], rel=1e-5)
    assert best[2].margin == pytest.approx(scores[order[2]] - scores[order[0]], rel=1e-5)
    with pytest.raises(KeyError, match=r"'s33' is not in the book .did you mean 's3'"):
        book.recall("s33")
    with pytest.raises(ValueError, match="top is 0"):
        book.recall("s3", 0)


def test_equal_inputs_hidden_answers_and_equal_answers_are_named():
    pairs, vectors = made(16, 10)
    vectors["s5"] = 2 * vectors["s2"]
    vectors["a9"] = (vectors["a0"] + vectors["a1"] + 2 * vectors["a2"]) / 4
    vectors["a11"] = vectors["a12"]
    told = []
    found = store(gather(pairs, vectors), progress=lambda done, words: told.append(words))
    assert told[0] == "storing 13 facts"  # without one of two equal inputs, and without equal answers
    kinds = {one.kind: one for one in found.obstructions}
    assert all(one.is_proved(gather(pairs, vectors), range(16)) for one in found.obstructions)
    assert kinds["parallel inputs"].facts == (2, 5)
    assert "s2 -> a2; s5 -> a5" in kinds["parallel inputs"].statement
    assert "a9 = 0.5 a2 + 0.25 a0 + 0.25 a1" in kinds["hidden answer"].statement
    assert "a11, a12: these answers have the same vector" in kinds["equal answers"].statement
    assert sorted(found.impossible) == [5, 9, 11, 12] and found.proved and found.book.stored.sum() == 12


def test_a_conic_input_is_found_and_one_fact_is_left_out():
    pairs, vectors = made(12, 9, answers=6)
    # s0 and s6 have the answer a0, s4 has another.
    vectors["s4"] = 0.7 * vectors["s0"] + 0.2 * vectors["s6"]
    gathered = gather(pairs, vectors)
    (one,) = obstructions(gathered, range(12))
    assert one.kind == "conic input" and one.facts == (4, 0, 6) and "s4 = 0.7 s0 + 0.2 s6" in one.statement
    assert one.is_proved(gathered, (0, 4, 6)) and not one.is_proved(gathered, (0, 4))
    found = store(gathered)
    assert found.proved and found.book.stored.sum() == 11


def test_above_capacity_what_is_left_out_is_proved_not_to_fit():
    pairs, vectors = made(15, 4)
    found = store(gather(pairs, vectors))
    book, rows = found.book, np.flatnonzero(found.book.stored)
    assert found.proved and 0 < len(rows) < 15 and {*rows, *found.impossible} == set(range(15))
    for row in found.impossible:
        part = [*rows, row]
        arrays = Arrays(book.inputs[part], book.outputs, book.targets[part])
        assert decide(arrays).verdict == "not storable"
    assert [one.subject for one in book.failures()] == [book.subjects[row] for row in sorted(found.impossible)]
    assert all(one.margin <= 0 and one.rival != one.answer for one in book.failures())
    assert found.conflict is None or found.conflict.minimal


def test_time_is_kept_and_facts_that_are_all_impossible_are_proved_to_be():
    pairs, vectors = made(60, 8)
    assert obstructions(gather(pairs, vectors), range(60), seconds=0) == []
    found = store(gather([("s0", "a0"), ("s1", "a1")], vectors | {"a1": vectors["a0"]}))
    assert found.proved and sorted(found.impossible) == [0, 1] and not found.book.stored.any()


@pytest.fixture
def any_size_is_large(monkeypatch):
    """Few facts take the way of many, on which searches come before verdicts."""
    for name in ("_SMALL", "_FEW_DIMENSIONS", "_LONG"):
        monkeypatch.setattr(storing, name, 0)
    return []  # what is told


@pytest.mark.parametrize("family", ["full", "symmetric"])
def test_many_facts_are_stored_by_a_search_and_proved(any_size_is_large, family):
    pairs, vectors = made(8, 6)
    found = store(gather(pairs, vectors), family=family, progress=lambda done, words: any_size_is_large.append(words))
    assert found.proved and found.book.stored.all() and not found.impossible
    arrays = Arrays(found.book.inputs, found.book.outputs, found.book.targets)
    assert Conditioned(arrays).witness(found.book.weights) is not None
    assert family == "full" or (found.book.weights == found.book.weights.T).all()
    (forecast,) = any_size_is_large
    assert re.fullmatch("storing 8 facts: about .* s if all can be stored, at most 60 s", forecast)


@pytest.mark.parametrize("large", [False, True])
def test_where_numpy_searches_no_problem_for_jax_is_made(large, request, monkeypatch):
    """Arrays go into the search, and a proof confirms the W that comes out: nothing is compiled."""
    if large:
        request.getfixturevalue("any_size_is_large")
        monkeypatch.setattr(storing, "_LONG", 10**10)  # a pass is not timed

    def refused(arrays):
        raise AssertionError("a problem for JAX")

    for module in ("books.gathered", "solvers.decide"):
        monkeypatch.setattr(f"loadstone.{module}.facts_of", refused)
    pairs, vectors = made(60, 40)
    found = store(gather(pairs, vectors))
    assert found.proved and found.book.stored.all()


def test_of_too_many_facts_as_many_as_possible_are_stored_by_a_search(any_size_is_large):
    pairs, vectors = made(15, 4)
    gathered = gather(pairs, vectors)
    found = store(gathered, seconds=20, progress=lambda done, words: any_size_is_large.append(words))
    rows = np.flatnonzero(found.book.stored)
    usual = store(gathered).book.stored.sum()  # of facts that are few, verdicts say how many fit
    assert found.proved and abs(len(rows) - usual) <= 2 and {*rows, *found.impossible} == set(range(15))
    for row in found.impossible:
        part = [*rows, row]
        arrays = Arrays(found.book.inputs[part], found.book.outputs, found.book.targets[part])
        assert decide(arrays).verdict == "not storable"
    assert any("of 15 facts are stored" in words for words in any_size_is_large)


def test_where_a_pass_takes_long_there_is_no_search_for_all(any_size_is_large, monkeypatch):
    monkeypatch.setattr(storing, "seconds_a_pass", lambda problem: 0.06)
    monkeypatch.setattr(storing, "seconds_of_rivals", lambda weights, gathered: 0.5)
    searched = []
    stores = storing._Storing._stores
    monkeypatch.setattr(storing._Storing, "_stores", lambda *given: searched.append(len(given)) or stores(*given))
    monkeypatch.setattr(storing, "store_most", lambda problem, memory, seconds, report, each: (
        searched.append((seconds, each)) or store_most(problem, memory, seconds, report, each)))  # fmt: skip
    pairs, vectors = made(8, 6)
    found = store(gather(pairs, vectors), seconds=3, progress=lambda done, words: any_size_is_large.append(words))
    assert "a pass over them takes 0.06 s, so 3 s are too few to look" in any_size_is_large[0]
    # All the time is for as many as possible, but for what it takes to see which they are.
    left, each = searched[0]
    assert 1.5 < left < 3 - 1.3 * 0.5 and each == 0.06 and found.book.stored.sum() >= 6


def test_when_time_is_up_a_book_comes_back_all_the_same():
    pairs, vectors = made(40, 6)
    found = store(gather(pairs, vectors), seconds=0.05)
    assert not found.proved and len(found.book) == 40


def test_a_family_that_there_is_not_is_refused_before_anything_is_told():
    pairs, vectors = made(4, 3)
    told = []
    with pytest.raises(ValueError, match="family is 'bloks'.*did you mean 'blocks'"):
        store(gather(pairs, vectors), family="bloks", progress=lambda done, words: told.append(words))
    assert not told


def test_a_book_survives_its_file(tmp_path):
    pairs, vectors = made(9, 6)
    pairs[0] = ('strange "name"\n\u2603 ' + "x" * 10_000, pairs[0][1])
    vectors[pairs[0][0]] = vectors["s0"]
    book = store(gather([*pairs, ("nobody", "a1")], vectors)).book
    book.save(tmp_path / "b.safetensors")
    again = open_book(tmp_path / "b.safetensors")
    assert again.subjects == book.subjects and again.answers == book.answers and again.about == book.about
    assert again.about["out_of_vocabulary"] == ["nobody"]
    for name in ("weights", "inputs", "outputs", "targets", "stored"):
        kept, back = getattr(book, name), getattr(again, name)
        assert kept.dtype == back.dtype and kept.tobytes() == back.tobytes()


def test_damaged_books_get_one_sentence(tmp_path):
    pairs, vectors = made(9, 6)
    path = tmp_path / "b.safetensors"
    store(gather(pairs, vectors)).book.save(path)
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])

    def changed(**metadata):
        text = json.dumps(header | {"__metadata__": header["__metadata__"] | metadata}).encode()
        return len(text).to_bytes(8, "little") + text + whole[8 + size :]

    cases = {
        b"": "a file that",
        whole[:-5]: "a file that",
        changed(format="loadstone book 9"): "is of a later one",
        changed(format="x"): "a book, which this file is not",
        changed(words="{"): "undamaged",
        changed(words='{"subjects": ["a"], "answers": ["b", "c"], "about": {}}'): "undamaged",
    }
    for raw, sentence in cases.items():
        path.write_bytes(raw)
        with pytest.raises(ValueError) as error:
            open_book(path)
        assert sentence in str(error.value) and "\n" not in str(error.value)


def test_one_subject_asked_twice_among_the_capitals_is_named_without_a_search_for_it():
    examples = Path(__file__).parents[2] / "examples"
    pairs = [pair[:2] for pair in pairs_of(examples / "capitals.csv", ("country", "capital"))]
    gathered = gather([*pairs, ("France", "Lima")], examples / "capitals.glove.txt")
    assert len(gathered) == 235
    began = time.process_time()
    (one,) = obstructions(gathered)
    assert time.process_time() - began < 1 and "France -> Paris; France -> Lima" in one.statement
    seen = screen(gathered)
    # A search for the proof would take Newton steps; sorting has it already.
    assert seen.verdict.verdict == "not storable" and seen.verdict.newton_steps == 0
    assert [found.kind for found in seen.obstructions] == ["parallel inputs"]


@pytest.fixture
def calls(monkeypatch):
    """No time passes. The size of each problem that is decided, and the seconds that everything may take."""
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    heard = {"decide": [], "obstructions": [], "conflict_in": []}

    def listen(name, call, seconds_of):
        def heard_of(*given, **named):
            heard[name].append((len(given[0].targets), seconds_of(given, named)))
            return call(*given, **named)

        monkeypatch.setattr(storing, name, heard_of)

    listen("decide", storing.decide, lambda given, named: named["seconds"])
    listen("obstructions", storing.obstructions, lambda given, named: given[2] if given[1:] else None)
    listen("conflict_in", storing.conflict_in, lambda given, named: given[2])
    return heard


def test_facts_are_put_aside_by_halves_and_tried_again_in_halves(calls):
    told = []
    found = store(gather(*made(24, 3, 5, seed=2)), seconds=8, progress=lambda done, words: told.append(words))
    # Few that are violated go at once, of more than eight half.
    tried = [(10, 9), (10, 4), (10, 2), (12, 2), (12, 1), (12, 1), (12, 5), (12, 2), (12, 1), (13, 1), (13, 3), (13, 1),
             (13, 2), (13, 1), (13, 1)]  # fmt: skip
    assert told == ["storing 24 facts", *(f"{kept} facts are stored; trying {more} more" for kept, more in tried)]
    assert [size for size, _ in calls["decide"][:4]] == [24, 17, 10, 19]
    assert {seconds for _, seconds in calls["decide"]} == {8.0}
    assert found.impossible == (5, 20, 15, 10, 0, 3, 7, 6, 16, 1) and found.book.stored.sum() == 14 and found.proved


def test_reasons_and_a_conflict_have_their_shares_of_the_time(calls):
    told = []
    found = store(gather(*made(15, 4)), seconds=40, progress=lambda done, words: told.append(words))
    assert calls["obstructions"] == [(15, None), (15, 4.0)] and calls["conflict_in"] == [(11, 10.0)]
    # The first fact that does not fit has a simple reason, the second has none.
    assert found.impossible == (5, 1, 8, 13, 4) and found.conflict.facts[-1] == 1 and found.obstructions
    assert told[-1] == "looking for the facts that leave no room for s1 -> a1"
    about = found.book.about
    assert about["impossible"] == [f"s{row} -> a{row}" for row in found.impossible] and about["seconds"] == 0
    assert about["conflicts"][-1] == [f"s{row} -> a{row}" for row in found.conflict.facts]
    assert len(about["conflicts"]) == len(found.obstructions) + 1


def test_a_search_has_its_share_of_the_time_too(calls, any_size_is_large, monkeypatch):
    """Of 40 seconds 16 for a search that stores all, then 20 for as many as possible, less if scores take long."""
    searched, stored = [], []
    search, most = storing._Storing._search, storing.store_most
    monkeypatch.setattr(storing._Storing, "_search", lambda self, rows, limits: (
        searched.append((len(rows), limits.passes, limits.seconds)) or search(self, rows, limits)))  # fmt: skip
    monkeypatch.setattr(storing, "store_most", lambda problem, memory, seconds, report, each: (
        stored.append((seconds, each)) or most(problem, memory, 0.1, report, each)))  # fmt: skip
    monkeypatch.setattr(storing, "seconds_a_pass", lambda problem: 0.5)
    for score_seconds, share in ((10.0, 20.0), (20.0, 14.0), (40.0, 1e-3)):
        monkeypatch.setattr(storing, "seconds_of_rivals", lambda weights, gathered, each=score_seconds: each)
        store(gather(*made(15, 4)), seconds=40, progress=lambda done, words: any_size_is_large.append(words))
        assert stored.pop() == (share, 0.5) and searched[0] == (15, 1000, 16.0) and not stored
        assert any_size_is_large[0] == "storing 15 facts: about 30 s if all can be stored, at most 40 s"
        assert calls["obstructions"] == [(15, None), (15, 4.0)]
        del searched[:], any_size_is_large[:], calls["obstructions"][:]


@pytest.mark.parametrize("pass_seconds, words", [
    (0.66, "about 40 s if all can be stored, at most 40 s"), (0.67, "takes 0.67 s, so 40 s are too few to look"),
])  # fmt: skip
def test_a_search_for_all_takes_sixty_passes(pass_seconds, words, monkeypatch):
    monkeypatch.setattr(storing, "_LONG", 0)
    monkeypatch.setattr(storing, "seconds_a_pass", lambda problem: pass_seconds)
    made_of = storing._Storing(gather(*made(6, 4)), 40.0, "full", print)
    assert words in made_of._forecast() and made_of._has_time_for_all() == words.startswith("about")


def test_which_facts_are_few(monkeypatch):
    """At fewer than 60 dimensions, or with fewer than ten million products a pass."""
    few = {d: storing._Storing(gather(*made(3, d)), 1.0, "full", print) for d in (59, 60)}
    assert few[60]._is_small(range(10**7 // 180)) and not few[60]._is_small(range(10**7 // 180 + 1))
    assert few[59]._is_small(range(10**7)) and few[59]._forecast() == "storing 0 facts"
    few[60].kept = range(10**10 // 180 + 1)
    monkeypatch.setattr(storing, "seconds_a_pass", lambda problem: 0.1)
    assert few[60]._forecast().startswith("storing 55555556 facts: a pass over them")
    few[60].kept = range(10**10 // 180)
    assert few[60]._forecast() == "storing 55555555 facts"


def test_what_was_not_tried_in_time_is_not_proved(monkeypatch):
    """Ten facts are stored, and the time is up when the others are to be tried again."""
    now = [0.0]
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def progress(done, words):
        now[0] = 50.0 if "trying" in words else 0.0

    found = store(gather(*made(15, 4)), seconds=40, progress=progress)
    assert found.book.stored.sum() == 10 and len(found.impossible) == 1 and not found.proved
    assert not found.book.about["proved"] and found.seconds == found.book.about["seconds"] == 50.0
    assert found.conflict is None  # the one that is impossible has a simple reason


def test_parts_of_the_facts_are_filled_up_to_one_length(calls, any_size_is_large, monkeypatch):
    """So that searches for any number of them have one program; facts that occur twice ask for nothing new."""
    searched, solve = [], storing.solve
    monkeypatch.setattr(storing, "is_plain", lambda n, m, d: (n, m, d) != (15, 15, 4))
    monkeypatch.setattr(storing, "solve", lambda problem, *given, **named: (
        searched.append(np.asarray(problem.targets).tolist()) or solve(problem, *given, **named)))  # fmt: skip
    found = store(gather(*made(15, 4)), seconds=40)
    assert {len(targets) for targets in searched} == {15} and min(len(set(targets)) for targets in searched) < 15
    for targets in searched:
        np.testing.assert_array_equal(targets, np.resize(targets[: len(set(targets))], 15))
    assert found.proved
