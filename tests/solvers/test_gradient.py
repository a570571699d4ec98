import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.solvers.gradient import Paper
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve as solve_with
from loadstone.solvers.solve import solve_batch
from loadstone.streams.stream import Stream
from loadstone.theory.load import nearest_associations

PAPER = Paper()


def solve(problem, memory=None, *, solver=PAPER, **options):
    return solve_with(problem, memory, solver=solver, **options)


def numpy_rate(step, protocol):
    if step < protocol.warmup:
        low = protocol.learning_rate / (protocol.warmup + 1)
        return low + (protocol.learning_rate - low) * step / protocol.warmup
    part = (step - protocol.warmup) / (protocol.steps - protocol.warmup)
    return protocol.learning_rate * 0.5 * (1 + np.cos(np.pi * part))


def numpy_adam(parameters, gradient_of, protocol):
    """Adam as published (Kingma and Ba, 2015), in float64, on a list of arrays."""
    first = [np.zeros_like(x) for x in parameters]
    second = [np.zeros_like(x) for x in parameters]
    losses = []
    for step in range(protocol.steps):
        loss, gradients = gradient_of(parameters)
        losses.append(loss)
        for i, gradient in enumerate(gradients):
            first[i] = 0.9 * first[i] + 0.1 * gradient
            second[i] = 0.999 * second[i] + 0.001 * gradient**2
            mean = first[i] / (1 - 0.9 ** (step + 1))
            square = second[i] / (1 - 0.999 ** (step + 1))
            parameters[i] = parameters[i] - numpy_rate(step, protocol) * mean / (np.sqrt(square) + 1e-8)
    return parameters, losses + [gradient_of(parameters)[0]]


def loss_and_error(weights, inputs, outputs):
    """Mean cross-entropy of the original problem, and its gradient with respect to the queries."""
    scores = inputs @ weights.T @ outputs.T
    scores = scores - scores.max(1, keepdims=True)
    probability = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    n = len(inputs)
    return -np.log(np.diag(probability)).mean(), (probability @ outputs - outputs) / n


def tiny():
    problem = original(Stream(2, 6), 14)
    return problem, np.asarray(problem.inputs, np.float64), np.asarray(problem.outputs, np.float64)


@pytest.mark.parametrize("kappa, warmup", [(1.0, 7), (0.5, 0)])
def test_it_is_adam_as_published(kappa, warmup):
    problem, inputs, outputs = tiny()
    memory, protocol = initial_memory(6, kappa, seed=2), Paper(steps=40, warmup=warmup)

    def gradient_of(parameters):
        if kappa == 1:
            loss, error = loss_and_error(parameters[0], inputs, outputs)
            return loss, [error.T @ inputs]
        left, right = parameters
        loss, error = loss_and_error(left @ right.T, inputs, outputs)
        return loss, [error.T @ (inputs @ right), inputs.T @ (error @ left)]

    start = [np.asarray(part, np.float64) for part in jax.tree.leaves(memory)]
    parameters, losses = numpy_adam(start, gradient_of, protocol)
    solution = solve(problem, memory, solver=protocol, stop="none")
    assert solution.status == Status.SCHEDULE_ENDED and solution.steps == 40
    np.testing.assert_allclose(solution.loss, losses, rtol=1e-4)
    expected = parameters[0] if kappa == 1 else parameters[0] @ parameters[1].T
    np.testing.assert_allclose(solution.memory.matrix(), expected, atol=1e-4)


@pytest.mark.parametrize(
    "make, load, all_stored, seeds",
    [pytest.param(original, 0.5, True, 5, marks=pytest.mark.soak), (original, 1.1, False, 2),
     (decoupled, 0.5, True, 2), pytest.param(decoupled, 1.1, False, 1, marks=pytest.mark.soak)],
)  # fmt: skip
def test_accuracy_on_both_sides_of_the_threshold(make, load, all_stored, seeds):
    """At d = 50: everything is stored at load 0.5, less than 0.9 at load 1.1."""
    p = nearest_associations(load, 50)
    problems = [make(Stream(seed, 50), p) for seed in range(seeds)]
    memories = [initial_memory(50, 1.0, seed=seed) for seed in range(seeds)]
    solutions = solve_batch(problems, memories, solver=PAPER)
    accuracies = [measure(problem, solution.memory).accuracy for problem, solution in zip(problems, solutions)]
    if all_stored:
        assert accuracies == [1.0] * seeds
        assert all(solution.status == Status.STOPPED for solution in solutions)
    else:
        assert max(accuracies) < 0.9
        assert all(solution.status == Status.SCHEDULE_ENDED and solution.steps == 512 for solution in solutions)


def test_stop_rules():
    problem, memory = original(Stream(1, 30), 110), initial_memory(30, 1.0, seed=1)
    solutions = {stop: solve(problem, memory, stop=stop) for stop in ("paper", "exact", "none")}
    assert solutions["none"].steps == 512 and solutions["none"].status == Status.SCHEDULE_ENDED
    exact = solutions["exact"]
    assert exact.status == Status.STORED and exact.accuracy[-1] == 1 and (exact.accuracy[:-1] < 1).all()
    paper = solutions["paper"]
    assert paper.accuracy[-1] >= 0.999 and (paper.accuracy[:-1] < 0.999).all()
    assert len(paper.loss) == len(paper.accuracy) == paper.steps + 1
    # All three walk the same path until they stop.
    np.testing.assert_allclose(solutions["none"].loss[: exact.steps + 1], exact.loss, rtol=1e-6)


def test_a_run_that_meets_infinities_is_diverged_and_nothing_else():
    problem = original(Stream(0, 10), 20)
    solution = solve(problem, solver=Paper(1e38, steps=20, warmup=0), stop="none")
    assert solution.status == Status.DIVERGED
    assert 0 < solution.steps < 20
    assert len(solution.loss) == solution.steps + 1 and not np.isfinite(solution.loss[-1])
    assert np.isfinite(solution.loss[0])


def test_a_diverged_member_does_not_stop_its_batch():
    problem = original(Stream(0, 10), 15)
    broken = Full(jnp.full((10, 10), jnp.nan))
    first, second = solve_batch([problem, problem], [broken, initial_memory(10, 1.0, seed=0)], solver=PAPER)
    assert (first.status, first.steps) == (Status.DIVERGED, 0)
    assert second.status == Status.STOPPED


def test_progress_is_reported_in_passes_and_words():
    heard = []
    solve(original(Stream(0, 10), 60), solver=Paper(steps=64), stop="none", progress=lambda *said: heard.append(said))
    assert [step for step, _ in heard] == sorted(step for step, _ in heard)
    assert heard[-1][0] == 65 and len(heard) > 2
    assert all(re.fullmatch(r"loss \d+[.]\d{4} accuracy [01][.]\d{4}", words) for _, words in heard)


def test_float16_changes_no_verdict_but_those_within_its_rounding():
    """Above capacity, where margins of both signs are small."""
    problem, start = original(Stream(2, 30), 240), initial_memory(30, 1.0, seed=2)
    single, half = (solve(problem, start, stop="none", precision=name).memory for name in ("float32", "float16"))
    queries = single.queries(problem.inputs)
    exact_pass, rounded_pass = (problem.recall(queries, name) for name in ("float32", "float16"))
    # Each factor is off by at most 2^-11 of itself, so a score by 2^-10 of the sum of its terms' sizes, to first order.
    bound = 2 * 1.01 * 2.0**-10 * (np.abs(queries) @ np.abs(problem.outputs).T).max(axis=1)
    differs = np.asarray(exact_pass.stored != rounded_pass.stored)
    assert np.all(np.abs(exact_pass.margin)[differs] <= np.asarray(bound)[differs])
    # Trained from the same start, both end in the same minimum, but for associations that lie on the edge.
    on_the_edge = int(np.sum(np.abs(exact_pass.margin) < np.asarray(bound)))
    assert abs(measure(problem, single).violations - measure(problem, half).violations) <= on_the_edge
    assert measure(problem, half).loss == pytest.approx(measure(problem, single).loss, rel=2e-3, abs=2e-3)
