"""Any memory with queries has a gradient, and it agrees with finite differences."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import shared_cpu
from loadstone.kernels.products import mapped, times
from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.loss import differentiable_losses, mean_loss
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.problems.problem import Problem
from loadstone.solvers.solve import solve
from loadstone.streams.stream import Stream
from loadstone.trees import tree

STREAM = Stream(4, 6)
PROBLEMS = {
    "original": lambda: original(STREAM, 17),
    "stored": lambda: decoupled(STREAM, 17, hold="stored"),
    "regenerated": lambda: decoupled(STREAM, 17, hold="regenerated"),
    "padded": lambda: padded(original(STREAM, 23), 17),
    "padded, stored": lambda: padded(decoupled(STREAM, 23, hold="stored"), 17),
    "facts with shares": lambda: facts(
        STREAM.inputs(17), STREAM.outputs(5), targets=np.arange(17) % 5, shares=np.arange(17) + 1.0
    ),
    "padded with shares": lambda: padded(original(STREAM, 23).weighted(np.arange(23) + 1.0), 17),
}


@tree(data=["first", "second", "mask"])
@dataclass(frozen=True)
class TwoLayers:
    """A memory that is not linear and not a subclass of ours: all it has is `queries`."""

    first: jax.Array
    second: jax.Array
    mask: jax.Array

    def queries(self, inputs):
        return jnp.tanh(inputs @ (self.first * self.mask)) @ self.second


def two_layers(seed=0):
    random = np.random.default_rng(seed)
    first, second = (jnp.asarray(random.standard_normal(shape) / 2, jnp.float32) for shape in ((6, 9), (9, 6)))
    return TwoLayers(first, second, jnp.asarray(random.random((6, 9)) < 0.7))


def loss_in_float64(problem, queries_of):
    """Mean loss by the definition, each association with its share, from plain arrays."""
    arrays = problem.arrays()
    n = len(arrays.targets)
    queries = queries_of(arrays.inputs.astype(np.float64))
    outputs = np.broadcast_to(arrays.outputs, (n, *arrays.outputs.shape[-2:])).astype(np.float64)
    scores = np.einsum("nmd,nd->nm", outputs, queries)
    losses = np.log(np.exp(scores).sum(1)) - scores[np.arange(n), arrays.targets]
    shares = np.ones(n) if problem.shares is None else np.asarray(problem.shares, np.float64)[:n]
    return (shares * losses).sum() / shares.sum()


def by_differences(function, start, step=1e-5):
    gradient = np.zeros_like(start)
    for index in np.ndindex(*start.shape):
        bump = np.zeros_like(start)
        bump[index] = step
        gradient[index] = (function(start + bump) - function(start - bump)) / (2 * step)
    return gradient


@pytest.mark.parametrize("name, fused", [(name, True) for name in PROBLEMS] + [("original", False)])
def test_gradients_of_a_full_memory_against_differences_in_float64(name, fused, monkeypatch):
    if not fused:
        monkeypatch.setattr(shared_cpu, "available", lambda: False)
    problem, memory = PROBLEMS[name](), initial_memory(6, 1.0, seed=1)
    (loss, recall), gradient = jax.value_and_grad(partial(mean_loss, problem), has_aux=True)(memory)
    exact = lambda w: loss_in_float64(problem, lambda e: e @ w.T)  # noqa: E731
    weights = np.asarray(memory.weights, np.float64)
    # Sums of 6 and 17 products of order one in float32; differences of second order in a step of 1e-5.
    assert float(loss) == pytest.approx(exact(weights), rel=1e-5)
    np.testing.assert_allclose(gradient.weights, by_differences(exact, weights), atol=5e-6)
    assert recall.target.shape == (problem.inputs.shape[0],)


@pytest.mark.parametrize("name", ["stored", "facts with shares"])
def test_gradients_of_a_foreign_memory_against_differences_in_float64(name):
    problem, memory = PROBLEMS[name](), two_layers()
    gradient = jax.grad(lambda memory: mean_loss(problem, memory)[0], allow_int=True)(memory)
    first, second, mask = (np.asarray(part, np.float64) for part in (memory.first, memory.second, memory.mask))
    of_first = by_differences(lambda a: loss_in_float64(problem, lambda e: np.tanh(e @ (a * mask)) @ second), first)
    of_second = by_differences(lambda b: loss_in_float64(problem, lambda e: np.tanh(e @ (first * mask)) @ b), second)
    np.testing.assert_allclose(gradient.first, of_first, atol=5e-6)
    np.testing.assert_allclose(gradient.second, of_second, atol=5e-6)


def test_any_pytree_with_queries_trains_and_its_mask_stays():
    problem, memory = original(Stream(1, 6), 12), two_layers()
    solution = solve(problem, memory, solver="adam:0.05", stop="exact")
    assert solution.status == "stored" and measure(problem, solution.memory).violations == 0
    assert (solution.memory.mask == memory.mask).all() and solution.memory.mask.dtype == bool
    assert not np.allclose(solution.memory.first, memory.first)


@pytest.mark.parametrize("precision", ["float32", "float16", "split"])
def test_times_is_differentiated_in_its_own_precision(precision):
    random = np.random.default_rng(0)
    a, b, c = (jnp.asarray(random.standard_normal(shape), jnp.float32) for shape in ((9, 4), (4, 3), (9, 3)))
    value, (for_a, for_b) = jax.value_and_grad(lambda a, b: (times(a, b, precision) * c).sum(), (0, 1))(a, b)
    tolerance = 1e-5 if precision == "float32" else 2e-2
    np.testing.assert_allclose(value, (np.asarray(a) @ np.asarray(b) * np.asarray(c)).sum(), rtol=tolerance)
    np.testing.assert_allclose(for_a, c @ b.T, atol=tolerance)
    np.testing.assert_allclose(for_b, a.T @ c, atol=tolerance)
    turned, gradients = jax.value_and_grad(lambda a, w: (mapped(a, w, precision) * c).sum(), (0, 1))(a, b.T)
    np.testing.assert_allclose(turned, value, rtol=tolerance)
    np.testing.assert_allclose(gradients[0], for_a, atol=tolerance)
    np.testing.assert_allclose(gradients[1], for_b.T, atol=tolerance)


def test_the_recall_is_for_counting_and_has_no_derivative():
    problem, memory = original(STREAM, 17), initial_memory(6, 1.0, seed=1)
    of_margins = jax.grad(lambda memory: mean_loss(problem, memory)[1].margin.sum())(memory)
    assert not np.asarray(of_margins.weights).any()


def test_shares_are_told_apart_from_counts():
    inputs, outputs = np.eye(3), np.eye(3)
    problem = facts(inputs, outputs, targets=[0, 1, 2], shares=[1.0, 2.0, 5.0])
    memory = Full(jnp.asarray([[1.0, 0, 0], [0, 1, 0], [0, 2, 1]]))  # the second input recalls the third output
    found = measure(problem, memory)
    assert found.accuracy == pytest.approx(2 / 3) and found.weighted_accuracy == pytest.approx(6 / 8)
    assert found.violations == 1
    unweighted = measure(facts(inputs, outputs), memory)
    assert unweighted.weighted_accuracy == unweighted.accuracy
    with pytest.raises(ValueError, match=r"shares.shape is \(2,\), but must be \(3,\)"):
        facts(inputs, outputs, shares=[1, 2])
    for bad in ([1, -1, 1], [0, 0, 0], [1, np.nan, 1]):
        with pytest.raises(ValueError, match="shares is .* but must be finite, none negative, and not all zero"):
            facts(inputs, outputs, shares=bad)


def test_heavy_facts_are_stored_first():
    """Above capacity not everything can be stored: facts with a hundredfold share are, at the cost of the others."""
    stream, p = Stream(0, 8), 60
    shares = np.where(np.arange(p) < 8, 100.0, 1.0)
    plain, heavy = original(stream, p), original(stream, p).weighted(shares)
    kept = [measure(heavy, solve(problem, stop="none").memory) for problem in (plain, heavy)]
    # The heavy eight are 800 of 852 shares.
    assert kept[0].weighted_accuracy < 0.8 < 800 / 852 <= kept[1].weighted_accuracy and kept[1].violations > 0


def test_queries_of_another_shape_are_refused():
    problem = original(STREAM, 17)
    with pytest.raises(ValueError, match=r"queries.shape is \(16, 6\), but must be \(17, 6\)"):
        differentiable_losses(problem, problem.inputs[:16])


def test_an_incomplete_problem_or_memory_fails_when_it_is_made():
    from loadstone.memories.memory import Memory
    from loadstone.solvers.solver import Iterative, Solver

    for base, name in ((Problem, "recall"), (Memory, "queries"), (Solver, "solve"), (Iterative, "move")):
        incomplete = type("Incomplete", (base,), {})
        with pytest.raises(TypeError, match=f"abstract method.*{name}"):
            incomplete()
