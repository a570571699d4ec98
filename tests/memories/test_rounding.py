"""Entries of few bits: levels, and the step that changes a normal number least."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

import loadstone
from loadstone.levels import change_of, step_of
from loadstone.memories.rounding import Rounded, nearest_levels, rounded_to_bits


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_there_are_so_many_levels_and_each_entry_is_at_the_nearest(bits):
    weights = np.random.default_rng(bits).standard_normal((100, 100))
    found = rounded_to_bits(weights, bits)
    step = step_of(bits) * np.sqrt((weights**2).mean())
    levels = (np.arange(-(2 ** (bits - 1)), 2 ** (bits - 1)) + 0.5) * step
    assert len(np.unique(found)) <= 2**bits and np.abs(np.unique(found)[:, None] - levels).min(axis=1).max() < 1e-9
    nearest = levels[np.abs(weights.ravel()[:, None] - levels).argmin(axis=1)]
    np.testing.assert_allclose(found.ravel(), nearest, atol=1e-9)


def test_one_bit_is_the_sign_and_the_best_steps_are_known():
    """The best uniform quantisers of a normal number (J. Max, IRE Transactions on Information Theory, 1960): mean
    squared errors of 0.3634, 0.1188, 0.03744 and 0.01154 for 1 to 4 bits."""
    weights = np.random.default_rng(0).standard_normal((20, 20))
    assert (np.sign(rounded_to_bits(weights, 1)) == np.sign(weights)).all()
    assert step_of(1) == pytest.approx(2 * np.sqrt(2 / np.pi), rel=1e-6)
    x = np.linspace(-8, 8, 400_001)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    for bits, known in ((1, 0.3634), (2, 0.1188), (3, 0.03744), (4, 0.01154)):
        errors = [(density * (x - nearest_levels(x, bits, step_of(bits) * f)) ** 2).sum() for f in (0.98, 1, 1.02)]
        assert errors[1] == pytest.approx(known, rel=1e-3) and errors[1] == min(errors)
        assert change_of(bits) == pytest.approx(errors[1], rel=1e-6)


def test_what_cannot_be_rounded():
    assert (rounded_to_bits(np.zeros((3, 3)), 4) == 0).all()
    for wrong in (0, 17, 2.5):
        with pytest.raises(ValueError, match="bits is"):
            rounded_to_bits(np.eye(3), wrong)


def test_gradients_pass_the_rounding_as_if_it_were_not_there():
    weights, inputs = (np.random.default_rng(k).standard_normal((4, 4)).astype(np.float32) for k in (1, 2))
    memory = Rounded(jnp.asarray(weights), 2)
    queries, pull = jax.vjp(lambda one: one.queries(jnp.asarray(inputs)), memory)
    np.testing.assert_allclose(queries, inputs @ rounded_to_bits(weights, 2).T, rtol=1e-5, atol=1e-5)
    (slope,) = pull(jnp.ones((4, 4)))
    np.testing.assert_allclose(slope.weights, np.tile(inputs.sum(axis=0), (4, 1)), rtol=1e-5, atol=1e-6)


def test_a_trained_memory_of_two_bits_stores_and_is_saved_as_what_it_is(tmp_path):
    problem = loadstone.original(loadstone.Stream(0, 8), 8)
    start = loadstone.initial_memory(8, family="rounded:2")
    found = loadstone.train(problem, start, solver="adam:0.1")
    assert loadstone.measure(problem, found.memory).violations == 0
    assert len(np.unique(np.asarray(found.memory.matrix()))) <= 4
    loadstone.save(tmp_path / "w.safetensors", found.memory)
    assert loadstone.measure(problem, loadstone.load(tmp_path / "w.safetensors")).violations == 0
    with pytest.raises(ValueError, match="bits is 0"):
        loadstone.initial_memory(8, family="rounded:0")


def test_a_file_cannot_hold_a_rounded_memory_before_it_is_rounded(tmp_path):
    save_file({"weights": np.ones((3, 3), np.float32)}, tmp_path / "w.safetensors", {"family": "rounded:2"})
    with pytest.raises(ValueError, match="one whose memories are kept in files"):
        loadstone.load(tmp_path / "w.safetensors")
