"""The pass against dense float64 computations that share no code with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from loadstone.kernels import products, shared_cpu
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.products import crossed, product
from loadstone.kernels.products import dense as product_around
from loadstone.kernels.recall import Recall
from loadstone.kernels.shared_xla import over_blocks, shared_recall
from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.loss import mean_loss
from loadstone.problems.original import original
from loadstone.streams.stream import Stream


def dense(queries, outputs, targets):
    """Recall by the definitions, in float64; outputs are (n, m, d), one set for each query."""
    queries, outputs = np.asarray(queries, np.float64), np.asarray(outputs, np.float64)
    scores = np.einsum("nmd,nd->nm", outputs, queries)
    place = np.arange(len(scores)), np.asarray(targets)
    others = scores.copy()
    others[place] = -np.inf
    pull = np.einsum("nm,nmd->nd", softmax(scores, axis=1), outputs)
    return scores[place], others.max(1), logsumexp(scores, axis=1), pull


def random_queries(n, d, scale, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal((n, d)) * scale, jnp.float32)


def all_outputs(problem):
    """(n, m, d) outputs of any problem, from its stream's own arrays."""
    if hasattr(problem, "outputs"):
        return np.broadcast_to(problem.outputs, (problem.inputs.shape[0], *problem.outputs.shape))
    p = problem.inputs.shape[0]
    eye = jnp.eye(problem.inputs.shape[1])
    by_axis = [problem.scores(jnp.broadcast_to(axis, (p, axis.size)), jnp.arange(p)) for axis in eye]
    return np.stack(by_axis, axis=-1)


PROBLEMS = {
    "original": lambda: original(Stream(3, 9), 31),
    "original, blocks of 4": lambda: original(Stream(3, 9), 31, block=4),
    "stored": lambda: decoupled(Stream(3, 9), 31, hold="stored"),
    "regenerated": lambda: decoupled(Stream(3, 9), 31, hold="regenerated"),
    "facts": lambda: facts(
        np.random.default_rng(1).standard_normal((17, 6)),
        np.random.default_rng(2).standard_normal((5, 6)),
        targets=np.arange(17) % 5,
        block=3,
    ),
}


def in_xla(monkeypatch):
    """As where the fused pass over shared outputs cannot be built."""
    monkeypatch.setattr(shared_cpu, "available", lambda: False)


@pytest.mark.parametrize("name, fused", [
    *((name, True) for name in PROBLEMS), ("original", False), ("original, blocks of 4", False), ("facts", False),
])  # fmt: skip
def test_pass_against_dense_float64(name, fused, monkeypatch):
    if not fused:
        in_xla(monkeypatch)
    problem = PROBLEMS[name]()
    outputs, passed = all_outputs(problem), jax.jit(lambda p, q: p.recall(q))
    for scale in (0.1, 1.0, 30.0):
        queries = random_queries(*problem.inputs.shape, scale)
        recall = passed(problem, queries)
        # A score is a sum of d products: its rounding error is below d eps times the largest product sum.
        tolerance = 4 * problem.inputs.shape[1] * 1.2e-7 * 10 * max(scale, 1)
        for ours, exact in zip(recall, dense(queries, outputs, problem.targets)):
            np.testing.assert_allclose(ours, exact, atol=tolerance * 10, rtol=1e-5, err_msg=f"scale {scale}")
        assert (np.asarray(recall.margin) > 0).tolist() == np.asarray(recall.stored).tolist()


@pytest.mark.parametrize("name", ["original", "original, blocks of 4", "facts"])
def test_pass_in_float64_is_exact_to_float64(name):
    with jax.enable_x64(True):
        problem = jax.tree.map(lambda a: a.astype(jnp.float64) if a.dtype == jnp.float32 else a, PROBLEMS[name]())
        queries = random_queries(*problem.inputs.shape, 1.0).astype(jnp.float64)
        recall = problem.recall(queries)
        for ours, exact in zip(recall, dense(queries, all_outputs(problem), problem.targets)):
            assert ours.dtype == jnp.float64
            np.testing.assert_allclose(ours, exact, rtol=1e-12, atol=1e-12)


@settings(max_examples=6)
@given(n=st.integers(2, 12), m=st.integers(2, 9), d=st.integers(1, 6), block=st.integers(1, 14), seed=st.integers(0, 9))
def test_any_shape_and_block_size_in_xla(n, m, d, block, seed):
    random = np.random.default_rng(seed)
    inputs, outputs = random.standard_normal((n, d)), random.standard_normal((m, d))
    problem = facts(inputs, outputs, targets=random.integers(0, m, n), block=block)
    queries = random_queries(n, d, 1.0, seed)
    recall = shared_recall(queries, SharedOutputs(problem.outputs, problem.targets, block), "float32")
    for ours, exact in zip(recall, dense(queries, all_outputs(problem), problem.targets)):
        np.testing.assert_allclose(ours, exact, atol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_ties_count_as_violations(fused, monkeypatch):
    if not fused:
        in_xla(monkeypatch)
    outputs = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    problem = facts(np.eye(2), outputs, targets=[0, 2])
    recall = problem.recall(jnp.eye(2))
    assert recall.stored.tolist() == [False, True]
    assert recall.margin.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("precision", ["float16", "split"])
def test_lower_precision_stays_near_and_keeps_float32_sums(precision):
    problem = original(Stream(3, 30), 60)
    queries = random_queries(60, 30, 0.3)
    exact, rounded = problem.recall(queries), problem.recall(queries, precision)
    bits = {"float16": 11, "split": 21}[precision]
    # Two roundings of relative size 2^-bits on each of 30 products of deviation 0.3, accumulated at random.
    tolerance = 8 * 2.0**-bits * 0.3 * 30**0.5
    for ours, theirs in zip(rounded, exact):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, theirs, atol=tolerance)


def test_no_array_of_p_by_p_is_ever_held():
    """The compiled pass needs scratch memory of a few blocks of scores, whatever p is."""
    d, block = 8, 64
    for p in (1024, 4096):
        shape = jax.ShapeDtypeStruct((p, d), jnp.float32)
        places = jax.ShapeDtypeStruct((p,), jnp.int32)
        compiled = shared_recall.lower(shape, SharedOutputs(shape, places, block), "float32").compile()
        scratch = compiled.memory_analysis().temp_size_in_bytes
        assert scratch < 4 * (4 * block * p + 8 * p * d)
        assert scratch < 4 * p * p / 2


@pytest.mark.parametrize("precision", ["float32", "float16", "split"])
@pytest.mark.parametrize("n", [5, 2048, 5000])
def test_products_around_a_pass_against_float64(n, precision):
    random = np.random.default_rng(n)
    a, b, c = (random.standard_normal(shape) for shape in ((n, 7), (n, 4), (7, 3)))
    along, over = (jnp.asarray(part, jnp.float32) for part in (a, b))
    # Each operand rounds to half a unit of its 11th bit at most; the errors of a sum add as random ones do. Split, it
    # keeps as many bits again, and the sum in float32 counts for more.
    tolerance = 2e-6 if precision in ("float32", "split") else 2.0**-11
    for ours, exact in (
        (crossed(along, over, precision), a.T @ b),
        (product_around(along, jnp.asarray(c, jnp.float32), precision), a @ c),
    ):
        assert ours.dtype == jnp.float32
        assert np.linalg.norm(ours - exact) <= tolerance * np.linalg.norm(exact)


@pytest.mark.parametrize("precision, bits", [("float16", 11), ("split", 20)])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e6])
def test_products_of_float16_numbers_keep_the_bits_of_small_and_large_slopes(size, precision, bits):
    random = np.random.default_rng(0)
    slopes, inputs = size * random.standard_normal((300, 5)), random.standard_normal((300, 4))
    found = crossed(jnp.asarray(slopes, jnp.float32), jnp.asarray(inputs, jnp.float32), precision)
    assert np.linalg.norm(found - slopes.T @ inputs) < 2.0**-bits * np.linalg.norm(slopes.T @ inputs)
    nothing = crossed(jnp.zeros((300, 5)), jnp.asarray(inputs, jnp.float32), precision)
    assert not np.asarray(nothing).any()


@pytest.mark.parametrize("precision", ["float16", "split"])
@pytest.mark.parametrize("size", [1e-37, 3e38])
def test_the_smallest_and_the_largest_numbers_have_products(size, precision):
    numbers = jnp.asarray(size * np.array([[0.5], [-0.25], [1.0]]), jnp.float32)
    found = crossed(numbers, jnp.asarray([[0.5], [1.0], [0.125]]), precision)
    assert float(found[0, 0]) == pytest.approx(0.125 * size, rel=1e-3)


@pytest.mark.parametrize("precision", ["float16", "split"])
def test_products_of_blocks_are_summed_one_by_one(precision):
    random = np.random.default_rng(0)
    left, right = random.standard_normal((3, 400, 6)), random.standard_normal((3, 400, 4))
    total = products.summed_products(*(jnp.asarray(part, jnp.float32) for part in (left, right)), precision)
    tolerance = 2e-6 if precision == "split" else 2.0**-11
    exact = np.einsum("kni,knj->ij", left, right)
    assert np.linalg.norm(total - exact) <= tolerance * np.linalg.norm(exact)


@pytest.mark.parametrize("precision", ["float32", "float16", "split"])
def test_a_perfect_memory_has_no_slope_in_any_precision(precision):
    # Two facts in a memory so large that each target takes all the weight.
    outputs = random_queries(2, 6, 1.0)
    problem = facts(np.eye(2, 6), np.asarray(outputs))
    weights = jnp.asarray(200 * (outputs.T @ np.eye(2, 6)) @ np.diag([1, 1, 0, 0, 0, 0]), jnp.float32)
    loss = lambda memory: mean_loss(problem, memory, precision=precision)  # noqa: E731
    (_, recall), gradient = jax.value_and_grad(loss, has_aux=True)(Full(weights))
    assert recall.stored.all() and np.abs(gradient.weights).max() < 1e-7


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_gpu_is_asked_for_all_digits(precision):
    """On a CPU all are the same. A GPU rounds operands to 11 bits unless it is told not to."""
    ones = jnp.ones((2, 2), "float32")
    traced = jax.make_jaxpr(lambda a, b: product(a, b, (((1,), (0,)), ((), ())), precision))(ones, ones)
    (found,) = [one.params["precision"] for one in traced.eqns if one.primitive.name == "dot_general"]
    assert set(found) == {jax.lax.Precision.HIGHEST}


def test_every_block_that_has_a_counted_row_is_filled():
    """Ten rows in blocks of four: the last block is moved back to end with the tenth."""

    def recall_rows(start, rows):
        numbers = start + jnp.arange(rows, dtype=jnp.float32)
        return Recall(numbers, numbers, numbers, numbers[:, None])

    over = jax.jit(lambda count: over_blocks(recall_rows, 10, 1, jnp.float32, 4, count))
    for count in range(11):
        found = over(jnp.int32(count))
        filled = min(10, -(-count // 4) * 4)
        assert found.target.tolist() == [*range(filled), *[0] * (10 - filled)]
        assert (found.pull[:, 0] == found.target).all()
    for block in (3, 10, 11):
        assert over_blocks(recall_rows, 10, 1, jnp.float32, block).rival.tolist() == [*range(10)]
