"""The fused CPU kernel: same results as XLA to rounding, no results that hide errors, and XLA where it is missing."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import shared_cpu
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.shared_xla import shared_recall
from loadstone.streams.stream import Stream

COMPILER = any(shutil.which(name) for name in ("c++", "g++", "clang++"))


def draw(n, m, d, scale=1.0, seed=0):
    random = np.random.default_rng(seed)
    queries = jnp.asarray(random.standard_normal((n, d)) * scale, jnp.float32)
    outputs = jnp.asarray(random.standard_normal((m, d)), jnp.float32)
    return queries, outputs, jnp.asarray(random.integers(0, m, n), jnp.int32)


def fused_recall(queries, outputs, targets):
    return shared_cpu.shared_pass(queries, SharedOutputs(outputs, targets, 1), "float32")[0]


def test_it_is_built_where_there_is_a_compiler():
    assert shared_cpu.available() == COMPILER


needs_kernel = pytest.mark.skipif(not COMPILER, reason="no C++ compiler: the pass runs in XLA here")


@needs_kernel
@pytest.mark.parametrize(
    "n, m, d",
    [(1, 2, 1), (3, 2, 2), (12, 33, 15), (13, 32, 16), (95, 127, 17), (97, 129, 31), (200, 128, 33), (40, 700, 64)],
)
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_sizes_around_every_edge_of_its_tiles(n, m, d, scale):
    queries, outputs, targets = draw(n, m, d, scale)
    assert shared_cpu.available()
    fused = fused_recall(queries, outputs, targets)
    reference = shared_recall(queries, SharedOutputs(outputs, targets, n), "float32")
    # Scores are sums of d products of size `scale`: their rounding, on either side, grows as d scale eps. Weights turn
    # an absolute error of the scores into a relative one of the pull.
    error = 8 * 1.2e-7 * d * max(scale, 1)
    for ours, theirs in zip(fused[:3], reference[:3]):
        np.testing.assert_allclose(ours, theirs, atol=error * 4)
    np.testing.assert_allclose(fused.pull, reference.pull, atol=error * 8)


@needs_kernel
@pytest.mark.parametrize(
    "n, m, d", [(1, 2, 1), (30, 20, 8), (97, 129, 31), (40, 33, 32), (200, 128, 33), (90, 70, 45), (300, 400, 100)]
)
def test_descent_against_a_dense_float64_computation(n, m, d):
    inputs, outputs, targets = draw(n, m, d)
    weights = jnp.asarray(np.random.default_rng(1).standard_normal((d, d)) / d, jnp.float32)
    recall, gradient = jax.jit(shared_cpu.linear_step)(weights, inputs, SharedOutputs(outputs, targets, 1))

    w, e, u = (np.asarray(array, np.float64) for array in (weights, inputs, outputs))
    scores = e @ w.T @ u.T
    softmax = np.exp(scores - scores.max(1, keepdims=True))
    softmax /= softmax.sum(1, keepdims=True)
    own = np.eye(m)[np.asarray(targets)]
    # Sums of d products (scores) and of m and n products (pull, gradient), each of order one, in float32.
    np.testing.assert_allclose(recall.target, (scores * own).sum(1), atol=1e-6 * d)
    np.testing.assert_allclose(recall.rival, np.where(own == 1, -np.inf, scores).max(1), atol=1e-6 * d)
    np.testing.assert_allclose(recall.pull, softmax @ u, atol=1e-6 * d)
    np.testing.assert_allclose(gradient, (softmax @ u - own @ u).T @ e, atol=1e-6 * d * n)


@needs_kernel
def test_slope_keeps_its_digits_where_all_is_nearly_stored():
    # With margins near 12 the pull differs from the target by e^-12: a difference of the two would lose those digits.
    d = 16
    inputs = outputs = jnp.eye(d, dtype=jnp.float32)
    _, gradient = shared_cpu.linear_step(
        12 * jnp.eye(d), inputs, SharedOutputs(outputs, jnp.arange(d, dtype=jnp.int32), 1)
    )
    rest = np.exp(-12.0) / (1 + (d - 1) * np.exp(-12.0))
    expected = np.full((d, d), rest) - np.eye(d) * d * rest
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)


@needs_kernel
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_trouble_in_a_query_reaches_its_loss_and_no_other(bad):
    queries, outputs, targets = draw(30, 40, 8)
    queries = queries.at[7, 3].set(bad)
    loss = np.asarray(fused_recall(queries, outputs, targets).loss)
    assert not np.isfinite(loss[7])
    assert np.isfinite(np.delete(loss, 7)).all()


@needs_kernel
def test_many_programs_at_once_do_not_lock_up():
    queries, outputs, targets = draw(300, 300, 20)
    repeat = jax.jit(
        lambda q: jax.lax.fori_loop(0, 200, lambda _, x: x + 0 * fused_recall(x, outputs, targets).pull, q)
    )
    repeat(queries).block_until_ready()
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: np.asarray(repeat(queries)), range(16), timeout=120):
            np.testing.assert_array_equal(result, queries)


@needs_kernel
def test_problems_stacked_and_mapped():
    queries, outputs, targets = draw(20, 20, 6)
    stack = jnp.stack([queries, 2 * queries])
    mapped = jax.vmap(lambda q: fused_recall(q, outputs, targets))(stack)
    for index in range(2):
        alone = fused_recall(stack[index], outputs, targets)
        np.testing.assert_array_equal(mapped.pull[index], alone.pull)


@needs_kernel
def test_descents_stacked_and_mapped_and_repeated_give_the_same_bits():
    inputs, outputs, targets = draw(150, 140, 40)
    stack = jnp.stack([jnp.eye(40), 0.1 * jnp.eye(40)])
    shared = SharedOutputs(outputs, targets, 1)
    mapped = jax.vmap(lambda w: shared_cpu.linear_step(w, inputs, shared)[1])(stack)
    for _ in range(20):
        for index in range(2):
            alone = shared_cpu.linear_step(stack[index], inputs, shared)[1]
            np.testing.assert_array_equal(mapped[index], alone)


WITHOUT = """
import logging, jax.numpy as jnp
logging.basicConfig(level=logging.INFO, format="%(message)s")
import loadstone
from loadstone.kernels import shared_cpu
problem = loadstone.original(loadstone.Stream(0, 10), 30)
print(shared_cpu.available(), float(problem.recall(problem.inputs).loss.sum()))
"""


#: No compiler, switched off, no folder to build it in, and no home folder.
CIRCUMSTANCES = [
    {"PATH": "/nowhere"}, {"LOADSTONE_CPU_KERNEL": "0"}, {"XDG_CACHE_HOME": "", "HOME": "/dev/null"},
    pytest.param({"XDG_CACHE_HOME": "/dev/null"}, marks=pytest.mark.soak),
]  # fmt: skip


@pytest.mark.parametrize("change", CIRCUMSTANCES)
def test_without_it_the_pass_runs_in_xla(change, tmp_path):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)} | change
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True, check=True)
    available, loss = done.stdout.split()
    stream = Stream(0, 10)
    reference = shared_recall(
        stream.inputs(30), SharedOutputs(stream.outputs(30), jnp.arange(30), 30), "float32"
    ).loss.sum()
    assert available == "False" and float(loss) == pytest.approx(float(reference), rel=1e-6)
    if "LOADSTONE_CPU_KERNEL" not in change:
        assert done.stderr.count("so the pass runs in XLA") == 1
