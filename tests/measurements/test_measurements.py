import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.measurements.scores import scores, single_scores, targets_by_length
from loadstone.measurements.spectrum import singular_values
from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.solvers.hebbian import hebbian
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.streams.stream import Stream


def all_scores(problem, memory):
    """(n, m) scores in float64 from stored arrays, with no pass."""
    queries = np.asarray(problem.inputs, np.float64) @ np.asarray(memory.matrix(), np.float64).T
    if hasattr(problem, "outputs"):
        return queries @ np.asarray(problem.outputs, np.float64).T
    outputs = np.concatenate([np.asarray(part, np.float64) for part in problem.parts])
    return np.einsum("nd,ndm->nm", queries, outputs)


PROBLEMS = {
    "original": lambda: original(Stream(1, 12), 40),
    "decoupled": lambda: decoupled(Stream(1, 12), 40),
    "facts": lambda: facts(Stream(1, 12).inputs(40), Stream(1, 12).outputs(9), targets=np.arange(40) % 9),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_measurement_by_the_definitions(name):
    problem = PROBLEMS[name]()
    memory = hebbian(problem)
    table = all_scores(problem, memory)
    place = np.arange(40), np.asarray(problem.targets)
    others = table.copy()
    others[place] = -np.inf
    margin = table[place] - others.max(1)
    loss = np.log(np.exp(table - table.max(1, keepdims=True)).sum(1)) + table.max(1) - table[place]
    found = measure(problem, memory)
    assert found.violations == (margin <= 0).sum() and 0 < found.violations < 40
    assert found.accuracy == pytest.approx(1 - found.violations / 40, abs=1e-15)
    assert found.loss == pytest.approx(loss.mean(), rel=1e-5)
    assert found.margin == pytest.approx(margin.min(), abs=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_scores_in_units_of_the_non_target_deviation(name):
    problem = PROBLEMS[name]()
    memory = hebbian(problem)
    table = all_scores(problem, memory)
    n, m = table.shape
    mask = np.ones((n, m), bool)
    mask[np.arange(n), np.asarray(problem.targets)] = False
    unit = table[mask].std()
    found = scores(problem, memory)
    assert found.unit == pytest.approx(unit, rel=1e-5)
    np.testing.assert_allclose(found.target, table[~mask] / unit, atol=1e-4)
    np.testing.assert_allclose(found.rival, np.where(mask, table, -np.inf).max(1) / unit, atol=1e-4)
    assert found.counts.sum() == n * (m - 1)
    centres = (found.edges[1:] + found.edges[:-1]) / 2
    mean = (centres * found.counts).sum() / found.counts.sum()
    assert ((centres - mean) ** 2 * found.counts).sum() / found.counts.sum() == pytest.approx(1, abs=0.01)

    one = single_scores(problem, memory, row=7, unit=found.unit)
    assert one.others.size == m - 1
    assert one.target == pytest.approx(found.target[7], abs=1e-5)
    assert one.rival == pytest.approx(found.rival[7], abs=1e-5)
    assert single_scores(problem, memory, row=7).rival == pytest.approx(one.rival, rel=1e-6)
    assert single_scores(problem, memory, row=0).target == pytest.approx(found.first.target, rel=1e-4)


def test_scores_do_not_depend_on_the_scale_of_the_memory():
    problem = PROBLEMS["original"]()
    memory = hebbian(problem)
    a, b = scores(problem, memory), scores(problem, Full(8 * memory.weights))
    np.testing.assert_allclose(a.target, b.target, rtol=1e-5)
    assert b.unit == pytest.approx(8 * a.unit)


def test_a_memory_without_scores_is_refused():
    problem = PROBLEMS["original"]()
    with pytest.raises(ValueError, match="memory is .* whose scores vary"):
        scores(problem, Full(jnp.zeros((12, 12))))
    with pytest.raises(ValueError, match="memory is .* finite and not zero"):
        singular_values(Full(jnp.zeros((12, 12))))
    with pytest.raises(ValueError, match="row is 40"):
        single_scores(problem, hebbian(problem), row=40)


def test_singular_values_of_a_known_matrix():
    left, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))
    right, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))
    matrix = left @ np.diag([5.0, 3.0, 2.0, 0.5]) @ right
    np.testing.assert_allclose(singular_values(Full(jnp.asarray(matrix))), [2, 1.2, 0.8, 0.2], atol=1e-6)


def test_only_as_many_singular_values_as_the_rank():
    values = singular_values(initial_memory(20, 0.25, seed=0))
    assert values.shape == (5,) and values[0] == 2 and (np.diff(values) <= 0).all() and values[-1] > 0.1


def test_float16_outputs_are_measured_on_the_float32_instance():
    stream = Stream(5, 20)
    full, half = decoupled(stream, 80), decoupled(stream, 80, dtype="float16")
    memory = hebbian(full)
    ours, theirs = measure(half, memory), measure(full, memory)
    assert ours.violations == theirs.violations
    assert ours.loss == pytest.approx(theirs.loss, rel=1e-5)


def test_own_units_are_lengths_of_queries():
    problem, memory = original(Stream(0, 8), 20), initial_memory(8, 1.0, seed=0)
    queries = np.asarray(problem.inputs, np.float64) @ np.asarray(memory.weights, np.float64).T
    expected = [query @ output / np.sqrt(query @ query) for query, output in zip(queries, np.asarray(problem.outputs))]
    found = scores(problem, memory)
    np.testing.assert_allclose(found.by_length, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(targets_by_length(problem.arrays(), memory.weights), expected, rtol=1e-6)
    # Scores of unrelated Gaussian outputs have the length of the query as their deviation.
    assert np.std(found.by_length) == pytest.approx(1, abs=4 / np.sqrt(2 * 20))


@pytest.mark.parametrize("d, p", [(20, 80), pytest.param(40, 250, marks=pytest.mark.soak)])
def test_lengths_of_queries_concentrate_as_for_random_inputs(d, p):
    """Over random inputs |W e|^2 has a relative variance of 2 <s^4> / (<s^2>^2 d). Stored inputs, on which W depends,
    have about the same, so that it falls as 1/d. At d = 80, p = 820 it is 5.0 / d, and the formula gives 4.7 / d."""
    found, expected = [], []
    for seed in range(4):
        problem = original(Stream(seed, d), p)
        solution = solve(problem)
        assert solution.status == Status.STORED
        weights = np.asarray(solution.memory.matrix(), np.float64)
        squares = ((np.asarray(problem.inputs, np.float64) @ weights.T) ** 2).sum(axis=1)
        values = np.linalg.svd(weights, compute_uv=False)
        found.append(d * squares.var() / squares.mean() ** 2)
        expected.append(2 * np.mean(values**4) / np.mean(values**2) ** 2)
    # The variance of n values that are nearly normal is known to sqrt(2 / n); the excess seen is a tenth.
    error = np.sqrt(2 / (4 * p))
    assert np.mean(found) == pytest.approx(1.1 * np.mean(expected), rel=4 * error)
    assert 4.5 < np.mean(expected) < 5.1
