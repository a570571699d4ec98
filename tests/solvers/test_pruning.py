"""Pruning: which entries stay, how many, and that nothing else moves."""

from functools import cache

import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.masks import largest_entries
from loadstone.memories.projected import Projected
from loadstone.problems.original import original
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.solvers.decide import decide
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.pruning import Pruning
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


@pytest.fixture
def searches(monkeypatch):
    """Every search of L-BFGS that pruning does: the memories that it begins and ends with."""
    seen, search = [], LBFGS.solve

    def watched(self, problems, memories, options):
        found = search(self, problems, memories, options)
        seen.append((list(memories), found, options))
        return found

    monkeypatch.setattr(LBFGS, "solve", watched)
    return seen


def test_each_round_keeps_the_largest_entries_and_trains_them_on(searches):
    found = solve_batch(problems(), first_memories(), solver=Pruning(0.3, 3))
    counts = [round(100 * 0.3 ** (number / 3)) for number in range(4)]
    assert len(searches) == 4 and counts[-1] == 30
    for index, solution in enumerate(found):
        before = np.asarray(first_memories()[index].weights)
        for count, (starts, ends, _) in zip(counts, searches):
            mask = np.asarray(starts[index].subspace.mask)
            assert mask.sum() == count and mask.any(axis=0).all() and mask.any(axis=1).all()
            np.testing.assert_array_equal(starts[index].weights, np.where(mask, before, 0))
            # Of rows and columns with several entries none was dropped that is larger than one that stayed.
            dropped = np.abs(before[~mask]).max(initial=0)
            alone = (np.abs(before) == np.abs(before).max(axis=1, keepdims=True)) | (
                np.abs(before) == np.abs(before).max(axis=0, keepdims=True)
            )
            assert dropped <= np.abs(before[mask & ~alone]).min(initial=np.inf)
            before = np.asarray(ends[index].memory.matrix())
            assert (before[~mask] == 0).all()
        assert solution.passes == sum(ends[index].passes for _, ends, _ in searches)
        assert solution.memory is searches[-1][1][index].memory
        assert len(solution.loss) == len(solution.accuracy) == sum(len(ends[index].loss) for _, ends, _ in searches)


def test_a_chosen_support_stores_what_a_random_one_cannot():
    """By proof: no memory on the random mask of the same size stores these facts."""
    solution = solve(problems()[0], first_memories()[0], solver="pruning:0.3,3")
    assert solution.status == "stored" and measure(problems()[0], solution.memory).violations == 0
    assert isinstance(solution.memory, Projected) and np.count_nonzero(solution.memory.matrix()) == 30
    random = initial_memory(D, seed=0, family="masked:0.3")
    assert decide(problems()[0], family=random.subspace).verdict == "not storable"
    assert decide(problems()[0], family=solution.memory.subspace).verdict == "storable"


def test_a_pruned_memory_keeps_its_support(searches):
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


def test_limits_and_progress_are_those_of_all_rounds_together(searches, monkeypatch):
    heard = []
    solve(problems()[0], first_memories()[0], solver=Pruning(0.3, 3), progress=lambda passes, *_: heard.append(passes))
    assert heard == sorted(heard) and heard[-1] == sum(ends[0].passes for _, ends, _ in searches)
    clock = iter(range(100))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    searches.clear()
    solve(problems()[0], first_memories()[0], solver=Pruning(0.3, 1), limits=Limits(7, 1e3))
    left = [options.limits for _, _, options in searches]
    assert [one.passes for one in left] == [7, 7] and 1e3 > left[0].seconds > left[1].seconds > 900


def test_a_run_of_it_is_recorded_under_its_parameters():
    spec = Spec("original", D, 16, solver="pruning", parameters={"density": 0.3, "rounds": 3}, stop="exact")
    assert spec.identity()["solver"] == {"name": "pruning", "density": 0.3, "rounds": 3}
    assert Spec.from_identity(spec.identity()) == spec and spec.key != _with(density=0.4).key != _with(rounds=4).key
    (record,) = perform([spec])
    assert record.result["status"] == "stored" and record.result["violations"] == 0


def _with(**changed):
    parameters = {"density": 0.3, "rounds": 3} | changed
    return Spec("original", D, 16, solver="pruning", parameters=parameters, stop="exact")


@pytest.mark.parametrize("bad, sentence", [
    ({"density": 0.0}, "density is 0"), ({"density": 1.5}, "density is 1.5"), ({"rounds": 0}, "rounds is 0"),
])  # fmt: skip
def test_bad_parameters(bad, sentence):
    with pytest.raises(ValueError, match=f"{sentence}.*, but must be"):
        Pruning(**({"density": 0.5, "rounds": 2} | bad))


def test_bad_memories_and_sizes():
    with pytest.raises(ValueError, match="memory is 'LowRank', but must be Full, or masked"):
        solve(problems()[0], initial_memory(D, 0.5), solver=Pruning(0.5, 2))
    with pytest.raises(ValueError, match="density is 0.1, but must be at least 0.19 at d = 10"):
        solve(problems()[0], first_memories()[0], solver=Pruning(0.1, 2))
    with pytest.raises(ValueError, match="kappa is 0.5 .* must be 1 and full for pruning"):
        Spec("original", D, 16, 0, 0.5, solver="pruning", parameters={"density": 0.3, "rounds": 3})
