"""The largest p that a solver stores, against proved capacities and a bisection that is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.problems.instance import Instance
from loadstone.streams.stream import Stream
from loadstone.tasks import reach
from loadstone.tasks.capacity import exact_capacity
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.reach import SameShape, bracket, largest_stored


@pytest.mark.parametrize("kind, seed", [
    ("original", 0), *(pytest.param(*other, marks=pytest.mark.soak) for other in (("decoupled", 1), ("groups:3", 0))),
])  # fmt: skip
def test_it_is_the_proved_capacity(kind, seed):
    """L-BFGS gets to the capacity itself at this size; it cannot get beyond, or the proof would be wrong."""
    instance = Instance(Stream(seed, 6), 13, kind=kind)
    proved, reached = exact_capacity(instance).p_c, largest_stored(instance)
    assert reached.not_stored == reached.stored + 1 and proved - 1 <= reached.stored <= proved
    assert [one.stored for one in reached.attempts] == [one.p <= reached.stored for one in reached.attempts]
    assert all((one.status == "stored") == one.stored and one.passes >= 1 for one in reached.attempts)


def test_it_is_the_proved_capacity_with_given_answers_too():
    instance = Instance(Stream(0, 5), 20, kind="decoupled", answers=4, frequencies="balanced")
    proved = exact_capacity(instance).p_c
    assert proved - 1 <= largest_stored(instance.first(proved)).stored <= proved


@pytest.mark.parametrize("kind", ["original", "decoupled", "groups:3"])
def test_facts_beyond_the_first_p_repeat_them(kind):
    stream = Stream(0, 5)
    problems = SameShape(Instance(stream, 20, kind=kind, answers=4, frequencies="zipf:1"), None)
    for p in (18, 23, 30):
        arrays = problems.first(p).arrays()
        np.testing.assert_array_equal(arrays.targets[:p], stream.targets(p, 4, "zipf:1"))
        for part in (arrays.inputs, arrays.targets, arrays.outputs) if arrays.decoupled else (arrays.inputs,):
            np.testing.assert_array_equal(part[p:], part[: len(part) - p])


@given(st.integers(1, 2000), st.integers(4, 1000), st.sampled_from([0.002, 0.005, 0.05]))
def test_a_bracket_closes_on_the_limit_with_few_questions(limit, around, width):
    asked = []
    stored, not_stored = bracket(lambda p: asked.append(p) or p <= limit, around, width)
    assert stored <= limit < not_stored and not_stored - stored <= max(1, width * stored)
    assert asked[0] == around and min(asked) >= 2 and len(set(asked)) == len(asked)
    # From 2 % of the guess to the limit by doubling, and back by halving.
    assert len(asked) <= 2 * np.log2(50 * max(limit, around) / min(limit + 1, around) + 2) + 16


@pytest.mark.parametrize("limit, around, width, order", [
    (110, 100, 0.005, [100, 102, 106, 114, 110, 112, 111]), (85, 100, 0.05, [100, 98, 94, 86, 70, 78, 82]),
    (1, 10, 0.005, [10, 9, 7, 3, 2]), (3, 4, 0.005, [4, 3]),
])  # fmt: skip
def test_records_of_the_same_stream_try_the_same_numbers(limit, around, width, order):
    """A record holds every attempt: from the guess by 2 % or one, then twice as far, then the middle."""
    asked = []
    bracket(lambda p: asked.append(p) or p <= limit, around, width)
    assert asked == order


class Associations(int):
    """A number of associations that stands for the problem that has so many."""

    @property
    def associations(self):
        return int(self)


def searched(status, memory=None, passes=1, violations=0):
    """A search that ended so, with a memory that does not store so many."""
    return SimpleNamespace(status=status, memory=memory, passes=passes, measured=SimpleNamespace(violations=violations))


def stand_in(monkeypatch, search, extra=0):
    """In place of problems their sizes, and of searches a function of size and memory."""
    monkeypatch.setattr(SameShape, "first", lambda self, p: Associations(p + extra))
    monkeypatch.setattr(reach, "solve", lambda p, memory, **options: search(p, memory))


@pytest.mark.parametrize("enough, stored", [("exact", 1000), ("paper", 1001), ("99%", 1010)])
def test_some_may_be_missing_if_that_is_enough(enough, stored, monkeypatch):
    """Of p associations p - 1000 are missing. The largest p that a rule allows is found, whatever the search claims."""
    stand_in(monkeypatch, lambda p, memory: searched("stop rule met", violations=max(0, p - 1000)))
    reached = largest_stored(Instance(Stream(0, 8), 990), searches=MultiStart(enough=enough, width=1e-4))
    assert (reached.stored, reached.not_stored) == (stored, stored + 1)


def test_facts_that_padding_repeats_count_as_often_as_in_the_search(monkeypatch):
    """One of 106 facts may be missing, but none of the 95 that are left without repetitions."""
    ended = lambda rows: "stop rule met" if rows <= 106 else "out of passes"  # noqa: E731
    stand_in(monkeypatch, lambda rows, memory: searched(ended(rows), violations=1), extra=11)
    reached = largest_stored(Instance(Stream(0, 8), 95, answers=4), searches=MultiStart(enough="99%"))
    assert (reached.stored, reached.not_stored) == (95, 96)


def test_without_a_search_that_stores_two_there_is_no_memory(monkeypatch):
    stand_in(monkeypatch, lambda p, memory: searched("out of passes", memory, passes=3))
    reached = largest_stored(Instance(Stream(0, 8), 10))
    assert (reached.stored, reached.not_stored, reached.memory) == (1, 2, None)
    assert {one.passes for one in reached.attempts} == {3}


def test_further_starts_go_on_upwards_by_the_width(monkeypatch):
    """The first start stores up to 400, the second up to 420; each has seeds of its own."""
    stand_in(monkeypatch, lambda p, seed: searched(
        "stored" if p <= (400 if seed == 5 else 420) else "out of passes", seed, passes=2))  # fmt: skip
    monkeypatch.setattr(reach, "initial_memory", lambda d, kappa, seed, family: np.float32(seed))
    reached = largest_stored(Instance(Stream(5, 8), 400), searches=MultiStart(starts=2, width=0.02))
    assert [(one.p, one.stored, one.passes, one.start) for one in reached.attempts] == [
        (400, True, 2, "start 1"), (408, False, 2, "start 1"), (408, True, 4, "start 2"), (416, True, 4, "start 2"),
        (424, False, 4, "start 2"),
    ]  # fmt: skip
    assert (reached.stored, reached.not_stored) == (416, 424) and reached.memory == np.float32(5 + 2**32)


def test_growing_begins_with_the_memory_that_stored_most(monkeypatch):
    """With searches that store up to 20 from scratch, and one more than the memory that they begin with."""

    def search(p, memory):
        is_grown = memory >= p - 1  # from the largest p before this one
        return searched("stored" if p <= 20 or (is_grown and p <= 24) else "out of passes", np.float64(p))

    stand_in(monkeypatch, search)
    monkeypatch.setattr(reach, "initial_memory", lambda d, kappa, seed, family: np.float32(0))
    reached = largest_stored(Instance(Stream(0, 8), 17), searches=MultiStart(grown=True))
    assert (reached.stored, reached.not_stored) == (24, 25)
    assert [one.start for one in reached.attempts if one.p > 20][-5:] == ["grown"] * 5
    assert largest_stored(Instance(Stream(0, 8), 17)).stored == 20


def test_99_percent_of_fewer_than_100_are_all():
    instance, rates = Instance(Stream(0, 8, law="sphere"), 22), {"optimiser": "adam:125", "passes": 2000}
    proved = exact_capacity(instance).p_c
    few = largest_stored(instance, searches=MultiStart(enough="99%", digits="float32", **rates))
    assert proved - 1 <= few.stored <= proved
    assert {one.status for one in few.attempts if one.stored} == {"stop rule met"}


def test_any_solver_can_search():
    """A memory of all entries is the full one, so with density 1 pruning stores what is proved; with fewer it stores
    less."""
    instance = Instance(Stream(0, 6), 13)
    proved = exact_capacity(instance).p_c
    searches = [MultiStart(optimiser=f"pruning:{density},1") for density in (1.0, 0.5)]
    whole, half = (largest_stored(instance, searches=one) for one in searches)
    assert proved - 1 <= whole.stored <= proved and half.stored < whole.stored


def test_two_associations_are_no_place_to_look_around():
    with pytest.raises(ValueError, match="p is 3, but must be a whole number of at least 4"):
        largest_stored(Instance(Stream(0, 6), 3))


@pytest.mark.parametrize("kind, answers, platform, rows", [
    ("decoupled", None, "cpu", 24), ("decoupled", None, "gpu", 128), ("original", None, "gpu", 128),
    ("original", 5, "gpu", 24), ("decoupled", 5, "gpu", 24),
])  # fmt: skip
def test_on_a_gpu_arrays_have_whole_lines_unless_facts_would_be_repeated(kind, answers, platform, rows, monkeypatch):
    monkeypatch.setattr(reach.jax, "default_backend", lambda: platform)
    assert SameShape(Instance(Stream(0, 6), 20, kind=kind, answers=answers), None).longer.inputs.shape[0] == rows


@pytest.mark.parametrize("p, room", [(20, 0.15), (1000, 0.15), (1001, 0.02), (6400, 0.02)])
def test_one_shape_serves_the_first_steps_of_a_bisection(p, room):
    problems = SameShape(Instance(Stream(0, 3), p), None)
    shapes = {problems.first(size).inputs.shape for size in (p, int((1 - room) * p), int((1 + room) * p))}
    assert len(shapes) == 1 and shapes.pop()[0] < (1 + room) * p + 129
    assert problems.first(2 * p).inputs.shape[0] >= 2 * p
