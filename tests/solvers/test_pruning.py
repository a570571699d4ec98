"""Pruning: which entries stay, how many, and that nothing else moves."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.masks import largest_entries
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.masked import Masked
from loadstone.problems.original import original
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.solvers.decide import decide
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.pruning import Pruning
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.solve import solve, solve_batch
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

D = 10


@cache
def problems():
    return [original(Stream(seed, D), 16) for seed in range(2)]


@cache
def first_memories():
    return [initial_memory(D, seed=seed) for seed in range(2)]


def replayed(problem, memory, density, rounds):
    """L-BFGS on all entries, and on ever fewer of the largest that it ended with."""
    weights, mask, solutions = np.asarray(memory.matrix()), np.ones((D, D), bool), []
    for number in range(rounds + 1):
        mask = mask & largest_entries(weights, round(D * D * density ** (number / rounds)))
        start = Projected(jnp.asarray(np.where(mask, weights, 0), jnp.float32), Masked(mask))
        solutions += LBFGS().solve([problem], [start], SearchOptions("exact", precisions=LBFGS().precisions()))
        weights = np.asarray(solutions[-1].memory.matrix())
        assert (weights[~mask] == 0).all()
    return mask, solutions


def test_each_round_keeps_the_largest_entries_and_trains_them_on():
    for index, solution in enumerate(solve_batch(problems(), first_memories(), solver=Pruning(0.3, 3))):
        mask, by_hand = replayed(problems()[index], first_memories()[index], 0.3, 3)
        np.testing.assert_array_equal(solution.memory.subspace.mask, mask)
        assert mask.sum() == 30 and mask.any(axis=0).all() and mask.any(axis=1).all()
        assert solution.status == "stored" and solution.passes == sum(one.passes for one in by_hand)
        np.testing.assert_allclose(solution.loss, np.concatenate([one.loss for one in by_hand]), rtol=0.02, atol=1e-3)
        assert len(solution.accuracy) == len(solution.loss)


def test_a_chosen_support_stores_what_a_random_one_cannot():
    """By proof: no memory on the random mask of the same size stores these facts."""
    solution = solve(problems()[0], first_memories()[0], solver="pruning:0.3,3")
    assert solution.status == "stored" and measure(problems()[0], solution.memory).violations == 0
    assert isinstance(solution.memory, Projected) and np.count_nonzero(solution.memory.matrix()) == 30
    random = initial_memory(D, seed=0, family="masked:0.3")
    assert decide(problems()[0], family=random.subspace).verdict == "not storable"
    assert decide(problems()[0], family=solution.memory.subspace).verdict == "storable"


def test_a_pruned_memory_keeps_its_support():
    """As when a search for more facts begins with what has stored fewer."""
    once = solve(problems()[0], first_memories()[0], solver=Pruning(0.3, 3)).memory
    again = solve(problems()[0], once, solver=Pruning(0.3, 3))
    np.testing.assert_array_equal(again.memory.subspace.mask, once.subspace.mask)
    assert again.status == "stored" and again.passes == 4  # one for each search, which sees that all is stored


def test_the_largest_of_each_row_and_column_comes_first():
    matrix = np.array([[9.0, -8.0, 7.0], [0.1, 0.2, -0.3], [1.0, -2.0, 3.0]])
    kept = largest_entries(matrix, 5)
    # Of rows: 9, -0.3, 3; of columns: 9, -8, 7. These are the five.
    np.testing.assert_array_equal(kept, [[True, True, True], [False, False, True], [False, False, True]])
    np.testing.assert_array_equal(largest_entries(matrix, 6), kept | (matrix == -2.0))
    assert largest_entries(matrix, 9).all()


def test_limits_and_progress_are_those_of_all_rounds_together():
    heard, solver, problem, memory = [], Pruning(0.3, 3), problems()[0], first_memories()[0]
    solution = solve(problem, memory, solver=solver, progress=lambda passes, *_: heard.append(passes))
    assert heard == sorted(heard) and heard[-1] == solution.passes
    # Each search has the limit of passes; all have one limit of time, and make one pass even if it is over.
    assert solve(problem, memory, solver=solver, stop="none", limits=Limits(7)).passes == 4 * 7
    assert solve(problem, memory, solver=solver, stop="none", limits=Limits(7, 1e-9)).passes == 4


def test_a_run_of_it_is_recorded_under_its_parameters():
    spec = Spec("original", D, 16, solver="pruning", parameters={"density": 0.3, "rounds": 3}, stop="exact")
    assert spec.identity()["solver"] == {"name": "pruning", "density": 0.3, "rounds": 3}
    assert Spec.from_identity(spec.identity()) == spec and spec.key != _with(density=0.4).key != _with(rounds=4).key
    (record,) = perform([spec])
    assert record.result["status"] == "stored" and record.result["violations"] == 0


def _with(**changed):
    parameters = {"density": 0.3, "rounds": 3} | changed
    return Spec("original", D, 16, solver="pruning", parameters=parameters, stop="exact")


def test_a_spec_of_another_family_is_refused():
    with pytest.raises(ValueError, match="kappa is 0.5 .* must be 1 and full for pruning"):
        Spec("original", D, 16, 0, 0.5, solver="pruning", parameters={"density": 0.3, "rounds": 3})
