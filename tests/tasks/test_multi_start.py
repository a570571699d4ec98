"""Everything that is tried to store more at low rank: in which order, from which memories, and what comes of it."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone.memories.families import initial_memory
from loadstone.memories.low_rank import LowRank
from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.solvers.alternating import Alternating
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import NO_LIMITS
from loadstone.streams.stream import Stream
from loadstone.tasks.capacity import exact_capacity
from loadstone.tasks.multi_start import MultiStart, truncated
from loadstone.tasks.reach import largest_stored
from loadstone.theory.margin import margin_capacity

ALL = MultiStart(starts=3, truncated=True, grown=True, alternating=True)
ONE = MultiStart(passes=150)
MOST = MultiStart(starts=2, grown=True, alternating=True, passes=150)
GROWN = MultiStart(grown=True, passes=150)


@pytest.fixture(scope="module")
def found():
    """The largest p stored at d = 6 for ranks 2 and 6, with one start and with more; and what is proved."""
    stream = Stream(0, 6)
    stored = {
        (m, searches): largest_stored(Instance(stream, 13), m / 6, family="low rank", searches=searches)
        for m, searches in ((2, ONE), (2, MOST), (6, GROWN))
    }
    return stored, exact_capacity(Instance(stream, 13)).p_c


def test_no_rank_stores_more_than_is_proved_and_full_rank_stores_just_that(found):
    stored, proved = found
    assert stored[2, MOST].stored < proved == stored[6, GROWN].stored


def test_more_searches_store_more(found):
    stored, _ = found
    assert stored[2, ONE].stored < stored[2, MOST].stored


def test_the_last_attempt_has_tried_everything(found):
    reached = found[0][2, MOST]
    assert reached.not_stored == reached.stored + 1
    assert max(one.p for one in reached.attempts if one.stored) == reached.stored
    last = reached.attempts[-1]
    assert (last.p, last.stored, last.start) == (reached.not_stored, False, "alternating")
    assert last.passes > 150  # of all searches together


def test_the_order_of_the_starts_and_their_memories():
    problem, best = original(Stream(0, 6), 10), initial_memory(6, 0.5, seed=99)
    initial = lambda number: initial_memory(6, 0.5, seed=number)  # noqa: E731
    found = list(ALL.all_starts(problem, initial, NO_LIMITS, best))
    names = ["start 1", "grown", "start 2", "start 3", "truncated", "alternating, grown", "alternating"]
    assert [one.name for one in found] == names and len(names) + 1 == ALL.searches  # and the full rank of 'truncated'
    for index, memory in ((0, initial(0)), (1, best), (2, initial(1)), (3, initial(2)), (5, best), (6, initial(0))):
        np.testing.assert_array_equal(found[index].memory.left, memory.left)
    assert [isinstance(one.solver, Alternating) for one in found] == [False] * 5 + [True] * 2
    assert [one.name for one in MultiStart().all_starts(problem, initial, NO_LIMITS, best)] == ["start 1"]
    alone = [one.name for one in ALL.all_starts(problem, initial, NO_LIMITS)]
    assert alone == [name for name in names if "grown" not in name]


def test_truncation_keeps_the_largest_singular_values():
    problem = original(Stream(0, 6), 10)
    full = np.asarray(solve(problem).memory.weights, float)
    left, sizes, right = np.linalg.svd(full)
    sizes[2:] = 0
    cut = truncated(problem, 2, NO_LIMITS)
    assert isinstance(cut, LowRank) and cut.rank == 2 and cut.left.dtype == np.float32
    np.testing.assert_allclose(np.asarray(cut.matrix()), left * sizes @ right, atol=2e-5 * sizes[0])
    np.testing.assert_allclose(np.linalg.norm(cut.left), np.linalg.norm(cut.right), rtol=1e-5)


@pytest.mark.parametrize("bad", [{"starts": 0}, {"starts": 1.5}, {"truncated": 1}, {"grown": "no"}, {"alternating": 2},
                                 {"patient": "no"}, {"width": 0.0}, {"width": "wide"}, {"passes": 0}, {"passes": 1.5},
                                 {"rivals": 0}, {"enough": "none"}, {"digits": "int8"},
                                 {"optimiser": "prune"}])  # fmt: skip
def test_bad_parameters(bad):
    name = next(iter(bad)).replace("optimiser", "solver")
    with pytest.raises(ValueError, match=f"{name} is .* but must be"):
        MultiStart(**bad)


@pytest.mark.parametrize("name", ["truncated", "alternating"])
def test_a_full_memory_has_no_factors(name):
    with pytest.raises(ValueError, match=f"{name} is True, but must be False for Full, because only LowRank has two"):
        largest_stored(Instance(Stream(0, 6), 12), searches=MultiStart(**{name: True}))


@pytest.mark.parametrize("kappa, around", [(1.0, 87), (0.5, 82)])
def test_a_hopeless_search_is_given_up_and_nothing_else_changes(kappa, around):
    """The same p are stored as in searches that go on to the minimum, after fewer passes. A difference of one
    association would be seen."""
    stream, searches = Stream(2, 20), MultiStart(width=1e-3)
    early = largest_stored(Instance(stream, around), kappa, searches=searches)
    late = largest_stored(Instance(stream, around), kappa, searches=replace(searches, patient=True))
    assert [(one.p, one.stored) for one in early.attempts] == [(one.p, one.stored) for one in late.attempts]
    assert early.stored == late.stored == early.not_stored - 1
    pairs = [(one, other) for one, other in zip(early.attempts, late.attempts) if not one.stored]
    assert len(pairs) > 1 and all(one.status == Status.MINIMUM for one, _ in pairs)
    assert all(one.passes < other.passes for one, other in pairs)


@pytest.mark.parametrize("searches, kappa, margin", [
    (MultiStart(), 1.0, 0.001), (MultiStart(starts=5), 1.0, 0.001),
    (MultiStart(optimiser="lbfgs:margin=0.01"), 1.0, 0.01),
    (MultiStart(enough="99%"), 1.0, 0.0), (MultiStart(rivals=2), 1.0, 0.0),
    (MultiStart(), 0.5, 0.02), (MultiStart(passes=400), 0.5, 0.05),
    (MultiStart(optimiser="lbfgs:margin=0.01"), 0.5, 0.01),
    (MultiStart(), 0.45, 0.0), (MultiStart(enough="99%"), 0.5, 0.0), (MultiStart(rivals=2), 0.5, 0.0),
    (MultiStart(patient=True), 1.0, 0.0), (MultiStart(patient=True), 0.5, 0.0),
    (MultiStart(starts=5), 0.5, 0.0), (MultiStart(starts=5, grown=True).one_start, 0.5, 0.02),
])  # fmt: skip
def test_which_searches_are_given_up(searches, kappa, margin):
    """Only where margins say that not everything can be stored: not where fewer facts are enough, or where a target
    need not beat every rival. Of two factors, those with ten columns, unless something else is tried as well."""
    assert searches.solver_from(initial_memory(20, kappa, seed=0)) == LBFGS(margin=margin)


@pytest.mark.parametrize("answers, lost", [(None, 6e-4), (2, 1.2e-3), (3, 1.2e-3), (100, 8e-4)])
def test_what_is_lost_by_giving_up_is_far_less_than_the_usual_width(answers, lost):
    without, with_margin = (margin_capacity(400.0, answers, margin=margin) for margin in (0.0, 0.001))
    assert 0 < 1 - with_margin / without < lost < MultiStart().width / 4


def test_how_many_searches_there_are_at_most():
    more = [{}, {"starts": 3}, {"grown": True}, {"truncated": True}, {"alternating": True}]
    assert [MultiStart(**one).searches for one in more] == [1, 3, 2, 3, 3]
