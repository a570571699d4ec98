"""Facts in better coordinates: what they are, and that nothing but the speed depends on them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loadstone
from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.solvers.coordinates import whiten
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

D, P = 20, 65


def gaussian(seed, rows=P, d=D):
    return np.random.default_rng(seed).standard_normal((rows, d))


def rotated(vectors, scales, seed):
    rotation, _ = np.linalg.qr(gaussian(seed, D, D))
    return vectors * scales @ rotation


def stored_in_float64(weights, inputs, outputs, targets=None):
    scores = inputs.astype(float) @ np.asarray(weights, float).T @ outputs.astype(float).T
    return int((scores.argmax(axis=1) == (np.arange(len(inputs)) if targets is None else targets)).sum())


FALLING = np.logspace(0, -4, D)
LENGTHS = 10 ** np.random.default_rng(5).uniform(-2, 2, (P, 1))
HARD_TO_TRAIN = {
    "a power law": (gaussian(0) * np.arange(1, D + 1.0) ** -2, gaussian(1) * np.arange(1, D + 1.0) ** -2),
    "very anisotropic": (rotated(gaussian(0), FALLING, 2), rotated(gaussian(1), FALLING, 3)),
    "a large mean": (gaussian(0) + 1e3, gaussian(1) + 1e3),
    "lengths of 0.01 to 100": (gaussian(0) * LENGTHS, gaussian(1)),
    "rank deficient": (gaussian(0, 35, 12) @ gaussian(2, 12, D), gaussian(1, 35, 12) @ gaussian(3, 12, D)),
    "a constant column": (gaussian(0), np.c_[np.full(P, 7.0), gaussian(1, P, D - 1)]),
}


@pytest.mark.parametrize("name", HARD_TO_TRAIN)
def test_every_kind_of_embedding_is_served(name):
    inputs, outputs = HARD_TO_TRAIN[name]
    problem = facts(inputs, outputs)
    solution = solve(problem)
    assert solution.status == Status.STORED and solution.passes < 100
    assert solution.memory.weights.dtype == np.float64 and measure(problem, solution.memory).violations == 0
    assert stored_in_float64(solution.memory.weights, inputs, outputs) == len(inputs)
    if name in ("very anisotropic", "a large mean", "lengths of 0.01 to 100"):
        raw = solve(problem, solver=LBFGS(whiten=False), limits=Limits(passes=4 * solution.passes))
        assert raw.status != Status.STORED


def test_coordinates_are_white_and_lead_back():
    inputs, outputs = HARD_TO_TRAIN["very anisotropic"]
    start = initial_memory(D, 1.0, seed=0)
    better = whiten(facts(inputs, outputs), start)
    for vectors in (better.problem.arrays().inputs, better.problem.arrays().outputs):
        np.testing.assert_allclose(vectors.T @ vectors / P, np.eye(D), atol=1e-6)
    np.testing.assert_allclose(better.problem.arrays().outputs.mean(axis=0), 0, atol=1e-9)
    there_and_back = np.asarray(better.unwhiten(better.start).weights)
    scale = np.linalg.norm(there_and_back) / np.linalg.norm(start.weights)
    np.testing.assert_allclose(there_and_back, scale * np.asarray(start.weights), atol=1e-6 * scale)
    # Margins are those of the raw facts, up to a positive number for each input: lengths that differ much were changed.
    weights = gaussian(7, D, D)
    scores = better.problem.arrays().inputs @ weights.T @ better.problem.arrays().outputs.T
    raw = inputs @ np.asarray(better.unwhiten(type(start)(weights)).weights).T @ outputs.T
    factors = np.diff(raw, axis=1) / np.diff(scores, axis=1)
    np.testing.assert_allclose(factors, np.broadcast_to(factors[:, :1], factors.shape), rtol=1e-4)
    assert (factors > 0).all()


def test_lengths_of_inputs_differ_by_a_factor_of_four_at_most():
    better = whiten(facts(*HARD_TO_TRAIN["lengths of 0.01 to 100"]), initial_memory(D))
    lengths = np.linalg.norm(better.problem.arrays().inputs, axis=1)
    assert 2 < lengths.max() / lengths.min() < 4 * (1 + 1e-6)


def test_the_loss_is_that_of_the_raw_facts_unless_lengths_differ_much():
    """Linear maps of inputs and outputs leave the loss as it is, so that the minimum is the user's own."""
    problem = facts(gaussian(0, 120), gaussian(1, 120))
    solution = solve(problem)
    assert solution.status == Status.MINIMUM
    assert measure(problem, solution.memory).loss == pytest.approx(solution.loss[-1], rel=1e-5)
    raw = solve(problem, solver=LBFGS(whiten=False))
    assert raw.status == Status.MINIMUM and raw.loss[-1] == pytest.approx(solution.loss[-1], rel=2e-5)


@pytest.mark.parametrize("solver", ["lbfgs", "alternating"])
def test_low_rank_memories_keep_their_rank(solver):
    inputs, outputs = (part[:30] for part in HARD_TO_TRAIN["very anisotropic"])
    solution = solve(facts(inputs, outputs), initial_memory(D, 0.5, seed=0), solver=solver)
    assert solution.status == Status.STORED and solution.memory.left.shape == (D, 10)
    assert stored_in_float64(solution.memory.left @ solution.memory.right.T, inputs, outputs) == 30


def test_isotropic_streams_and_foreign_memories_keep_their_coordinates():
    stream = original(Stream(0, 8), 12)
    start = initial_memory(8, 1.0, seed=0)
    same = whiten(stream, start)
    assert same.problem is stream and same.start is start and same.unwhiten(start) is start

    class Foreign:
        def queries(self, inputs):
            return inputs

    memory = Foreign()
    # It need not be linear, so not even the lengths of its inputs may change.
    other = whiten(facts(gaussian(0) * LENGTHS, gaussian(1) + 5), memory)
    assert other.start is memory and other.unwhiten(memory) is memory
    np.testing.assert_allclose(other.problem.inputs, gaussian(0) * LENGTHS, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(other.problem.outputs).mean(axis=0), 0, atol=1e-6)


def test_a_start_is_taken_along():
    """A memory that stores everything is a start that needs no search, in any coordinates."""
    problem = facts(*HARD_TO_TRAIN["very anisotropic"])
    again = solve(problem, solve(problem).memory)
    assert again.passes == 1 and again.status == Status.STORED


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([66, 72, 78]))
def test_verdicts_do_not_depend_on_coordinates(seed, p):
    """Random invertible maps of both sides, random lengths, a random shift: storable stays storable."""
    random = np.random.default_rng(seed)
    inputs, outputs = random.standard_normal((p, D)), random.standard_normal((p, D))
    lengths = np.exp(random.standard_normal((p, 1)))
    maps = [random.standard_normal((D, D)) + 2 * np.eye(D) for _ in range(2)]
    moved = facts(lengths * inputs @ maps[0], outputs @ maps[1] + 10 * random.standard_normal(D))
    plain = facts(inputs, outputs)
    verdict = loadstone.decide(plain).verdict
    assert loadstone.decide(moved).verdict == verdict != "undecided"
    solution = solve(moved)
    if solution.status == Status.STORED:
        assert verdict == "storable"


@pytest.mark.parametrize("change", ["a zero input", "equal inputs", "equal outputs", "no outputs differ", "two facts"])
def test_nothing_ends_in_nan(change):
    inputs, outputs = gaussian(0), gaussian(1)
    match change:
        case "a zero input":
            inputs[3] = 0
        case "equal inputs":
            inputs[3] = inputs[4]
        case "equal outputs":
            outputs[3] = outputs[4]
        case "no outputs differ":
            outputs[:] = outputs[0]
        case "two facts":
            inputs, outputs = inputs[:2], outputs[:2]
    problem = facts(inputs, outputs)
    solution = solve(problem, limits=Limits(passes=500))
    assert np.isfinite(solution.loss).all() and np.isfinite(np.asarray(solution.memory.weights)).all()
    assert solution.status in (Status.MINIMUM, Status.STORED, Status.OUT_OF_PASSES, Status.OUT_OF_DIGITS)
    violations = measure(problem, solution.memory).violations
    least = {"a zero input": 1, "equal inputs": 1, "equal outputs": 2, "no outputs differ": P, "two facts": 0}[change]
    assert violations >= least and (solution.status == Status.STORED) == (violations == 0)


def test_padded_facts_are_whitened_as_they_are_alone():
    """Streams of one law and several sizes share one program; the coordinates are those of the true facts."""
    stream = Stream(0, 10, law="power law:2")
    alone, together = original(stream, 25), padded(original(stream, 32), 25)
    memory = initial_memory(10)
    first, second = whiten(alone, memory), whiten(together, memory)
    assert second.problem.inputs.shape == (32, 10) and int(second.problem.associations) == 25
    np.testing.assert_array_equal(second.problem.inputs[:25], first.problem.inputs)
    np.testing.assert_array_equal(second.problem.arrays().outputs, first.problem.arrays().outputs)
    assert not np.asarray(second.problem.inputs[25:]).any()
    np.testing.assert_array_equal(second.start.weights, first.start.weights)
    solution = solve(together)
    assert solution.status == Status.STORED and measure(alone, solution.memory).violations == 0
    shares = np.linspace(0.5, 1.5, 32).astype(np.float32)
    weighted = whiten(padded(original(stream, 32).weighted(shares), 25), memory).problem
    np.testing.assert_array_equal(weighted.shares, np.where(np.arange(32) < 25, shares, 0))
    isotropic = padded(original(Stream(0, 10), 32), 25)
    assert whiten(isotropic, memory).problem is isotropic
