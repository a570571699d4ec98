"""L-BFGS in NumPy: the same search as the compiled one, with the same ends, and nothing is compiled."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.memories.families import subspace_of
from loadstone.memories.full import Full
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.patterned import Symmetric
from loadstone.problems.facts import facts, facts_of
from loadstone.problems.original import original
from loadstone.solvers import loop, segments
from loadstone.solvers.coordinates import search_whitened
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.lbfgs_numpy import is_plain, store
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import NO_LIMITS, Limits
from loadstone.streams.stream import Stream

D = 12
ZERO = Full(jnp.zeros((D, D)))


def drawn(n, m=None, shares=None, seed=0):
    random = np.random.default_rng(seed)
    m = m or n
    return facts(
        random.standard_normal((n, D)), random.standard_normal((m, D)), targets=np.arange(n) % m, shares=shares
    )


def compiled(problem, memory=ZERO, *, stop="exact", limits=NO_LIMITS):
    """The same search as a compiled one."""
    options = SearchOptions(stop, limits, LBFGS().precisions())
    return search_whitened(partial(segments.search, LBFGS()), [problem], [memory], options)[0]


@pytest.mark.parametrize(
    "problem, memory",
    [
        (drawn(30), ZERO),
        (drawn(60, 8), ZERO),
        (drawn(60), ZERO),
        (drawn(40, shares=np.linspace(0.1, 1, 40)), ZERO),
        (drawn(16), Projected.made(jnp.zeros((D, D)), Symmetric())),
    ],
    ids=["few", "few answers", "too many", "shares", "a family"],
)
def test_it_is_the_compiled_search(problem, memory):
    """Pass by pass, until rounding has grown."""
    found, expected = (run(problem, memory, stop="none", limits=Limits(15)) for run in (solve, compiled))
    assert found.passes == expected.passes == 15 and found.status == expected.status == Status.OUT_OF_PASSES
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(found.accuracy, expected.accuracy, atol=1.5 / len(problem.targets))
    assert type(found.memory) is type(expected.memory) and found.problem == expected.problem


@pytest.mark.parametrize("family", ["full", "symmetric"])
def test_arrays_come_to_the_w_of_their_problem(family):
    """From a start that is not zero, in the same number of passes."""
    arrays, subspace = drawn(25, 9).arrays(), subspace_of(family, D)
    start = np.random.default_rng(1).standard_normal((D, D)).astype(np.float32)
    start = start if subspace is None else subspace.projected(start)
    memory = Full(jnp.asarray(start)) if subspace is None else Projected.made(jnp.asarray(start), subspace)
    found, expected = store(arrays, start, Limits(100), subspace), solve(facts_of(arrays), memory)
    assert found.status == expected.status == Status.STORED and found.passes == expected.passes > 1
    np.testing.assert_allclose(found.memory.matrix(), expected.memory.matrix(), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found.loss, expected.loss)
    np.testing.assert_array_equal(found.accuracy, expected.accuracy)


def test_nothing_is_compiled_for_facts_and_streams_have_their_programs():
    before = loop.advance_one._cache_size()
    assert solve(drawn(31), ZERO).status == Status.STORED
    assert loop.advance_one._cache_size() == before
    assert solve(original(Stream(0, D), 31)).status == Status.STORED
    assert loop.advance_one._cache_size() == before + 1


def test_each_end_is_reached():
    few, many = drawn(30), drawn(80)
    assert solve(few).status == Status.STORED == solve(few, stop="exact").status
    assert solve(few, stop="paper").status == Status.STOPPED
    assert solve(many, limits=Limits(3)).status == Status.OUT_OF_PASSES
    ended = solve(many, limits=Limits(10**6, 1e-9))
    assert ended.status == Status.OUT_OF_TIME and ended.passes == 1
    minimum, expected = solve(many), compiled(many)
    assert minimum.status == Status.MINIMUM == expected.status
    assert minimum.loss[-1] == pytest.approx(expected.loss[-1], rel=1e-4)
    nothing = solve(facts(np.ones((2, 3)), np.ones((2, 3))), Full(jnp.zeros((3, 3))))
    assert nothing.status == Status.MINIMUM and nothing.passes == 1
    huge = Full(jnp.full((D, D), 1e38))
    assert solve(many, huge, solver=LBFGS(whiten=False)).status == Status.DIVERGED


def test_where_float32_has_too_few_digits_the_search_goes_on_in_float64():
    """A minimum that is asked for beyond the digits of float32: there it cannot be seen."""
    problem, precise = drawn(60), LBFGS(tolerance=1e-12)
    single = solve(problem, ZERO, solver=precise, stop="none", limits=Limits(3000), precision="float32")
    assert single.status == Status.OUT_OF_DIGITS and single.memory.weights.dtype == np.float64  # mapped back in float64
    both = solve(problem, ZERO, solver=precise, stop="none", limits=Limits(3000))
    assert both.status == Status.MINIMUM and both.passes > single.passes
    assert both.loss[-1] <= single.loss[-1] * (1 + 1e-6)


def test_a_family_is_kept_and_progress_is_told():
    told, start = [], Projected.made(jnp.zeros((D, D)), Symmetric())
    found = solve(drawn(16), start, progress=lambda *said: told.append(said))
    assert found.status == Status.STORED
    np.testing.assert_array_equal(found.memory.matrix(), np.asarray(found.memory.matrix()).T)
    assert [passes for passes, _ in told] == list(range(1, found.passes + 1))
    assert told[-1][1].startswith("loss ") and told[-1][1].endswith(" accuracy 1.0000")


def test_few_products_or_few_answers_need_no_compilation():
    assert is_plain(1000, 1000, 100) and not is_plain(10**4, 10**4, 100)
    # Fewer passes are fewer products, more than a search takes are no more, and W may meet a few answers.
    assert is_plain(10**4, 10**4, 100, passes=1) and not is_plain(10**4, 10**4, 100, passes=10**9)
    assert is_plain(10**5, 50, 300) and not is_plain(10**5, 10**5, 300)
