"""Memories of two layers: their queries, their files, their families, and that they train through the pass."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy.special import ndtr

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.files import load_memory, save_memory
from loadstone.memories.two_layers import TwoLayers
from loadstone.problems.original import original
from loadstone.solvers.decide import decide
from loadstone.solvers.solve import solve
from loadstone.streams.stream import Stream

BY_HAND = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * ndtr(x),
    "attention": lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_queries_are_values_weighed_by_keys(name):
    memory = initial_memory(6, seed=3, family=f"{name}:9")
    inputs = np.asarray(Stream(0, 6).inputs(5))
    keys, values = (np.asarray(part, np.float64) for part in (memory.keys, memory.values))
    assert keys.shape == (9, 6) and values.shape == (6, 9)
    expected = BY_HAND[name](inputs @ keys.T) @ values.T
    # JAX's gelu is the usual approximation by tanh, which is off by up to 5e-4; values are about 1/6.
    tolerance = 1e-3 if name == "gelu" else 1e-6
    np.testing.assert_allclose(memory.queries(jnp.asarray(inputs)), expected, atol=tolerance, rtol=1e-5)


def test_a_start_has_hidden_inputs_of_variance_one():
    memory = initial_memory(30, family="relu:200")
    hidden = np.asarray(Stream(1, 30).inputs(200)) @ np.asarray(memory.keys).T
    assert np.var(hidden) == pytest.approx(1, abs=0.1)


def test_an_attention_starts_with_scores_that_differ():
    """Scores of many outputs for one query have the deviation |query|, and its square is known to a few per cent."""
    memory, inputs = initial_memory(50, family="attention:100"), np.asarray(Stream(1, 50).inputs(400))
    queries = np.asarray(memory.queries(jnp.asarray(inputs)))
    apart = queries - queries.mean(axis=0)  # what all queries share tells no input from another
    # The weights have a deviation of sqrt(e - 1) / h in the limit of many hidden units.
    assert np.sqrt((apart**2).sum(axis=1).mean()) == pytest.approx(5, rel=0.15)


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_they_store_more_than_a_linear_memory_could(name):
    # At d = 10 a full W holds 30 facts, and 45 of this stream are proved to be too many for it.
    problem = original(Stream(0, 10), 45)
    assert decide(problem).verdict == "not storable"
    assert solve(problem, initial_memory(10, family=f"{name}:40")).status == "stored"


@pytest.mark.parametrize("name", BY_HAND)
def test_they_can_do_what_a_linear_memory_of_low_rank_does(name):
    """With small keys gelu is x / 2, and a softmax is (1 + x - mean x) / h; relu(x) - relu(-x) is x."""
    problem = original(Stream(0, 8), 14)
    linear = solve(problem, initial_memory(8, 0.5, seed=0))
    assert linear.status == "stored"
    left, right = (np.asarray(part, np.float64) for part in (linear.memory.left, linear.memory.right))
    if name == "relu":
        keys, values = np.concatenate([right.T, -right.T]), np.concatenate([left, -left], axis=1)
    elif name == "gelu":
        keys, values = right.T / 1e3, 2e3 * left
    else:
        # One more unit, so that the values add up to zero and the keys can have any mean.
        keys = np.concatenate([right.T, np.zeros((1, 8))]) / 1e3
        values = 5e3 * np.concatenate([left, -left.sum(axis=1, keepdims=True)], axis=1)
    memory = TwoLayers(jnp.asarray(keys, jnp.float32), jnp.asarray(values, jnp.float32), name)
    assert keys.shape[0] == {"relu": 8, "gelu": 4, "attention": 5}[name] and measure(problem, memory).violations == 0


def test_files(tmp_path):
    memory = initial_memory(4, family="gelu:7")
    save_memory(tmp_path / "m.safetensors", memory)
    again = load_memory(tmp_path / "m.safetensors")
    assert isinstance(again, TwoLayers) and again.activation == "gelu"
    jax.tree.map(np.testing.assert_array_equal, again, memory)
    for keys, values in (((7, 4), (7, 4)), ((7,), (7,)), ((0, 4), (4, 0)), ((7, 0), (0, 7)), ((2, 3, 2), (2, 3, 2))):
        save_file({"keys": np.zeros(keys), "values": np.zeros(values)}, tmp_path / "bad", metadata={"family": "relu"})
        with pytest.raises(ValueError, match=r"keys \(h, d\) and values \(d, h\)"):
            load_memory(tmp_path / "bad")


def test_it_has_no_matrix_and_no_linear_map_changes_it():
    memory = initial_memory(4, family="gelu:3")
    with pytest.raises(NotImplementedError, match="TwoLayers is not a linear map, or does not say its matrix"):
        memory.matrix()
    assert not memory.is_dense("float16") and memory.transformed(np.eye(4), np.eye(4)) is None and memory.fixed == ()
