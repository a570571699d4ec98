"""How full a book is: every number of facts is decided again by linear programs, and the control by hand."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from loadstone.books import further, largest, shuffled
from loadstone.books.book import Book
from loadstone.books.budget import BookBudget, budget_of, dimensions
from loadstone.books.further import FurtherFacts, fit_further
from loadstone.books.gathered import gather
from loadstone.books.largest import Fitting, largest_fitting
from loadstone.books.shuffled import WIDTH, Control, distinct_rows
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


def test_a_wide_answer_takes_fewer_verdicts_and_no_time_gives_none():
    row = row_of(60, 5)
    exact, wide = largest_fitting(row, 60, 3, soon()), largest_fitting(row, 60, 3, soon(), width=0.5)
    assert wide.is_within(0.5) and not wide.is_exact and wide.verdicts < exact.verdicts
    assert wide.fits <= exact.fits <= wide.most
    assert largest_fitting(row, 60, 3, soon(-1)) == Fitting(60, 0, None, 0)
    assert largest_fitting(row, 0, 3, soon()).is_exact


def test_undecided_numbers_are_left_between_two_proved_ones():
    row, asked = row_of(60, 5), []
    exact = largest_fitting(row, 60, 3, soon()).fits

    def instance(k):
        asked.append(k)
        return row(k)

    # A few Newton steps decide what is far from the largest number that fits, and not what is close to it.
    found = largest_fitting(instance, 60, exact, soon(), limits=ProofLimits(steps=3))
    assert found.fits <= exact <= found.most and 0 < found.fits and found.fails is not None and not found.is_exact
    assert len(asked) == len(set(asked)) == found.verdicts


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


def test_a_book_that_stores_nothing_and_one_that_is_not_proved():
    pairs, vectors = made(4, 6)
    book = remember(pairs, vectors)
    arrays = (book.subjects, book.answers, book.targets, book.inputs, book.outputs)
    empty = Book(np.zeros((6, 6)), *arrays, np.zeros(4, bool))
    found = empty.budget([("s0", "a0")], vectors)
    assert found.stored == 0 and found.law.load == 0 and found.shuffled is None and found.more.fitting.fits == 1
    inputs = book.inputs.copy()
    inputs[1] = inputs[0]
    wrong = Book(book.weights, *arrays[:3], inputs, book.outputs, np.ones(4, bool))
    found = wrong.budget([("s2", "a2")], vectors, shuffles=0)
    assert found.more.fitting.fits == 0 and not found.more.proved
    assert found.described()["more"]["proved"] is False


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


def test_everything_is_there_for_json():
    pairs, vectors = made(9, 5)
    found = budget_of(remember(pairs[:7], vectors), gather(pairs[7:], vectors)).described()
    assert found.keys() == {"facts", "stored", "law", "shuffled", "more", "seconds"}
    assert found["law"].keys() >= {"capacity", "load", "answers", "delta", "probability", "caveats", "is_bound"}
    assert found["shuffled"].keys() >= {"fits", "most", "shuffles", "structure_least", "structure_most", "more_may_fit"}
    assert found["more"].keys() >= {"count", "fits", "fails", "exact", "proved", "first_out", "known", "new_answers"}


def asked(monkeypatch, fits, count, guess, hard=0, **arguments):
    """What a search asks, and how many seconds each verdict may take: verdicts are given by hand."""
    found = []

    def decide(k, limits, start, seconds, family):
        found.append((k, start, seconds, limits, family))
        known = Outcome.STORABLE if k <= fits - hard else Outcome.NOT_STORABLE if k > fits + hard else None
        return SimpleNamespace(verdict=known or Outcome.UNDECIDED, last=f"of {k}")

    monkeypatch.setattr(largest, "decide", decide)
    largest_fitting(lambda k: k, count, guess, soon(30), **arguments)
    return found


@pytest.mark.parametrize("fits, count, guess, hard, order", [
    (50, 1000, 10, 0, [10, 12, 18, 38, 152, 95, 66, 52, 45, 48, 50, 51]),
    (50, 1000, 400, 0, [400, 333, 231, 111, 27, 69, 48, 58, 53, 50, 51]),
    (7, 9, 9.9, 0, [9, 7, 8]),
    (9, 9, 2, 0, [2, 3, 5, 9]),
    (0, 9, 9, 0, [9, 7, 4, 1]),
    (50, 1000, 50, 5, [50, 25, 100, 75, 37, 62, 43, 56, 46, 53, 44, 45, 54, 55]),
    (0, 60, 30, 5, [30, 25, 17, 8, 2, 1, 5, 6]),
    (3, 60, 3, 8, [3, 1, 32, 17, 10, 13, 11, 12]),
    (58, 60, 60, 3, [60, 30, 45, 52, 56, 54, 55]),
])  # fmt: skip
def test_in_which_order_numbers_are_asked(fits, count, guess, hard, order, monkeypatch):
    """From a guess by a factor of 1.2, of 1.44, of 2.07, and then of 4; between two ends the middle. Beside what is not
    decided, first both ends, and then what is farther from it."""
    assert [k for k, *_ in asked(monkeypatch, fits, count, guess, hard)] == order


def test_a_verdict_has_a_third_of_the_time_and_begins_with_the_last_that_was_decided(monkeypatch):
    limits = ProofLimits(steps=7)
    found = asked(monkeypatch, 20, 60, 10, hard=3, start="first", family="symmetric", limits=limits)
    decided = [k for k, *_ in found if not 17 < k <= 23]
    starts = ["first"] + [f"of {[one for one in decided if one in [k for k, *_ in found[:i]]][-1]}"
                          for i in range(1, len(found))]  # fmt: skip
    assert [start for _, start, *_ in found] == starts and len(decided) < len(found)
    assert all(seconds == pytest.approx(10, rel=0.05) for _, _, seconds, *_ in found)
    assert {(one[3], one[4]) for one in found} == {(limits, "symmetric")}


def test_a_search_ends_below_what_is_known_not_to_fit_and_once_it_is_close_enough(monkeypatch):
    assert [k for k, *_ in asked(monkeypatch, 20, 60, 1000, fails=21)] == [20]
    assert asked(monkeypatch, 0, 60, 5, fails=1) == []
    assert [k for k, *_ in asked(monkeypatch, 20, 60, 20, width=0.2)] == [20, 24]  # at most 3 more fit: 0.15 of 20
    assert [k for k, *_ in asked(monkeypatch, 20, 60, 20, width=0.14)] == [20, 24, 22]


def test_few_vectors_say_nothing_about_further_dimensions():
    points = np.random.default_rng(1).standard_normal((6, 20))
    assert dimensions(points, 20) == dimensions(points, 20, centred=True) == 20
    in_a_plane = points @ np.diag([1.0, 1.0, *[0.0] * 18])
    assert dimensions(in_a_plane, 20) == dimensions(in_a_plane, 20, centred=True) == 2
    assert dimensions(in_a_plane[:2], 20) == 20 and dimensions(in_a_plane[:3], 20, centred=True) == 20
    assert dimensions(in_a_plane[:3], 20) == 2 == dimensions(in_a_plane[:4], 20, centred=True)
    assert dimensions(np.ones((4, 3)), 3) == 3 == dimensions(np.ones((4, 3)), 3, centred=True)
    assert dimensions(np.outer([1.0, 2.0, 4.0], np.ones(3)), 3) == 1 == dimensions(in_a_plane, 1)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_four_times_the_rounding_is_real(kind):
    """Singular values: sqrt(n) = 8 along one axis, and a little more or less than the bound along another."""
    n, d = 64, 2
    for share in (0.99, 1.01):
        eps = np.finfo(kind).eps * (8 + np.sqrt(2)) + np.finfo("f8").eps * np.sqrt(n * d)
        bound = 4 * eps * np.sqrt(0.5)  # the mean square of all numbers is a half
        signs = np.where(np.arange(n) % 2, 1.0, -1.0)
        vectors = np.stack([np.ones(n), share * bound / 8 * signs], axis=1).astype(kind)
        assert dimensions(vectors, d) == (1 if share < 1 else 2)


class Heard:
    """In place of a search: what it is asked."""

    def __init__(self, monkeypatch, name, answer=None):
        self.heard, self.answer = [], answer
        monkeypatch.setattr(f"loadstone.books.budget.{name}", self)

    def __call__(self, *given):
        self.heard.append(given)
        return self.answer


@pytest.mark.parametrize("capacity, is_bound, room", [(50.0, False, 50.0), (50.0, True, 25.0), (None, False, 8.0)])
def test_where_searches_begin_and_when_they_end(capacity, is_bound, room, monkeypatch):
    """Below a mere bound, or below twice the dimension if the law is silent; further facts have 60 % of the time."""
    pairs, vectors = made(6, 8)
    book, more = remember(pairs[:5], vectors), gather(pairs[5:], vectors, least_answers=1)
    law = SimpleNamespace(capacity=capacity, is_bound=is_bound)
    fit, control = (Heard(monkeypatch, name) for name in ("fit_further", "shuffled_control"))
    asked_law = Heard(monkeypatch, "given_facts_law", law)
    told = []
    found = budget_of(book, more, 10.0, 2, lambda done, words: told.append(words))
    ((_, given, guess, deadline, family),), ((_, shuffles, start, control_deadline, _, _),) = fit.heard, control.heard
    assert given is more and (guess, family) == (max(1.0, room - 5), "full") and (shuffles, start) == (2, room)
    assert deadline.seconds == pytest.approx(6, abs=0.5) and control_deadline.seconds == 10
    assert (found.facts, found.stored, found.law) == (5, 5, law) and told == ["how many of 1 further facts fit"]
    ((counts, d, inputs, outputs, _),) = asked_law.heard
    assert (counts.tolist(), d, inputs, outputs) == ([1] * 5, 8, 8, 4)


def test_where_nothing_is_left_one_more_is_tried_first(monkeypatch):
    pairs, vectors = made(6, 8)
    fit = Heard(monkeypatch, "fit_further")
    Heard(monkeypatch, "given_facts_law", SimpleNamespace(capacity=5.5, is_bound=False))
    budget_of(remember(pairs[:5], vectors), gather(pairs[5:], vectors, least_answers=1), shuffles=0)
    assert fit.heard[0][2] == 1.0


def test_shuffles_are_told_and_the_next_begins_where_the_last_ended(monkeypatch):
    """Each is a permutation of facts and one of answers; none is begun when time is up, but for the first."""
    pairs, vectors = made(7, 8)
    book, guesses, told = remember(pairs, vectors), [], []

    def search(instance, count, guess, deadline, family, width):
        guesses.append((count, guess, family, width))
        return Fitting(count, [0, 3, 0, 2, 2][len(guesses) - 1], 4)

    monkeypatch.setattr(shuffled, "largest_fitting", search)
    found = shuffled.shuffled_control(book, 4, 9.0, soon(), "full", lambda *given: told.append(given))
    assert [guess for _, guess, *_ in guesses] == [9.0, 9.0, 3.0, 3.0] and len(found.shuffles) == 4
    assert {(one[0], one[2], one[3]) for one in guesses} == {(7, "full", 0.05)}
    assert told == [(done, f"shuffle {done + 1} of 4: how many of 7 facts fit") for done in range(4)]
    assert len(shuffled.shuffled_control(book, 4, 9.0, soon(-1), "full", silent).shuffles) == 1 and WIDTH == 0.05


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


def test_the_time_for_a_conflict_is_at_least_a_second_and_at_most_what_is_left(monkeypatch):
    pairs, vectors = made(30, 4, answers=12)
    book, more = remember(pairs[:6], vectors), gather(pairs[6:], vectors, least_answers=1)
    given = []
    monkeypatch.setattr(further, "conflict_in", lambda arrays, start, seconds, family: given.append(seconds))
    deadline, found = SimpleNamespace(), []

    def search(*_, **__):
        deadline.taken = known  # when the number is known
        return Fitting(24, 3, 4)

    monkeypatch.setattr(further, "largest_fitting", search)
    for known in (0.1, 4.0, 8.0):
        deadline.taken, deadline.left = 0.0, 9.0 - known
        found.append(fit_further(book, more, 5.0, deadline, "full"))
    assert given == [1.0, 4.0, 1.0] and found[0].conflict == () and not found[0].conflict_minimal
    assert found[0].first_out == more.name(3) and found[0].proved


def test_what_is_proved_of_further_facts():
    """If some fit, a W was found that stores them beside all others; if none does, it rests on the book's own W."""
    pairs, vectors = made(6, 8)
    book = remember(pairs[:5], vectors)
    none = book.budget([("s0", "a1")], shuffles=0).more
    assert none.fitting.fits == 0 and none.proved and set(none.conflict) == {"s0 -> a0", "s0 -> a1"}
    false = replace(book, weights=np.zeros((8, 8)))
    assert not false.budget([("s0", "a1")], shuffles=0).more.proved
    assert false.budget(pairs[5:], vectors, shuffles=0).more.proved
