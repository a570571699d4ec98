"""Books: everything is stored that can be, what cannot is named with its reason, and a book survives its file."""

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from loadstone import deadline
from loadstone.books import searching, storing
from loadstone.books.book import open_book
from loadstone.books.gathered import gather
from loadstone.books.reading import pairs_of
from loadstone.books.report import report_of, whitened_spectrum
from loadstone.books.screening import obstructions, screen
from loadstone.books.storing import store
from loadstone.problems.arrays import Arrays
from loadstone.proofs.conditioned import Conditioned
from loadstone.solvers.decide import decide


def made(n, d, answers=None, seed=0):
    random = np.random.default_rng(seed)
    vectors = {f"s{i}": random.standard_normal(d) for i in range(n)}
    vectors |= {f"a{i}": random.standard_normal(d) for i in range(answers or n)}
    return [(f"s{i}", f"a{i % (answers or n)}") for i in range(n)], vectors


def stored_and_told(facts, **arguments):
    """What came of storing facts, and what was said meanwhile."""
    told = []
    return store(facts, progress=lambda done, words: told.append(words), **arguments), told


def assert_the_rest_does_not_fit(stored, facts):
    """Of so many facts, each that is not stored is proved not to fit beside those that are."""
    book, rows = stored.book, np.flatnonzero(stored.book.stored).tolist()
    assert stored.proved and 0 < len(rows) < facts and {*rows, *stored.impossible} == {*range(facts)}
    for row in stored.impossible:
        part = [*rows, row]
        assert decide(Arrays(book.inputs[part], book.outputs, book.targets[part])).verdict == "not storable"


def test_what_can_be_stored_is_stored_with_proof():
    pairs, vectors = made(20, 10)
    found = store(gather(pairs, vectors))
    assert found.proved and found.book.stored.all() and not found.impossible and found.conflict is None
    assert [found.book.recall(subject)[0].answer for subject, _ in pairs] == [answer for _, answer in pairs]
    assert found.book.margins().min() > 0 and not found.book.failures()
    assert repr(found.book) == "<Book: 20 of 20 facts stored (proved), 20 answers, d = 10>"


def test_equal_inputs_hidden_answers_and_equal_answers_are_named():
    pairs, vectors = made(16, 10)
    vectors = {name: vector.astype(np.float32).astype(float) for name, vector in vectors.items()}
    vectors["s5"] = 2 * vectors["s2"]
    vectors["a9"] = (vectors["a0"] + vectors["a1"] + 2 * vectors["a2"]) / 4
    vectors["a11"] = vectors["a12"]
    found, told = stored_and_told(gather(pairs, vectors))
    assert told[0] == "storing 13 facts"  # without one of two equal inputs, and without equal answers
    kinds = {one.kind: one for one in found.obstructions}
    assert all(one.is_proved(gather(pairs, vectors), range(16)) for one in found.obstructions)
    assert kinds["parallel inputs"].facts == (2, 5)
    assert "s2 -> a2; s5 -> a5" in kinds["parallel inputs"].statement
    assert "a9 = 0.5 a2 + 0.25 a0 + 0.25 a1" in kinds["hidden answer"].statement
    assert "a11, a12: these answers have the same vector" in kinds["equal answers"].statement
    assert sorted(found.impossible) == [5, 9, 11, 12] and found.proved and found.book.stored.sum() == 12


@pytest.mark.parametrize("facts", [(15, 4), (24, 3, 5)])
def test_above_capacity_what_is_left_out_is_proved_not_to_fit(facts):
    found = store(gather(*made(*facts)))
    book = found.book
    assert_the_rest_does_not_fit(found, facts[0])
    assert [one.subject for one in found.failures] == [book.subjects[row] for row in sorted(found.impossible)]
    assert list(found.failures) == book.failures() and all(fact.margin <= 0 for fact in found.failures)
    assert all(fact.rival != fact.answer for fact in found.failures)


def test_a_conflict_is_found_for_the_first_fact_that_has_no_simple_reason():
    found, told = stored_and_told(gather(*made(15, 4)))
    simple = {row for reason in found.obstructions for row in reason.facts}
    row = next(row for row in found.impossible if row not in simple)
    assert simple and found.conflict.minimal and row in found.conflict.facts
    assert told[-1] == f"looking for the facts that leave no room for s{row} -> a{row}"
    about = found.book.about
    assert about["impossible"] == [f"s{row} -> a{row}" for row in found.impossible]
    assert about["conflicts"][-1] == [f"s{row} -> a{row}" for row in found.conflict.facts]
    assert len(about["conflicts"]) == len(found.obstructions) + 1


def test_time_is_kept_and_facts_that_are_all_impossible_are_proved_to_be():
    pairs, vectors = made(60, 8)
    assert obstructions(gather(pairs, vectors), range(60), seconds=0) == []
    found = store(gather([("s0", "a0"), ("s1", "a1")], vectors | {"a1": vectors["a0"]}))
    assert found.proved and sorted(found.impossible) == [0, 1] and not found.book.stored.any()


@pytest.fixture
def any_number_is_large(monkeypatch):
    """Few facts take the way of many, on which searches come before verdicts."""
    for name in ("_SMALL", "_FEW_DIMENSIONS", "_LONG"):
        monkeypatch.setattr(searching, name, 0)


@pytest.mark.parametrize("family", ["full", "symmetric"])
@pytest.mark.parametrize("compiled", [False, True])
def test_many_facts_are_stored_by_a_search_and_proved(any_number_is_large, family, compiled, monkeypatch):
    monkeypatch.setattr(searching, "is_plain", lambda n, m, d: not compiled)
    found, (forecast,) = stored_and_told(gather(*made(8, 6)), family=family)
    assert found.proved and found.book.stored.all() and not found.impossible
    arrays = Arrays(found.book.inputs, found.book.outputs, found.book.targets)
    assert Conditioned(arrays).witness(found.book.weights) is not None
    assert family == "full" or (found.book.weights == found.book.weights.T).all()
    assert forecast.startswith("storing 8 facts: about ") and forecast.endswith(" if all can be stored, at most 60 s")


@pytest.mark.parametrize("n, d", [(60, 40), (410, 60)])
def test_where_numpy_searches_nothing_is_compiled(n, d, caplog):
    """A verdict on few facts, a search for many: arrays go in, and a proof confirms the W that comes out."""
    facts = gather(*made(n, d))
    jax.clear_caches()
    with jax.log_compiles():
        found = store(facts)
    assert found.proved and found.book.stored.all() and "ompil" not in caplog.text


@pytest.mark.parametrize("compiled", [False, True])
def test_of_too_many_facts_as_many_as_possible_are_stored_by_a_search(any_number_is_large, compiled, monkeypatch):
    monkeypatch.setattr(searching, "is_plain", lambda n, m, d: not compiled)
    found, told = stored_and_told(gather(*made(15, 4)), seconds=20)
    assert_the_rest_does_not_fit(found, 15)
    assert found.book.stored.sum() >= 8 and any("facts are stored" in words for words in told)


@pytest.mark.parametrize("pass_seconds, words", [
    (0.66, "storing 8 facts: about 40 s if all can be stored, at most 40 s"),
    (0.1, "storing 8 facts: about 6 s if all can be stored"), (0.67, "takes 0.67 s, so 40 s are too few to look"),
])  # fmt: skip
def test_it_is_said_beforehand_how_long_it_takes(any_number_is_large, pass_seconds, words, monkeypatch):
    monkeypatch.setattr(searching, "seconds_a_pass", lambda problem: pass_seconds)

    def heard(done, said):
        assert words in said
        raise InterruptedError

    with pytest.raises(InterruptedError):
        store(gather(*made(8, 6)), seconds=40, progress=heard)


def test_where_a_pass_takes_long_as_many_as_possible_are_stored_at_once(any_number_is_large, monkeypatch):
    monkeypatch.setattr(searching, "seconds_a_pass", lambda problem: 0.03)
    monkeypatch.setattr(searching, "seconds_of_rivals", lambda weights, gathered: 0.5)
    found, told = stored_and_told(gather(*made(8, 6)), seconds=1.5)
    assert "too few to look for a W that stores all" in told[0] and found.book.stored.sum() >= 6


def test_when_time_is_up_a_book_comes_back_all_the_same():
    pairs, vectors = made(40, 6)
    found = store(gather(pairs, vectors), seconds=0.05)
    assert not found.proved and len(found.book) == 40


def test_a_family_that_there_is_not_is_refused_before_anything_is_told():
    pairs, vectors = made(4, 3)
    with pytest.raises(ValueError, match="family is 'bloks'.*did you mean 'blocks'"):
        store(gather(pairs, vectors), family="bloks", progress=pytest.fail)


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


def test_where_the_minimum_of_the_loss_stores_nothing_what_fits_is_stored_all_the_same():
    """The second subject is the sum of the others, which share the other answer: the loss is least at W = 0."""
    vectors = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 1.0], "A": [1.0, 0.0], "B": [0.0, 1.0]}
    stored = store(gather([("a", "A"), ("b", "B"), ("c", "A")], vectors))
    assert stored.proved and stored.book.stored.sum() == 2 and len(stored.impossible) == 1


@pytest.mark.parametrize("scale", [1e155, 1e-163, 1e300, 1e-300])
def test_facts_at_any_scale_are_stored_asked_and_edited(scale, tmp_path):
    """They were lost 'by nan', because products of their vectors overflow or vanish."""
    pairs, vectors = made(8, 5)
    scaled = {name: scale * vector for name, vector in vectors.items()}
    usual, stored = store(gather(pairs, vectors)).book, store(gather(pairs, scaled))
    book = stored.book
    assert stored.proved and book.stored.all() and stored.failures == () and (book.margins() > 0).all()
    assert book.recall("s3")[0].answer == "a3" and np.isfinite(book.recall("s3", 8)[-1].margin)
    again = [recalled.answer for recalled in replace(book, weights=usual.weights).recall("s3", 8)]
    assert again == [recalled.answer for recalled in usual.recall("s3", 8)]
    book.save(tmp_path / "b.safetensors")
    assert (open_book(tmp_path / "b.safetensors").margins() > 0).all()
    edited = book.edit({"s0": "a1"})
    assert edited.proved and edited.book.stored.all() and not edited.lost
    for method in ("rank-one", "batch"):
        with pytest.raises(ValueError, match="the largest of the inputs is .* must be between 1e-70 and 1e.70"):
            book.edit({"s0": "a1"}, method)
    page = report_of(book, book.budget(shuffles=1))
    assert page["singular_values"] == pytest.approx(whitened_spectrum(book)) and page["budget"]["law"]["delta"] == 25
    assert max(page["singular_values"]) > 0


@pytest.mark.parametrize("compiled", [True, False])
def test_a_search_for_many_facts_has_numbers_of_moderate_size(any_number_is_large, compiled, monkeypatch):
    monkeypatch.setattr(searching, "is_plain", lambda *sizes: not compiled)
    pairs, vectors = made(20, 60)
    random = np.random.default_rng(3)
    uneven = {name: vector * 10.0 ** random.integers(-200, 200) for name, vector in vectors.items() if name[0] == "s"}
    uneven |= {name: 1e155 * vector for name, vector in vectors.items() if name[0] == "a"}
    stored = store(gather(pairs, uneven))
    assert stored.proved and stored.book.stored.all()


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


@pytest.fixture
def allowed(monkeypatch):
    """No time passes. The seconds that each part of the work may take, by its name."""
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    seconds = {}

    def listen(module, name, seconds_of):
        call = getattr(module, name)

        def noted(*given, **named):
            seconds.setdefault(name, []).append(seconds_of(given, named))
            return call(*given, **named)

        monkeypatch.setattr(module, name, noted)

    listen(searching, "decide", lambda given, named: named["seconds"])
    listen(searching.lbfgs_numpy, "store", lambda given, named: given[2].seconds)
    listen(storing, "obstructions", lambda given, named: given[2] if given[1:] else None)
    listen(storing, "conflict_in", lambda given, named: named["seconds"])
    return seconds


def test_a_verdict_may_take_what_is_left_and_reasons_and_a_conflict_their_shares(allowed):
    found = store(gather(*made(15, 4)), seconds=40)
    assert found.conflict and {*allowed["decide"]} == {40.0}
    assert allowed["obstructions"] == [None, 4.0] and allowed["conflict_in"] == [10.0]


@pytest.mark.parametrize("rivals_seconds, for_most", [(10.0, 20.0), (20.0, 14.0), (40.0, 0.001)])
def test_of_many_facts_each_search_has_its_share_of_the_time(
    rivals_seconds, for_most, allowed, any_number_is_large, monkeypatch
):
    """Of 40 seconds 16 for a search that stores all, then 20 for as many as possible, less if rivals take long."""
    monkeypatch.setattr(searching, "seconds_a_pass", lambda problem: 0.5)
    monkeypatch.setattr(searching, "seconds_of_rivals", lambda weights, gathered: rivals_seconds)
    most = []
    monkeypatch.setattr(searching, "store_most", lambda problem, memory, seconds, *more: most.append(seconds) or memory)
    store(gather(*made(15, 4)), seconds=40)
    assert allowed["store"][0] == 16.0 and most == [pytest.approx(for_most)]
    assert all(seconds <= 40 for seconds in allowed["store"])
