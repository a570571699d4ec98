"""L-BFGS against SciPy's, against proved capacities, and to each of its ends."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import loadstone
from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.search import PassInfo, SearchOptions
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve, solve_batch
from loadstone.solvers.stop import Limits
from loadstone.solvers.wolfe import MOST_IDLE, MOST_TRIALS
from loadstone.streams.stream import Stream


def float64_loss(problem, weights):
    """Mean cross-entropy and its gradient from plain formulas, all scores at hand."""
    arrays = problem.arrays()
    inputs, outputs = arrays.inputs.astype(float), arrays.outputs.astype(float)
    scores = inputs @ weights.T @ outputs.T
    rows = np.arange(len(inputs))
    slope = softmax(scores, axis=1) @ outputs - outputs[arrays.targets]
    return np.mean(logsumexp(scores, axis=1) - scores[rows, arrays.targets]), slope.T @ inputs / len(inputs)


@pytest.mark.parametrize("d, p", [(6, 40), pytest.param(10, 60, marks=pytest.mark.soak)])
def test_it_finds_the_minimum_that_scipy_finds(d, p):
    """Above capacity the loss has one minimum. SciPy gets to a gradient of 1e-9, where the loss is known to 1e-15."""
    problem = original(Stream(3, d), p)

    def flat_loss(flat):
        loss, gradient = float64_loss(problem, flat.reshape(d, d))
        return loss, gradient.ravel()

    theirs = minimize(flat_loss, np.zeros(d * d), jac=True, method="L-BFGS-B",
                      options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-9})  # fmt: skip
    ours = solve(problem, precision="float64")
    assert ours.status == Status.MINIMUM and ours.memory.weights.dtype == np.float64
    loss, gradient = float64_loss(problem, ours.memory.weights)
    size = np.linalg.norm(ours.memory.weights)
    assert np.linalg.norm(gradient) * size <= 1e-5 * loss
    # By convexity no W within a distance of |W| has a loss that is lower by more than |gradient| |W|.
    assert loss - theirs.fun <= 1e-5 * loss and loss >= theirs.fun - 1e-12
    # The status is honest: it is not reached any earlier than the tolerance says.
    loose = solve(problem, solver=LBFGS(tolerance=1e-2), precision="float64")
    assert loose.passes < ours.passes and loose.status == Status.MINIMUM
    np.testing.assert_allclose(loose.loss, ours.loss[: loose.passes], rtol=1e-9)


def test_it_stores_up_to_the_proved_capacity():
    """And no further; the paper's protocol gives up before."""
    found = loadstone.exact_capacity(loadstone.Instance(Stream(0, 20), 85))
    last, beyond = (original(Stream(0, 20), found.p_c + more) for more in (0, 1))
    solution = solve(last)
    assert solution.status == Status.STORED and measure(last, solution.memory).violations == 0
    assert solve(last, solver="paper").accuracy[-1] < 0.999
    assert solve(beyond, limits=Limits(passes=300)).status in (Status.OUT_OF_PASSES, Status.MINIMUM)


@pytest.mark.parametrize("kappa", [0.25, 0.5])
def test_factors_of_low_rank(kappa):
    problem = original(Stream(0, 24), {0.25: 50, 0.5: 85}[kappa])
    solution = solve(problem, initial_memory(24, kappa, seed=0))
    assert solution.status == Status.STORED and measure(problem, solution.memory).violations == 0
    assert np.linalg.matrix_rank(np.asarray(solution.memory.matrix())) == round(kappa * 24)


def test_each_end_is_reached():
    easy, hard = original(Stream(0, 12), 14), original(Stream(0, 6), 40)
    assert solve(easy).status == Status.STORED == solve(easy, solver=LBFGS(margin=0.01)).status
    assert solve(easy, stop="paper").status == Status.STOPPED
    assert solve(hard).status == Status.MINIMUM
    assert solve(hard, limits=Limits(passes=4)).status == Status.OUT_OF_PASSES
    slow = solve(original(Stream(0, 60), 700), solver=LBFGS(tolerance=1e-300), limits=Limits(10**6, 0.5))
    assert slow.status == Status.OUT_OF_TIME and 1 <= slow.passes < 10**6
    broken = Full(jnp.full((12, 12), jnp.inf))
    assert solve(easy, broken).status == Status.DIVERGED


def test_the_search_goes_on_in_float64_where_float32_has_too_few_digits():
    """With a tolerance that float32 cannot reach the line search fails there. In float64 it succeeds."""
    problem = original(Stream(0, 6), 40)
    short = solve(problem, solver=LBFGS(tolerance=1e-9), precision="float32")
    assert short.status == Status.OUT_OF_DIGITS and short.memory.weights.dtype == jnp.float32
    long = solve(problem, solver=LBFGS(tolerance=1e-9))
    assert long.status == Status.MINIMUM and long.memory.weights.dtype == np.float64
    loss, gradient = float64_loss(problem, long.memory.weights)
    assert np.linalg.norm(gradient) * np.linalg.norm(long.memory.weights) <= 1.001e-9 * loss
    # It goes on from where it was: the second precision adds few passes.
    np.testing.assert_array_equal(long.loss[: short.passes].astype(np.float32), short.loss)
    assert long.passes - short.passes < short.passes


class Resumed(LBFGS):
    """Counts how often it goes on in another precision."""

    count: ClassVar[int] = 0

    def resume(self, parameters, state):
        Resumed.count += 1
        return super().resume(parameters, state)


@pytest.mark.parametrize("first", ["float16", "split"])
def test_an_end_in_few_digits_is_confirmed_in_float32(first):
    """Passes in float16 round the outputs, so what they see stored need not be."""
    problem, ladder, Resumed.count = original(Stream(0, 30), 150), (first, "split", "float32", "float64"), 0
    run = lambda passes: Resumed().solve(  # noqa: E731
        [problem], [initial_memory(30)], SearchOptions("exact", Limits(passes), ladder)
    )[0]
    solution = run(None)
    assert solution.status == Status.STORED and Resumed.count == 1  # float32 at once
    assert measure(problem, solution.memory).violations == 0 and solution.memory.weights.dtype == jnp.float32
    # With no pass left to confirm it, an end is not claimed.
    last = run(solution.passes - 1)
    assert last.status == Status.OUT_OF_PASSES and last.accuracy[-1] == 1


@pytest.mark.parametrize("family", ["full", "symmetric"])
def test_a_search_may_end_by_a_bound_on_margins(family):
    """Above capacity, long before the minimum. The gradient gives the bound, and no W of another search beats it."""
    problem, margin = original(Stream(0, 12), 60), 0.05
    start = initial_memory(12, 1.0, seed=0, family=family)
    found = solve(problem, start, solver=LBFGS(margin=margin))
    to_the_end = solve(problem, start)
    assert found.status == to_the_end.status == Status.MINIMUM and found.passes < 0.7 * to_the_end.passes
    weights = np.asarray(found.memory.matrix(), np.float64)
    _, gradient = float64_loss(problem, weights)
    if family == "symmetric":
        gradient = (gradient + gradient.T) / 2
    scores = np.asarray(problem.inputs, np.float64) @ weights.T @ np.asarray(problem.outputs, np.float64).T
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    wrong = np.mean(1 - np.diag(shares) / shares.sum(axis=1))
    bound = np.linalg.norm(gradient) / wrong
    assert 0.2 * margin < bound <= 1.001 * margin
    for memory in (found.memory, to_the_end.memory, start):
        smallest = float(problem.recall(memory.queries(problem.inputs)).margin.min())
        assert smallest <= bound * np.linalg.norm(memory.matrix())


def test_shares_count_in_the_bound_on_margins():
    """Facts without a share are as if they were not there."""
    few, more = original(Stream(0, 12), 60), original(Stream(0, 12), 70)
    ignored = facts(
        more.inputs, few.outputs, targets=np.r_[:60, np.zeros(10, int)], shares=np.r_[np.ones(60), np.zeros(10)]
    )
    plain = facts(few.inputs, few.outputs)
    solver = LBFGS(margin=0.05, whiten=False)
    one, other = (solve(problem, initial_memory(12), solver=solver, limits=Limits(400)) for problem in (plain, ignored))
    assert one.passes == other.passes and one.status == other.status == Status.MINIMUM


def test_with_two_factors_a_search_may_end_where_small_changes_gain_little():
    """The gradient says how much small changes of the factors can gain, and no small change gains more."""
    problem, margin = original(Stream(0, 12), 60), 0.1
    start = initial_memory(12, 0.5, seed=0)
    found, to_the_end = solve(problem, start, solver=LBFGS(margin=margin)), solve(problem, start)
    assert found.status == Status.MINIMUM and found.passes < 0.5 * to_the_end.passes
    left, right = (np.asarray(part, np.float64) for part in (found.memory.left, found.memory.right))
    inputs, outputs = (np.asarray(part, np.float64) for part in (problem.inputs, problem.outputs))

    def margins(left, right):
        scores = inputs @ right @ left.T @ outputs.T
        rivals = np.where(np.eye(60, dtype=bool), -np.inf, scores).max(axis=1)
        return np.diag(scores) - rivals, scores

    before, scores = margins(left, right)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    wrong = np.mean(1 - np.diag(shares) / shares.sum(axis=1))
    _, full = float64_loss(problem, left @ right.T)
    gradients = full @ right, full.T @ left
    size, length = np.sqrt((left**2).sum() + (right**2).sum()), np.linalg.norm(left @ right.T)
    bound = np.sqrt(sum((part**2).sum() for part in gradients)) * size / (wrong * length)
    assert 0.2 * margin < bound <= 1.001 * margin
    rng, share = np.random.default_rng(0), 1e-6
    ways = [[-part for part in gradients], [left, right]]
    ways += [[rng.normal(size=left.shape), rng.normal(size=right.shape)] for _ in range(50)]
    for way in ways:
        unit = share * size / np.sqrt(sum((part**2).sum() for part in way))
        after, _ = margins(left + unit * way[0], right + unit * way[1])
        assert (after - before).min() <= 1.001 * bound * share * length


def test_a_batch_equals_its_members():
    problems = [original(Stream(seed, 12), 30) for seed in range(3)]
    together = solve_batch(problems, [initial_memory(12, 1.0, seed=seed) for seed in range(3)])
    for seed, problem in enumerate(problems):
        alone = solve(problem, initial_memory(12, 1.0, seed=seed))
        assert (alone.status, alone.passes) == (together[seed].status, together[seed].passes)
        np.testing.assert_allclose(alone.loss, together[seed].loss, rtol=2e-4)


def test_a_batch_whose_members_need_different_digits():
    """One is stored in float32, the other must go on in float64: each ends as it would alone."""
    random, solver = np.random.default_rng(0), LBFGS(tolerance=1e-9)
    outputs = random.standard_normal((40, 8))
    outputs[0] *= 5  # one output beats all others, and all inputs lie on one side: easy to store
    easy = facts(np.abs(random.standard_normal((40, 8))), outputs, targets=np.zeros(40, int))
    hard = facts(random.standard_normal((40, 8)), random.standard_normal((40, 8)))
    found = solve_batch([easy, hard], [None, None], solver=solver)
    assert [one.status for one in found] == [Status.STORED, Status.MINIMUM]
    assert solve(hard, solver=solver).status == Status.MINIMUM


@pytest.mark.parametrize("loss, accepted", [(0.9, True), (1.0, True), (1.0 + 1e-6, True), (1.01, False), (2.0, False)])
def test_a_step_that_raises_the_loss_beyond_rounding_is_shortened(loss, accepted):
    """Where the slope along the direction has vanished, the loss alone decides; a change in its last digits is none."""
    solver, point = LBFGS(), jnp.zeros(2)
    trial, state = solver.move(point, jnp.float32(1.0), jnp.asarray([1.0, 0.0]), solver.start(point))
    np.testing.assert_allclose(trial, [-1.0, 0.0])  # a first step of length one
    further, after = solver.move(trial, jnp.float32(loss), jnp.asarray([0.0, 1.0]), state)
    assert bool((after.start == trial).all()) == accepted
    if not accepted:
        np.testing.assert_allclose(further, [-0.5, 0.0])


def begun():
    """A search after its first pass, which goes from zero along [-1, 0]; the trial, and its state."""
    solver, point = LBFGS(), jnp.zeros(2)
    return solver, *solver.move(point, jnp.float32(1.0), jnp.asarray([1.0, 0.0]), solver.start(point))


@pytest.mark.parametrize("seen, tried", [
    # Too high: half of the step, again and again.
    ([(2.0, 0.0)] * 4, [1, 0.5, 0.25, 0.125, 0.0625]),
    # Still falling steeply: twice the step, until one is too long; then the middle of the two ends.
    ([(0.5, 1.0), (0.2, 0.95), (9.0, 0.0), (0.1, 0.95), (9.0, 0.0)], [1, 2, 4, 3, 3.5, 3.25]),
    # Rising steeply, though not above the start: too long as well.
    ([(1.0, -1.0), (2.0, 0.0)], [1, 0.5, 0.25]),
])  # fmt: skip
def test_steps_along_a_direction(seen, tried):
    """Losses and falls, of which the first was 1, that the trials see; and the steps that are tried."""
    solver, trial, state = begun()
    steps = [-float(trial[0])]
    for number, (loss, fall) in enumerate(seen, 1):
        trial, state = solver.move(trial, jnp.float32(loss), jnp.asarray([fall, 0.0]), state)
        assert int(state.trials) == number and not solver.out_of_digits(state)
        steps.append(-float(trial[0]))
    assert steps == tried and float(trial[1]) == 0


def test_so_many_steps_or_directions_without_gain_say_that_digits_have_run_out():
    solver, trial, state = begun()
    for number in range(1, MOST_TRIALS + 1):
        trial, state = solver.move(trial, jnp.float32(2.0), jnp.asarray([0.0, 1.0]), state)
        assert bool(solver.out_of_digits(state)) == (number == MOST_TRIALS)
    # Each direction ends where the loss is what it was, and the gradient, across the direction, is no shorter.
    solver, trial, state = begun()

    def across(length):
        return length * jnp.stack([-state.direction[1], state.direction[0]]) / jnp.hypot(*state.direction)

    for number in range(1, MOST_IDLE + 1):
        trial, state = solver.move(trial, jnp.float32(1.0), across(1.01), state)
        assert int(state.idle) == number and bool(solver.out_of_digits(state)) == (number == MOST_IDLE)
    # A shorter gradient, or a lower loss, is a gain.
    for loss, length in ((1.0, 0.9), (0.9, 1.01)):
        assert int(solver.move(trial, jnp.float32(loss), across(length), state)[1].idle) == 0


def test_where_the_gradient_is_zero_nothing_moves():
    solver, point = LBFGS(), jnp.asarray([3.0, 4.0])
    trial, state = solver.move(point, jnp.float32(1.0), jnp.zeros(2), solver.start(point))
    assert bool(solver.minimum(state)) and (trial == point).all()
    # One within the tolerance is not trusted before anything is known of the curvature.
    for length, flat in ((1e-9, False), (0.0, True)):
        assert bool(solver.minimum(solver.move(point, jnp.float32(1.0), jnp.asarray([length, 0]), state)[1])) == flat
    # After the first move it is: its length times that of W, which is 1, may be 1e-5 of the loss.
    solver, trial, state = begun()
    for length, flat in ((4e-6, True), (6e-6, False)):
        _, after = solver.move(trial, jnp.float32(0.5), jnp.asarray([length, 0.0]), state)
        assert int(after.pairs.kept) == 1 and bool(solver.minimum(after)) == flat


@pytest.mark.parametrize("length, ends", [(0.0499, True), (0.0501, False), (0.15, False)])
def test_the_bound_on_margins_is_the_gradient_over_the_weight_of_wrong_outputs(length, ends):
    """No margin above 0.1 is possible once the gradient is shorter than 0.1 times their mean weight, here 1/2. What is
    trained is W itself, of length 2."""
    info = PassInfo(jnp.float32(0.5), None, 9, 9, lambda: jnp.float32(2))
    solver, point = LBFGS(margin=0.1), jnp.asarray([0.0, 2.0])
    given = point, jnp.float32(1.0), jnp.asarray([0.0, length]), solver.start(point)
    moved, state = solver.step(*given, info)
    assert bool(solver.minimum(state)) == ends
    np.testing.assert_array_equal(moved, solver.move(*given)[0])
    assert not LBFGS().minimum(LBFGS().step(*given, info)[1])
