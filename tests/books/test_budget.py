"""How full a book is: every number of facts is decided again by linear programs, and the control by hand."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from loadstone.books import largest
from loadstone.books.book import Book
from loadstone.books.budget import BookBudget, budget_of, dimensions
from loadstone.books.further import FurtherFacts
from loadstone.books.gathered import gather
from loadstone.books.largest import Fitting, largest_fitting
from loadstone.books.shuffled import WIDTH, Control, alike, distinct_rows, shuffled_control
from loadstone.books.storing import remember
from loadstone.deadline import Deadline
from loadstone.problems.arrays import Arrays
from loadstone.progress import silent
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import ProofLimits
from loadstone.theory.given_facts import given_facts_law


def is_storable(arrays):
    """Whether some W has all margins at least 1, by HiGHS."""
    rows = [
        np.outer(arrays.outputs[rival] - arrays.outputs[target], e).ravel()
        for e, target in zip(arrays.inputs.astype(float), arrays.targets)
        for rival in range(len(arrays.outputs))
        if rival != target
    ]
    found = linprog(np.zeros(len(rows[0])), np.array(rows), -np.ones(len(rows)), bounds=(None, None), method="highs")
    assert found.status in (0, 2)
    return found.status == 0


def brute_force(instance, count):
    """The largest k that is storable; every k is tried, to see that none is storable above it."""
    verdicts = [is_storable(instance(k)) for k in range(1, count + 1)]
    assert verdicts == sorted(verdicts, reverse=True)
    return sum(verdicts)


def made(n, d, answers=None, seed=0):
    random = np.random.default_rng(seed)
    vectors = {f"s{i}": random.standard_normal(d) for i in range(n)}
    vectors |= {f"a{i}": random.standard_normal(d) for i in range(answers or n)}
    return [(f"s{i}", f"a{i % (answers or n)}") for i in range(n)], vectors


def soon(seconds=30.0):
    return Deadline(seconds)


def row_of(n=16, d=4, answers=6, seed=0):
    random = np.random.default_rng(seed)
    whole = Arrays(
        random.standard_normal((n, d)), random.standard_normal((answers, d)), random.integers(answers, size=n)
    )
    return first_of(whole)


def first_of(whole):
    return lambda k: Arrays(whole.inputs[:k], whole.outputs, whole.targets[:k])


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_fitting_number_is_found_from_any_guess(seed):
    row = row_of(seed=seed)
    expected = brute_force(row, 16)
    for guess in (0, 5, 9, 1e9):
        found = largest_fitting(row, 16, guess, soon())
        assert found.is_exact and found.fits == expected, guess
        assert found.fails == (None if expected == 16 else expected + 1)
        assert found.verdicts <= 9
    known = largest_fitting(row, 16, 1e9, soon(), fails=expected + 1)
    assert (known.fits, known.verdicts) == (expected, 1)


def test_a_verdict_begins_with_the_last_that_was_decided(monkeypatch):
    limits, found = ProofLimits(steps=7), []

    def decide(k, limits, start, seconds, family):
        found.append((start, limits, family))
        assert 0 < seconds <= 10  # a third of the time that is left
        known = Outcome.STORABLE if k <= 17 else Outcome.NOT_STORABLE if k > 23 else Outcome.UNDECIDED
        return SimpleNamespace(verdict=known, last="astray" if known == Outcome.UNDECIDED else f"of {k}")

    monkeypatch.setattr(largest, "decide", decide)
    largest_fitting(lambda k: k, 60, 10, soon(30), start="first", family="symmetric", limits=limits)
    starts = [start for start, *_ in found]
    assert starts[:2] == ["first", "of 10"] and "astray" not in starts
    assert {given[1:] for given in found} == {(limits, "symmetric")}


def test_a_wide_answer_takes_fewer_verdicts_and_no_time_gives_none():
    row = row_of(60, 5)
    exact, wide = largest_fitting(row, 60, 3, soon()), largest_fitting(row, 60, 3, soon(), width=0.5)
    assert wide.is_within(0.5) and not wide.is_exact and wide.verdicts < exact.verdicts
    assert wide.fits <= exact.fits <= wide.most
    assert largest_fitting(row, 60, 3, soon(-1)) == Fitting(60, 0, None, 0)
    assert largest_fitting(row, 0, 3, soon()).is_exact


@pytest.mark.parametrize("hard", [0, 1, 3, 8])
def test_a_search_asks_nothing_twice_and_ends_beside_what_is_hard_to_decide(hard, monkeypatch):
    """Verdicts are given by hand: undecided within `hard` of the largest number that fits."""
    for count, guess in ((1, 1), (2, 9), (7, 1), (60, 1), (60, 10), (60, 100)):
        for fits in range(count + 1):
            asked, known = [], [0, count + 1]

            def decide(k, *_, asked=asked, known=known, fits=fits, **__):
                assert known[0] < k < known[1] and k not in asked
                asked.append(k)
                if k <= fits - hard:
                    known[0] = k
                elif k > fits + hard:
                    known[1] = k
                outcomes = {known[0]: Outcome.STORABLE, known[1]: Outcome.NOT_STORABLE}
                return SimpleNamespace(verdict=outcomes.get(k, Outcome.UNDECIDED), last=None)

            monkeypatch.setattr(largest, "decide", decide)
            found = largest_fitting(lambda k: k, count, guess, soon())
            assert (found.fits, found.fails or count + 1, found.verdicts) == (*known, len(asked)) and len(asked) <= 16
            near = 0 if hard == 0 else 4
            assert fits - hard - found.fits <= near and known[1] - min(fits + hard, count) - 1 <= near
            assert found.is_exact or hard


@pytest.mark.parametrize("count, guess", [(13, 10), (10**6, 10), (10**6, 6)])
def test_the_bounds_of_what_is_hard_to_decide_are_found_close_to_it(count, guess, monkeypatch):
    """From 8 to 12 no verdict: 7 fit and 13 do not, even if there are no more, and nothing much larger is asked."""
    asked = []

    def decide(k, *_, **__):
        asked.append(k)
        known = Outcome.STORABLE if k <= 7 else Outcome.NOT_STORABLE if k >= 13 else Outcome.UNDECIDED
        return SimpleNamespace(verdict=known, last=None)

    monkeypatch.setattr(largest, "decide", decide)
    found = largest_fitting(lambda k: k, count, guess, soon())
    assert (found.fits, found.fails) == (7, 13) and max(asked) <= 20


@pytest.mark.parametrize("answers", [5, 14])
def test_the_shuffled_control_against_brute_force(answers):
    pairs, vectors = made(14, 4, answers)
    book = remember(pairs, vectors)
    found = budget_of(book, seconds=30, shuffles=2).shuffled
    rows = np.flatnonzero(book.stored)
    assert found.facts == len(rows) and len(found.shuffles) == 2
    for seed, one in enumerate(found.shuffles):
        random = np.random.default_rng(seed)
        order, targets = random.permutation(rows), random.permutation(book.targets[rows])
        assert sorted(targets) == sorted(book.targets[rows])
        expected = brute_force(first_of(Arrays(book.inputs[order], book.outputs, targets)), len(rows))
        assert one.is_exact and one.fits == expected


def test_shuffles_are_told_and_none_is_begun_when_time_is_up_but_for_the_first():
    pairs, vectors = made(7, 8)
    book, told = remember(pairs, vectors), []
    budget_of(book, gather(pairs[:1], vectors, least_answers=1), shuffles=2, progress=lambda *said: told.append(said))
    words = ["how many of 1 further facts fit", *(f"shuffle {k} of 2: how many of 7 facts fit" for k in (1, 2))]
    assert told == list(zip((0, 0, 1), words))
    assert len(shuffled_control(book, 4, 9.0, soon(-1), "full", silent).shuffles) == 1


def test_structure_is_the_ratio_to_the_control_with_its_bounds():
    both = Control(60, (Fitting(60, 20, 21), Fitting(60, 30, 31), Fitting(60, 3, None)))
    assert both.counted == both.shuffles[:2] and (both.fits, both.most) == (25, 25)
    assert both.structure == (60 / 25, 60 / 25)
    assert Control(60, (Fitting(60, 60),)).structure == (None, 1.0)
    open_one = Control(60, (Fitting(60, 10, 41), Fitting(60, 0)))
    assert open_one.counted == open_one.shuffles[:1] and open_one.structure == (60 / 40, 6.0)
    assert Control(60, (Fitting(60, 0),)).structure == (None, None)
    assert Fitting(60, 20, 22).is_within(WIDTH) and not Fitting(60, 20, 23).is_within(WIDTH)


def test_facts_with_structure_fit_in_larger_number_than_shuffled():
    random = np.random.default_rng(3)
    centres, targets = random.standard_normal((4, 6)), np.arange(80) % 4
    vectors = {f"s{i}": centres[t] + 0.3 * random.standard_normal(6) for i, t in enumerate(targets)}
    vectors |= {f"a{t}": random.standard_normal(6) for t in range(4)}
    found = remember([(f"s{i}", f"a{t}") for i, t in enumerate(targets)], vectors).budget(shuffles=3)
    assert found.stored == 80 and found.shuffled.structure[0] > 2
    # 4 answers show 3 directions; the law is about such shuffled facts.
    assert found.law.delta == 18 and found.shuffled.fits == pytest.approx(found.law.capacity, rel=0.35)
    assert found.law.load == pytest.approx(80 / found.law.capacity)


def test_the_control_has_stored_facts_with_subjects_of_different_direction():
    pairs, vectors = made(8, 12)
    vectors |= {"twin": 3 * vectors["s2"], "s7": vectors["s1"]}
    book = remember([*pairs, ("twin", "a2")], vectors)
    assert book.stored.sum() == 8 and {1, 7} - set(np.flatnonzero(book.stored)) != set()
    names = [book.subjects[row] for row in distinct_rows(book)]
    assert len(names) == 7 and not {"s2", "twin"} <= set(names)
    found = book.budget()
    assert found.shuffled.facts == 7 and found.shuffled.structure == (None, 1.0)


def test_directions_that_differ_by_rounding_count_as_one():
    turned = np.array([[np.cos(t), np.sin(t)] for t in (0.3, 0.3 + 9e-7, 0.3 + 3e-6, 1.3, 0.3 - 9e-7, 1.3, 0.3)])
    groups = alike(turned)
    assert [5, 3] not in groups and [3, 5] in groups
    (group,) = [one for one in groups if 0 in one]
    assert {0, 6} <= set(group) and 2 not in group and alike(turned[:1]) == [] and alike(turned[[0, 2, 3]]) == []
    # All are found, however many lie between two of them along the axis by which they are sorted.
    random = np.random.default_rng(1).standard_normal((60, 5))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    assert sorted(alike(np.concatenate([random, random[::-1]]))) == [[row, 119 - row] for row in range(60)]


@pytest.mark.parametrize("scale", [1e155, 1e-163])
def test_directions_and_dimensions_are_those_of_vectors_of_usual_size(scale):
    random = np.random.default_rng(1).standard_normal((9, 3)) @ np.eye(3, 5)
    rows = np.concatenate([random, 2 * random[:2]])
    assert sorted(alike(scale * rows)) == sorted(alike(rows)) == [[0, 9], [1, 10]]
    assert dimensions(scale * rows, 5) == dimensions(rows, 5) == 3


def test_more_facts_against_brute_force():
    pairs, vectors = made(30, 5, answers=22)
    book = remember(pairs[:8], vectors)
    assert book.stored.all()
    more = pairs[8:] + [("s0", "a0")]
    expected = 0
    for k in range(1, len(more) + 1):
        present = pairs[:8] + more[:k]
        answers = list(dict.fromkeys(answer for _, answer in present))
        inputs, outputs = (np.stack([vectors[name] for name in names]) for names in ([s for s, _ in present], answers))
        if not is_storable(Arrays(inputs, outputs, np.array([answers.index(answer) for _, answer in present]))):
            break
        expected = k
    found = book.budget(more, vectors, shuffles=0).more
    assert 0 < expected < len(more) and found.fitting.is_exact and found.proved
    assert found.fitting.fits == expected and found.first_out == " -> ".join(more[expected])
    assert found.known == 1 and found.new_answers == 14
    assert budget_of(book, shuffles=0).more is None and budget_of(book, shuffles=0).shuffled is None


def test_a_new_answer_competes_for_old_facts_too():
    # 'high' lies between 'low' and 'new', so with 'new' as a rival it can never win.
    vectors = {"up": [1.0, 0], "down": [-1.0, 0], "low": [-1.0, 0], "high": [1.0, 0], "new": [2.0, 0]}
    vectors |= {"side": [0, 1.0], "edge": [0, -1.0]}
    book = remember([("up", "high"), ("down", "low")], vectors)
    assert book.stored.all()
    found = book.budget([("side", "low"), ("edge", "new")], vectors, shuffles=0).more
    assert (found.fitting.fits, found.fitting.fails, found.new_answers) == (1, 2, 1)
    assert found.first_out == "edge -> new" and found.conflict == ("up -> high",) and found.conflict_minimal


def test_a_further_fact_is_known_only_if_subject_and_answer_are_the_same():
    """In words the two facts cannot be told apart."""
    vectors = dict(zip(("a", "b -> c", "d", "c", "a -> b"), np.eye(5)))
    book = remember([("a", "b -> c"), ("d", "c")], vectors)
    assert book.budget([("a -> b", "c")], vectors, shuffles=0).more.known == 0
    assert book.budget([("d", "c")], vectors, shuffles=0).more.known == 1


def test_further_facts_among_known_words_need_no_vectors():
    pairs, vectors = made(6, 8)
    book = remember(pairs, vectors)
    found = book.budget([("a1", "s3"), ("s0", "a1"), ("S5", "a5")], shuffles=0).more
    assert found.first_out == "s0 -> a1" and found.fitting.fits == 1 and found.new_answers == 1
    assert set(found.conflict) == {"s0 -> a0", "s0 -> a1"}
    # The same answer under two names ties with itself, from the first fact on that has the second name.
    twins = {"a0 too": book.outputs[0], **book.vectors()}
    found = book.budget([("s1", "a1"), ("a1", "s3"), ("s2", "a0 too"), ("s5", "a5")], twins, shuffles=0).more
    assert found.fitting == Fitting(4, 2, 3, found.fitting.verdicts) and found.first_out == "s2 -> a0 too"
    assert found.conflict in (("s0 -> a0",), ("s2 -> a0 too",))
    one = book.budget([("s1", "a1")], shuffles=0).more
    assert one.fitting.fits == one.known == 1 and one.first_out is None and one.fitting.is_exact
    with pytest.raises(ValueError, match="none of the 1 facts has vectors"):
        book.budget([("nobody", "a1")])


def test_a_subject_of_the_book_has_the_vector_of_the_book():
    """The file has more digits of it than the book. A second answer for it is a contradiction all the same."""
    pairs, vectors = made(6, 5)
    book = remember(pairs, {name: vector.astype(np.float32) for name, vector in vectors.items()})
    found = book.budget([("s0", "a1")], vectors, shuffles=0).more
    assert found.fitting.is_exact and found.fitting.fits == 0 and found.fitting.verdicts <= 1
    assert found.conflict == ("s0 -> a0", "s0 -> a1")


def test_other_vectors_than_those_of_the_book_are_refused():
    pairs, vectors = made(6, 8)
    book = remember(pairs, vectors)
    # Rounding in float32 is none, even of a number that is small beside the others.
    rounded = vectors["a1"] + np.where(np.arange(8) == np.abs(vectors["a1"]).argmin(), 6e-7, 0)
    assert book.budget([("s1", "a1")], {"s1": vectors["s1"], "a1": rounded}, shuffles=0).more.known == 1
    with pytest.raises(ValueError, match="'a1' has another vector in the book"):
        book.budget([("new", "a1")], {"new": np.ones(8), "a1": np.ones(8)})
    with pytest.raises(ValueError, match="have 3 numbers, but those of the book 8"):
        book.budget([("new", "a1")], {"new": np.ones(3), "a1": np.ones(3)})
    for arguments, sentence in [({"seconds": 0}, "seconds is 0"), ({"shuffles": -1}, "shuffles is -1")]:
        with pytest.raises(ValueError, match=sentence):
            book.budget(**arguments)


def test_a_book_that_stores_nothing():
    pairs, vectors = made(4, 6)
    book = remember(pairs, vectors)
    arrays = (book.subjects, book.answers, book.targets, book.inputs, book.outputs)
    empty = Book(np.zeros((6, 6)), *arrays, np.zeros(4, bool))
    found = empty.budget([("s0", "a0")], vectors)
    assert found.stored == 0 and found.law.load == 0 and found.shuffled is None and found.more.fitting.fits == 1


def test_when_time_is_up_the_bounds_hold():
    pairs, vectors = made(60, 12)
    book = remember(pairs[:30], vectors, seconds=20)
    began = time.perf_counter()
    found = book.budget(pairs[30:], vectors, seconds=1e-3)
    assert time.perf_counter() - began < 10
    exact = book.budget(pairs[30:], vectors, seconds=60, shuffles=0).more.fitting
    assert exact.is_exact and found.more.fitting.fits <= exact.fits <= found.more.fitting.most


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_dimensions_are_counted_beyond_rounding(kind):
    random = np.random.default_rng(0)
    thin = (random.standard_normal((200, 7)) @ random.standard_normal((7, 30))).astype(kind)
    assert dimensions(thin, 30) == 7 and dimensions(1e-3 * thin + 5, 30, centred=True) == 7
    weak = random.standard_normal((200, 30)) * np.logspace(0, -4, 30)
    assert dimensions(weak.astype(kind), 30) == 30
    # Few vectors span few directions, which says nothing about the next one.
    assert dimensions(weak[:9].astype(kind), 30) == 30 and dimensions(weak[:9].astype(kind), 8, centred=True) == 8
    assert dimensions(np.repeat(weak[:9], 5, axis=0).astype(kind), 30) == 30


def test_what_is_said_of_a_control_and_of_further_facts():
    control = Control(60, (Fitting(60, 20, 21, 4), Fitting(60, 30, None, 5)))
    more = FurtherFacts(Fitting(9, 4, 5, 3), "a -> b", ("c -> d",), True, 1, 2, True)
    found = BookBudget(61, 60, SimpleNamespace(), control, more, 1.5)
    budget_law = given_facts_law(np.array([2, 3]), 4, 4, 1)
    said = replace(found, law=budget_law).described()
    assert (said["facts"], said["stored"], said["seconds"]) == (61, 60, 1.5)
    one = {"count": 60, "fits": 20, "fails": 21, "verdicts": 4, "most": 20, "all_fit": False, "exact": True}
    assert said["shuffled"] == {
        "facts": 60, "fits": 20.0, "most": 20.0, "decided": True, "structure_least": 3.0, "structure_most": 3.0,
        "more_may_fit": False,
        "shuffles": [one, {"count": 60, "fits": 30, "fails": None, "verdicts": 5, "most": 60, "all_fit": False,
                           "exact": False}],
    }  # fmt: skip
    assert said["more"] == {
        "count": 9, "fits": 4, "fails": 5, "verdicts": 3, "most": 4, "all_fit": False, "exact": True, "known": 1,
        "first_out": "a -> b", "new_answers": 2, "conflict": ["c -> d"], "conflict_minimal": True, "proved": True,
    }  # fmt: skip
    open_one = replace(found, law=budget_law, stored=61, more=replace(more, fitting=Fitting(9, 4, 6)), shuffled=None)
    assert open_one.described()["more"]["proved"] is False and open_one.described()["shuffled"] is None
    assert replace(found, law=budget_law, stored=61).described()["shuffled"]["more_may_fit"]
    assert not Control(60, (Fitting(60, 10, 41),)).is_decided


def test_what_is_proved_of_further_facts():
    """If some fit, a W was found that stores them beside all others; if none does, it rests on the book's own W."""
    pairs, vectors = made(6, 8)
    book = remember(pairs[:5], vectors)
    none = book.budget([("s0", "a1")], shuffles=0).more
    assert none.fitting.fits == 0 and none.proved and set(none.conflict) == {"s0 -> a0", "s0 -> a1"}
    false = replace(book, weights=np.zeros((8, 8)))
    unproved = false.budget([("s0", "a1")], shuffles=0)
    assert not unproved.more.proved and unproved.described()["more"]["proved"] is False
    assert false.budget(pairs[5:], vectors, shuffles=0).more.proved
