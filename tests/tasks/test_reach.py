"""The largest p that a solver stores, against proved capacities and a bisection that is known."""

import numpy as np
import pytest

from loadstone.problems.instance import Instance
from loadstone.streams.stream import Stream
from loadstone.tasks import reach
from loadstone.tasks.capacity import instance_capacity
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.reach import largest_stored
from tests.measurements.stand_ins import Associations, searched


@pytest.mark.parametrize(
    "kind, seed", [("original", 0), pytest.param("decoupled", 1, marks=pytest.mark.soak), ("groups:3", 0)]
)
def test_it_is_the_proved_capacity(kind, seed):
    """L-BFGS gets to the capacity itself at this size; it cannot get beyond, or the proof would be wrong."""
    stream = Stream(seed, 6)
    proved = instance_capacity(kind, stream, around=13)
    found = largest_stored(Instance(stream, 13, kind=kind))
    assert found.not_stored == found.stored + 1 and proved.p_c - 1 <= found.stored <= proved.p_c
    assert [one.stored for one in found.attempts] == [one.p <= found.stored for one in found.attempts]
    assert all((one.status == "stored") == one.stored and one.passes >= 1 for one in found.attempts)


def test_it_is_the_proved_capacity_with_given_answers_too():
    stream, asked = Stream(0, 5), {"answers": 4, "frequencies": "balanced"}
    proved = instance_capacity("decoupled", stream, around=20, **asked)
    found = largest_stored(Instance(stream, proved.p_c, kind="decoupled", **asked))
    assert proved.p_c - 1 <= found.stored <= proved.p_c


@pytest.mark.parametrize("kind", ["original", "decoupled", "groups:3"])
def test_facts_beyond_the_first_p_repeat_them(kind):
    stream = Stream(0, 5)
    problems = reach.SameShape(Instance(stream, 20, kind=kind, answers=4, frequencies="zipf:1"), None)
    for p in (18, 23, 30):
        arrays = problems.first(p).arrays()
        np.testing.assert_array_equal(arrays.targets[:p], stream.targets(p, 4, "zipf:1"))
        for part in (arrays.inputs, arrays.targets, arrays.outputs) if arrays.decoupled else (arrays.inputs,):
            np.testing.assert_array_equal(part[p:], part[: len(part) - p])


@pytest.mark.parametrize("limit", [3, 40, 97, 100, 103, 400])
@pytest.mark.parametrize("width", [0.005, 0.05])
def test_the_bracket_closes_on_a_known_limit(limit, width, monkeypatch):
    """With a search that stores up to a limit, from a guess far below, close to and far above it."""
    tried = []
    monkeypatch.setattr(reach.SameShape, "first", lambda self, p: Associations(p))
    ended = lambda p: "stored" if p <= limit else "minimum reached"  # noqa: E731
    monkeypatch.setattr(reach, "solve", lambda p, *rest: tried.append(p) or searched(ended(p)))
    found = largest_stored(Instance(Stream(0, 8), 100), searches=MultiStart(width=width))
    assert found.stored <= limit < found.not_stored
    assert found.not_stored - found.stored <= max(1, width * found.stored)
    assert tried == [one.p for one in found.attempts] and len(set(tried)) == len(tried) <= 20


def test_a_stream_that_cannot_even_hold_two(monkeypatch):
    monkeypatch.setattr(reach.SameShape, "first", lambda self, p: Associations(p))
    monkeypatch.setattr(reach, "solve", lambda p, *rest: searched("out of passes"))
    found = largest_stored(Instance(Stream(0, 8), 10))
    assert (found.stored, found.not_stored) == (1, 2)


def test_99_percent_of_fewer_than_100_are_all():
    stream, rates = Stream(0, 8, law="sphere"), {"optimiser": "adam:125", "passes": 2000}
    proved = instance_capacity("original", stream, around=22).p_c
    few = largest_stored(Instance(stream, 22), searches=MultiStart(enough="99%", digits="float32", **rates))
    assert proved - 1 <= few.stored <= proved
    assert {one.status for one in few.attempts if one.stored} == {"stop rule met"}


@pytest.mark.parametrize("enough, stored", [("exact", 1000), ("paper", 1001), ("99%", 1010)])
def test_some_may_be_missing_if_that_is_enough(enough, stored, monkeypatch):
    """Of p associations p - 1000 are missing. The largest p that a rule allows is found, whatever the search claims."""
    monkeypatch.setattr(reach.SameShape, "first", lambda self, p: Associations(p))
    ended = lambda p: searched("stop rule met", violations=max(0, p - 1000))  # noqa: E731
    monkeypatch.setattr(reach, "solve", lambda p, *rest: ended(p))
    found = largest_stored(Instance(Stream(0, 8), 990), searches=MultiStart(enough=enough, width=1e-4))
    assert (found.stored, found.not_stored) == (stored, stored + 1)


def test_facts_that_padding_repeats_count_as_often_as_in_the_search(monkeypatch):
    """One of 106 facts may be missing, but none of the 95 that are left without repetitions."""
    monkeypatch.setattr(reach.SameShape, "first", lambda self, p: Associations(p + 11))
    ended = lambda rows: "stop rule met" if rows <= 106 else "out of passes"  # noqa: E731
    monkeypatch.setattr(reach, "solve", lambda rows, *rest: searched(ended(rows), violations=1))
    found = largest_stored(Instance(Stream(0, 8), 95, answers=4), searches=MultiStart(enough="99%"))
    assert (found.stored, found.not_stored) == (95, 96)


def test_a_search_needs_a_rule_that_can_be_met():
    with pytest.raises(ValueError, match="enough is 'none', but must be one of paper, 99%, exact"):
        MultiStart(enough="none")
    with pytest.raises(ValueError, match="digits is 'int8', but must be one of auto"):
        MultiStart(digits="int8")


def test_two_associations_are_no_place_to_look_around():
    with pytest.raises(ValueError, match="p is 3, but must be a whole number of at least 4"):
        largest_stored(Instance(Stream(0, 6), 3))


def test_any_solver_can_search():
    """A memory of all entries is the full one, so with density 1 pruning stores what is proved; with fewer it stores
    less."""
    stream = Stream(0, 6)
    proved = instance_capacity("original", stream, around=13).p_c
    searches = [MultiStart(optimiser=f"pruning:{density},1") for density in (1.0, 0.5)]
    whole, half = (largest_stored(Instance(stream, 13), searches=one) for one in searches)
    assert proved - 1 <= whole.stored <= proved and half.stored < whole.stored
    assert MultiStart(optimiser="pruning:0.5,1").optimiser == "pruning:density=0.5,rounds=1" != MultiStart().optimiser
    with pytest.raises(ValueError, match="solver is 'prune', but must be one of"):
        MultiStart(optimiser="prune")


@pytest.mark.parametrize("kind, answers, platform, rows", [
    ("decoupled", None, "cpu", 24), ("decoupled", None, "gpu", 128), ("original", None, "gpu", 128),
    ("original", 5, "gpu", 24), ("decoupled", 5, "gpu", 24),
])  # fmt: skip
def test_on_a_gpu_arrays_have_whole_lines_unless_facts_would_be_repeated(kind, answers, platform, rows, monkeypatch):
    monkeypatch.setattr(reach.jax, "default_backend", lambda: platform)
    assert reach.SameShape(Instance(Stream(0, 6), 20, kind=kind, answers=answers), None).longer.inputs.shape[0] == rows
