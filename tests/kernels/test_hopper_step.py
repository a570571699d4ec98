"""A whole step on a Hopper GPU, as far as a CPU can tell: the products around the kernel run with a stand-in for it."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import devices
from loadstone.kernels.hopper import step, to_256, to_512_kernel
from loadstone.kernels.outputs import SharedOutputs
from loadstone.memories.families import initial_memory
from loadstone.memories.low_rank import LowRank
from loadstone.problems.loss import mean_loss
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.problems.prepared import Prepared
from loadstone.solvers.gradient import Paper
from loadstone.solvers.solve import solve
from loadstone.streams.stream import Stream
from loadstone.trees import tree
from tests.kernels.test_gpu_passes import stand_in
from tests.kernels.test_to_512 import StandIn


@pytest.fixture(autouse=True)
def on_hopper(monkeypatch):
    """Both kernels; the one for halves is made to serve from 33 components on, so that problems can be small."""
    monkeypatch.setattr(devices, "has_hopper_kernel", lambda: True)
    monkeypatch.setattr(devices, "MOST_WHOLE", 32)
    monkeypatch.setattr(to_256, "batch_recall", stand_in)
    monkeypatch.setattr(to_512_kernel, "batch_weighed", StandIn())


def measured(problem, memory, precision):
    (loss, recall), gradient = jax.value_and_grad(partial(mean_loss, problem, precision=precision), has_aux=True)(
        memory
    )
    return loss, recall, gradient.weights


@pytest.mark.parametrize("d, p, count", [(20, 130, None), (20, 700, 611), (40, 60, None), (70, 1500, 1388)])
def test_a_step_is_the_pass_and_the_gradient_of_its_loss(d, p, count):
    problem = original(Stream(0, d), p)
    if count is not None:
        problem = padded(problem, count)
    prepared = problem.prepared("float16")
    assert isinstance(prepared, Prepared) and prepared.linear_step("float16") is not None
    step, reference = (jax.jit(partial(measured, precision=precision)) for precision in ("float16", "float32"))
    inside = slice(0, count)
    for size in (0.02, 1.0, 4.0):
        memory = jax.tree.map(lambda w: size * w, initial_memory(d, 1.0, seed=0))  # noqa: B023
        loss, recall, gradient = step(prepared, memory)
        expected = reference(problem, memory)
        np.testing.assert_allclose(loss, expected[0], rtol=1e-3, err_msg=f"size {size}")
        for name in ("target", "rival", "logsumexp"):
            found, exact = (np.asarray(getattr(one, name))[inside] for one in (recall, expected[1]))
            assert np.linalg.norm(found - exact) < 2e-3 * np.linalg.norm(exact) + 2e-3 * size, (size, name)
        assert np.linalg.norm(gradient - expected[2]) < 3e-3 * np.linalg.norm(expected[2]), size
        if count is not None:
            assert (np.asarray(recall.target)[count:] == 0).all() and (np.asarray(recall.loss)[count:] == 0).all()


@pytest.mark.parametrize("kappa, p, count", [(0.1, 130, None), (0.5, 700, 611)])
def test_factors_have_the_gradient_of_their_product(kappa, p, count):
    """By the chain rule from the gradient with respect to W, which the step makes; beside the pass in float32, which
    multiplies inputs with one factor after the other."""
    problem = original(Stream(0, 20), p)
    if count is not None:
        problem = padded(problem, count)
    memory = jax.tree.map(lambda factor: 6 * factor, initial_memory(20, kappa, seed=0))
    (half, exact) = (
        jax.value_and_grad(partial(mean_loss, one, precision=precision), has_aux=True)(memory)
        for one, precision in ((problem.prepared("float16"), "float16"), (problem, "float32"))
    )
    ((loss, recall), gradient), ((exact_loss, exact_recall), expected) = half, exact
    np.testing.assert_allclose(loss, exact_loss, rtol=1e-3)
    assert (np.asarray(recall.stored) == np.asarray(exact_recall.stored)).mean() > 0.99
    for name in ("left", "right"):
        ours, wanted = getattr(gradient, name), getattr(expected, name)
        assert ours.shape == wanted.shape and np.linalg.norm(ours - wanted) < 3e-3 * np.linalg.norm(wanted)


def test_a_family_with_queries_of_its_own_is_not_taken_for_the_one_that_it_derives_from():
    @tree(data=["left", "right"])
    @dataclass(frozen=True)
    class Gated(LowRank):
        def queries(self, inputs, precision="float32"):
            return jax.nn.relu(inputs @ self.right) @ self.left.T

    problem, start = original(Stream(0, 20), 130), initial_memory(20, 0.5, seed=0)
    plain, gated = (kind(6 * start.left, 6 * start.right) for kind in (LowRank, Gated))
    assert plain.is_dense("float16") and not gated.is_dense("float16")
    found = [mean_loss(problem.prepared("float16"), gated, precision="float16")[0], mean_loss(problem, gated)[0]]
    np.testing.assert_allclose(*found, rtol=1e-3)
    assert abs(mean_loss(problem, plain)[0] / found[0] - 1) > 0.01


def test_small_slopes_keep_their_digits():
    """Facts that are stored with large margins have slopes of a millionth, which float16 alone would not hold."""
    d = 20
    problem = original(Stream(3, d), 60)
    memory = solve(problem, precision="float32").memory
    memory = jax.tree.map(lambda w: jnp.asarray(w, jnp.float32), memory)
    loss, *_ = measured(problem, memory, "float32")
    while loss > 1e-5:
        memory = jax.tree.map(lambda w: 1.5 * w, memory)
        loss, *_ = measured(problem, memory, "float32")
    # Scores must be the same to the last digit, or the loss itself changes: so are all rounded in the same way.
    prepared = problem.prepared("float16")
    _, recall, gradient = measured(prepared, memory, "float16")
    slopes = prepared.slopes(memory.queries(problem.inputs, "float16"), "float16")[1]
    expected = np.asarray(slopes).T @ np.asarray(problem.inputs) / 60
    assert np.linalg.norm(gradient - expected) < 2e-3 * np.linalg.norm(expected) and np.abs(expected).max() > 0


def test_a_perfect_memory_has_a_gradient_of_exactly_zero():
    d = 20
    problem = original(Stream(0, d), d)
    outputs = 16 * jnp.eye(d)
    perfect = type(problem)(outputs, outputs, jnp.arange(d, dtype=jnp.int32), 8)
    memory = initial_memory(d, 1.0, seed=0).__class__(16 * jnp.eye(d))
    assert (np.asarray(measured(perfect.prepared("float16"), memory, "float16")[2]) == 0).all()


def test_slopes_are_in_units_of_the_largest_that_they_can_be():
    """Two components are at most twice the largest apart, and in float16 that is 512 to 1024 units."""
    problem = original(Stream(3, 20), 60)
    largest = float(jnp.abs(problem.outputs.astype(jnp.float16)).max())
    exponent = float(problem.prepared("float16").step_arrays.slope_exponent)
    assert 512 <= 2 * largest * 2**-exponent < 1024 and exponent == round(exponent)


@pytest.mark.parametrize("d, p", [(20, 60), (300, 400), (3, 2)])
def test_the_largest_entry_of_a_matrix_is_found_in_parts(d, p):
    matrix = np.random.default_rng(p).standard_normal((d, d)).astype(np.float32)
    for place in [(0, 0), (d - 1, d - 1), (d // 2, 1)]:
        matrix[place] = -7 - place[1]
        assert float(step._largest(jnp.asarray(matrix))) == np.abs(matrix).max() == 7 + place[1]
        matrix[place] = 0


def test_slopes_of_any_memory_use_the_padded_arrays():
    problem = padded(original(Stream(1, 40), 150), 131)
    queries = jnp.asarray(np.random.default_rng(0).standard_normal((150, 40)), jnp.float32)
    found, slope = problem.prepared("float16").slopes(queries, "float16")
    expected, exact = problem.slopes(queries, "float16")
    for one, other in zip((*found, slope), (*expected, exact)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kappa", [1.0, 0.5])
def test_a_search_in_float16_ends_where_one_in_float32_does(kappa):
    problem, start = padded(original(Stream(2, 24), 80), 70), initial_memory(24, kappa, seed=0)
    solver = Paper(steps=40, warmup=4, learning_rate=0.05)
    half, single = (
        solve(problem, start, solver=solver, stop="none", precision=precision) for precision in ("float16", "float32")
    )
    np.testing.assert_allclose(half.loss, single.loss, rtol=5e-3)


def test_other_problems_and_precisions_stay_as_they_are(monkeypatch):
    problem = original(Stream(0, 20), 50)
    assert problem.prepared("float32") is problem
    monkeypatch.setattr(devices, "has_hopper_kernel", lambda: False)
    assert problem.prepared("float16") is problem and padded(problem, 40).prepared("float16").longer is not None


@pytest.mark.parametrize(
    "n, m, d, parts", [(100, 130, 70, 1), (1100, 20, 64, 2), (1100, 20, 700, 1), (17_500, 5, 100, 33)]
)
def test_what_all_steps_need(n, m, d, parts):
    """Rows for as many parts as keep 132 processors busy, of 512 facts at least; inputs in units of a power of two."""
    random = np.random.default_rng(0)
    inputs, outputs = 7 * random.standard_normal((n, d)), random.standard_normal((m, d))
    targets = random.integers(0, m, n)
    singles = [jnp.asarray(part, jnp.float32) for part in (inputs, outputs)]
    found = step.step_arrays(singles[0], SharedOutputs(singles[1], jnp.asarray(targets), 1))
    rows, width = -(-n // (128 * parts)) * 128 * parts, -(-d // 64) * 64
    assert found.inputs.shape == (rows, width) and found.outputs.outputs.shape == (-(-m // 1024) * 1024, width)
    largest = float(np.abs(np.float16(np.float32(outputs))).max())
    assert float(found.slope_exponent) == np.floor(np.log2(2 * largest)) - 9
    assert 512 <= np.abs(np.asarray(found.inputs, float)).max() <= 1024
    back = np.asarray(found.inputs, float)[:n, :d] * float(found.unit)
    np.testing.assert_allclose(back, inputs, rtol=2.0**-10, atol=1e-6)
    own, columns, indices, counts, few, rivals = found.outputs
    assert indices.tolist() == [*targets, *[0] * (rows - n)] and counts.tolist() == [n, m]
    assert few.tolist() == [index * n // 64 for index in range(64)]
    expected = [[column < m and column != targets[row] for column in range(len(columns))] for row in few]
    np.testing.assert_array_equal(rivals, expected)
    assert not found.inputs[n:].any() and not columns[m:].any()
    np.testing.assert_array_equal(own[:n, :d], np.float16(np.float32(outputs))[targets])
