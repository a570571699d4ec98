"""As many facts as possible: more than the minimum of the loss recalls, never beyond what a proof allows, in time."""

import time

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.memories.full import Full
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.patterned import Symmetric
from loadstone.problems.facts import facts
from loadstone.problems.numpy_pass import margins_of
from loadstone.solvers import weighted as most
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.solvers.weighted import seconds_a_pass, store_most


def drawn(n, d, m=None, seed=0):
    random = np.random.default_rng(seed)
    inputs, outputs = (random.standard_normal((k, d)).astype("f") for k in (n, m or n))
    return facts(inputs, outputs, targets=np.arange(n) % (m or n))


def stored(problem, memory):
    arrays = problem.arrays()
    margins = margins_of(np.asarray(memory.matrix(), np.float64), arrays)
    return int((margins > 0).sum())


def test_far_above_capacity_it_stores_many_times_what_the_minimum_of_the_loss_recalls():
    problem, d = drawn(600, 16), 16
    minimum = stored(problem, solve(problem, limits=Limits(200)).memory)
    told = []
    found = store_most(problem, Full(jnp.zeros((d, d))), 60.0, lambda *said: told.append(said))
    # Of facts that are drawn, not chosen, about 34 fit: d^2 / D(600).
    assert stored(problem, found) > max(60, 5 * minimum)
    assert max(count for count, _ in told) == stored(problem, found)
    assert all(words == f"{count} of 600 facts are stored" for count, words in told)


def test_everything_is_stored_if_it_can_be():
    problem, d = drawn(60, 20), 20
    assert stored(problem, store_most(problem, Full(jnp.zeros((d, d))), 60.0)) == 60


def test_a_family_is_kept():
    problem, d = drawn(300, 12), 12
    found = store_most(problem, Projected.made(jnp.zeros((d, d)), Symmetric()), 60.0)
    np.testing.assert_array_equal(found.matrix(), np.asarray(found.matrix()).T)
    assert stored(problem, found) >= 10


def test_of_too_many_facts_the_most_promising_take_part():
    """As if a pass over all facts took an hour, and there were four of them: a few hundred have sixteen passes."""
    problem, d, told = drawn(2000, 30), 30, []
    start, hour = Full(jnp.zeros((d, d))), 3600.0
    found = store_most(problem, start, 4 * hour, lambda *said: told.append(said), pass_seconds=hour)
    count, words = told[-1]
    assert 0 < count <= stored(problem, found)
    # In the first rounds only their own answers compete, so more of them are stored.
    assert max(count for count, _ in told) > stored(problem, found)
    assert int(words.removeprefix(f"{count} of ").removesuffix(" facts are stored")) < 500


def test_the_clock_is_looked_at():
    problem, d = drawn(6000, 40), 40
    store_most(problem, Full(jnp.zeros((d, d))), 0.001)  # compiles what the next call measures
    began = time.perf_counter()
    store_most(problem, Full(jnp.zeros((d, d))), 0.001)
    assert time.perf_counter() - began < 0.001 + 20 * seconds_a_pass(problem) + 5.0


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_seconds_must_be_positive(seconds):
    with pytest.raises(ValueError, match="seconds"):
        store_most(drawn(4, 3), Full(jnp.zeros((3, 3))), seconds)


def test_the_promising_are_the_best_of_those_that_were_looked_at():
    problem, memory = drawn(200, 8), Full(jnp.eye(8))
    everything = most._seen(problem, memory).log_weight
    rows, seen = most._promising(problem, memory, 0.5, 0.1)
    looked_at = np.random.default_rng(0).permutation(200)[:100]
    assert rows.tolist() == sorted(looked_at[np.argsort(-everything[looked_at])][:20])
    np.testing.assert_allclose(seen.log_weight, everything[rows], rtol=1e-4)
    # All of them at most, and one at least.
    assert [len(most._promising(problem, memory, *shares)[0]) for shares in ((3.0, 2.0), (1e-9, 1e-9))] == [200, 1]


def test_a_compiled_look_at_all_facts_is_the_plain_one_block_by_block(monkeypatch):
    """The last block is filled up."""
    problem = drawn(5000, 8, 40)
    memory = Full(problem.outputs.T @ problem.inputs[:40] / 10)
    plain = most._seen(problem, memory)
    monkeypatch.setattr(most, "is_plain", lambda *size, passes: False)
    found = most._seen(problem, memory)
    assert 0 < plain.stored.sum() < 5000
    np.testing.assert_array_equal(found.stored, plain.stored)
    np.testing.assert_allclose(found.log_weight, plain.log_weight, rtol=1e-5, atol=1e-5)


def test_weights_of_facts_are_relative_to_the_largest_and_never_vanish():
    seen = most._Seen(np.ones(4, bool), np.array([-1000.0, -1001.0, -1010.0, -1100.0], np.float32))
    np.testing.assert_allclose(most._fact_weights(seen), [1, np.exp(-1), np.exp(-10), 1e-8], rtol=1e-5)
