"""The entry point to all solvers: names, limits, statuses, defaults."""

import time
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import loadstone
from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.original import original
from loadstone.solvers.gradient import OPTIMISERS, Paper
from loadstone.solvers.hebbian import hebbian
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.margin import maximum_margin
from loadstone.solvers.registry import SOLVERS, parameter_names, solver_of
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve, solve_batch
from loadstone.solvers.solver import Iterative
from loadstone.solvers.stop import Limits, met
from loadstone.streams.stream import Stream

EASY, HARD = original(Stream(0, 12), 14), original(Stream(0, 6), 40)


def test_a_problem_is_all_that_is_needed():
    solution = loadstone.train(EASY)
    assert solution.status == Status.STORED and measure(EASY, solution.memory).violations == 0
    assert "stored" in repr(solution) and "\n" not in repr(solution)  # for people: no arrays
    assert solution.problem == "original, outputs shared"
    same = solve(EASY, initial_memory(12, 1.0, seed=0), solver=LBFGS(), stop="exact")
    np.testing.assert_array_equal(solution.memory.weights, same.memory.weights)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_optimiser_lowers_the_loss(name):
    solution = solve(EASY, solver=solver_of(name, {"learning_rate": 0.02}), stop="none", limits=Limits(passes=40))
    assert solution.passes == 40 == len(solution.loss) and solution.status == Status.OUT_OF_PASSES
    assert solution.loss[-1] < solution.loss[0]


def test_a_transformation_of_optax_is_a_solver():
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.5, momentum=0.9))
    solution = solve(EASY, solver=chain, stop="exact")
    assert solution.status == Status.STORED and measure(EASY, solution.memory).violations == 0


def test_limits_end_a_search():
    assert solve(HARD, solver="sgd", limits=Limits(passes=7)).passes == 7
    by_clock = solve(HARD, solver="sgd", stop="exact", limits=Limits(passes=10**6, seconds=0.2))
    assert by_clock.status == Status.OUT_OF_TIME and 1 <= by_clock.passes < 10**6
    assert np.isfinite(by_clock.loss).all() and len(by_clock.loss) == by_clock.passes
    # A limit beyond the end of the schedule changes nothing; one before it says that it was the limit.
    assert solve(HARD, solver="paper", limits=Limits(passes=600)).status == Status.SCHEDULE_ENDED
    cut = solve(HARD, solver="paper", limits=Limits(passes=100))
    assert cut.status == Status.OUT_OF_PASSES and cut.steps == 99
    assert Limits(10**9).passes == 10**9 and Limits().passes is None is Limits().seconds


@dataclass(frozen=True)
class Resting(Iterative):
    """Moves nothing, and knows it: a search that is at its minimum from the third pass on."""

    def start(self, parameters):
        return jnp.int32(0)

    def move(self, parameters, loss, gradient, state):
        return parameters, state + 1

    def minimum(self, state):
        return state >= 2


def test_a_solver_may_say_that_nothing_more_can_be_gained():
    solution = solve(HARD, solver=Resting())
    assert solution.status == Status.MINIMUM and solution.passes == 3
    # If everything is stored at a minimum, the status is that of the stop rule.
    stored = solve(EASY, solve(EASY, stop="exact").memory, solver=Resting(), stop="exact")
    assert stored.status == Status.STORED and stored.passes == 1


def test_closed_forms_take_no_pass():
    found = solve_batch([EASY, EASY], [None, None], solver="hebbian")
    np.testing.assert_array_equal(found[1].memory.weights, hebbian(EASY).weights)
    assert [one.status for one in found] == [Status.CLOSED_FORM] * 2 and found[0].passes == found[0].steps == 0
    memory = initial_memory(12, 0.5, seed=3)
    assert solve(EASY, memory, solver="initial").memory is memory


def test_hebbian_terms_are_weighed_by_their_shares():
    shares = np.linspace(1, 3, 14)
    weighted = hebbian(EASY.weighted(shares)).weights
    terms = np.einsum("n,ni,nj->ij", shares / shares.mean(), EASY.outputs, EASY.inputs) / 12
    np.testing.assert_allclose(weighted, terms, atol=1e-5)


@pytest.mark.parametrize("rule, violations, n, expected", [
    ("paper", 1, 1000, True), ("paper", 1, 999, False), ("paper", 2, 1999, False), ("paper", 2, 2000, True),
    ("paper", 0, 10, True), ("exact", 0, 5000, True), ("exact", 1, 5000, False), ("none", 0, 10, False),
    ("99%", 1, 100, True), ("99%", 1, 99, False), ("99%", 60, 5999, False), ("99%", 60, 6000, True),
])  # fmt: skip
def test_stop_rules_count_whole_associations(rule, violations, n, expected):
    assert bool(met(rule, violations, n)) is expected


def test_precision_reaches_the_products():
    """Half precision changes the path in its fourth digit; if it were ignored, both paths would be the same bits."""
    thirty = {"solver": "paper", "stop": "none", "limits": Limits(passes=30)}
    single, half = (solve(HARD, precision=name, **thirty) for name in ("float32", "float16"))
    assert not np.array_equal(single.memory.weights, half.memory.weights)
    np.testing.assert_allclose(half.loss, single.loss, rtol=2e-2)


def test_stored_is_never_a_matter_of_rounding():
    """Outputs that differ in their last digits, under a W with large entries: float32 sometimes takes the wrong one for
    the winner. Then the search must not say that everything is stored."""
    random = np.random.default_rng(0)
    inputs, matrix = random.standard_normal((2000, 6)).astype("f"), (1e6 * random.standard_normal((6, 6))).astype("f")
    first = random.standard_normal(6)
    outputs = np.stack([first, first * (1 + 1e-7 * random.standard_normal(6))]).astype("f")
    memory = Full(jnp.asarray(matrix))
    recall = loadstone.facts(inputs, outputs, targets=np.zeros(2000, int)).recall(memory.queries(jnp.asarray(inputs)))
    margins = inputs.astype(float) @ matrix.T.astype(float) @ (outputs[0].astype(float) - outputs[1])
    mistaken = np.flatnonzero(np.asarray(recall.stored) & (margins <= 0))
    assert len(mistaken) > 5
    clear = np.asarray(recall.stored_beyond_rounding)
    assert not clear[mistaken].any()
    for mu in mistaken[:3]:
        problem = loadstone.facts(inputs[[mu]], outputs, targets=[0])
        found = solve(
            problem, memory, solver=LBFGS(whiten=False), stop="exact", limits=Limits(passes=1), precision="float32"
        )
        assert found.status == Status.OUT_OF_PASSES


def test_seconds_are_those_that_it_took():
    few = loadstone.facts(EASY.inputs, EASY.outputs)
    start = loadstone.initial_memory(12)
    for run in (
        lambda: solve(EASY, start, solver="sgd", limits=Limits(3)),
        lambda: solve(few, start),
        lambda: solve(EASY, start, solver="hebbian"),
        lambda: solve(EASY, start, solver="initial"),
        lambda: loadstone.decide(few),
        lambda: maximum_margin(few),
    ):
        began = time.perf_counter()
        found = run()
        assert 0 <= found.seconds <= time.perf_counter() - began


def test_names_with_parameters():
    assert solver_of("paper:0.1,100") == Paper(0.1, 100) == solver_of("paper:learning_rate=0.1,steps=100")
    assert solver_of("lbfgs:whiten=False") == LBFGS(whiten=False) != solver_of("lbfgs")
    assert solver_of("sgd:0.5") == solver_of("sgd", {"learning_rate": 0.5}) != solver_of("adam:0.5")
    known = {"learning_rate", "steps", "warmup", "pairs", "tolerance", "whiten", "margin", "batch", "momentum", "turn"}
    assert known | {"density", "rounds"} == set(parameter_names()) and set(OPTIMISERS) < set(SOLVERS)
