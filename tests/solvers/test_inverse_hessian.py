"""The inverse Hessian of L-BFGS, in its compact form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.solvers.inverse_hessian import no_pairs, times_inverse_hessian, with_pair


def two_loops(pairs, scale, gradient):
    """The same by the recursion of Nocedal and Wright (algorithm 7.4); the newest pair comes last."""
    vector, shares = gradient.copy(), []
    for move, change in reversed(pairs):
        shares.append(move @ vector / (move @ change))
        vector -= shares[-1] * change
    vector *= scale
    for (move, change), share in zip(pairs, reversed(shares)):
        vector += (share - change @ vector / (move @ change)) * move
    return vector


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 11])
def test_the_compact_form_is_the_recursion(count):
    """Before the four places are full, when they are, and after the oldest pairs were overwritten."""
    random = np.random.default_rng(count)
    with jax.enable_x64(True):
        pairs, last = no_pairs(4, jnp.zeros(9)), []
        assert int(pairs.kept) == 0
        for _ in range(count):
            move = random.standard_normal(9)
            change = move * random.uniform(0.5, 2, 9)
            pairs, last = with_pair(pairs, jnp.asarray(move), jnp.asarray(change), jnp.asarray(True)), last[-3:]
            last.append((move, change))
        scale = 0.7 if not last else last[-1][0] @ last[-1][1] / (last[-1][1] @ last[-1][1])
        pairs = pairs._replace(scale=jnp.asarray(scale)) if not last else pairs
        assert float(pairs.scale) == pytest.approx(scale, rel=1e-14)
        gradient = random.standard_normal(9)
        found = times_inverse_hessian(pairs, jnp.asarray(gradient))
        np.testing.assert_allclose(found, two_loops(last, scale, gradient), rtol=1e-11, atol=1e-12)


def test_the_inverse_hessian_of_a_quadratic():
    """After as many exact pairs as dimensions, it is the inverse Hessian itself."""
    random = np.random.default_rng(0)
    with jax.enable_x64(True):
        root = random.standard_normal((5, 5))
        hessian = root @ root.T + np.eye(5)
        pairs = no_pairs(5, jnp.zeros(5))
        # Conjugate moves: with these the pairs are exact.
        _, moves = np.linalg.eigh(hessian)
        for move in moves.T:
            pairs = with_pair(pairs, jnp.asarray(move), jnp.asarray(hessian @ move), jnp.asarray(True))
        vector = random.standard_normal(5)
        found = times_inverse_hessian(pairs, jnp.asarray(vector))
        np.testing.assert_allclose(found, np.linalg.solve(hessian, vector), rtol=1e-10)


def test_a_pair_that_tells_nothing_is_left_out():
    """One along which the gradient falls, and one that is not known."""
    with jax.enable_x64(True):
        pairs = with_pair(no_pairs(3, jnp.zeros(2)), jnp.ones(2), jnp.asarray([1.0, 2.0]), jnp.asarray(True))
        worse = with_pair(pairs, pairs.moves[0], -pairs.changes[0], jnp.asarray(True))
        unknown = with_pair(pairs, pairs.moves[0], pairs.changes[0], jnp.asarray(False))
        for same in (worse, unknown):
            assert all(np.array_equal(a, b) for a, b in zip(same, pairs))


def test_nothing_sends_a_search_on_a_gpu_back_to_the_host():
    """XLA puts products and loops into a graph, but not the solution of a triangular system, which is left to a
    library."""

    def both(pairs, gradient):
        return times_inverse_hessian(with_pair(pairs, gradient, 2 * gradient, jnp.asarray(True)), gradient)

    traced = jax.jit(both).trace(no_pairs(3, jnp.zeros(5)), jnp.ones(5))
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "dot_general" in text and "custom_call" not in text and "triangular_solve" not in text


@pytest.mark.parametrize("size", [1e-15, 1e-6, 1e6, 1e15])
def test_the_scale_of_pairs_does_not_matter(size):
    """In float32, as searches near their end have very short moves."""
    random, gradient, found = np.random.default_rng(1), jnp.ones(6), []
    curvature = random.uniform(0.5, 2, 6)
    all_moves = random.standard_normal((7, 6))
    for factor in (1.0, size):
        pairs = no_pairs(3, jnp.zeros(6))
        for move in factor * all_moves:
            moved, changed = (jnp.asarray(one, jnp.float32) for one in (move, curvature * move))
            pairs = with_pair(pairs, moved, changed, jnp.asarray(True))
        found.append(times_inverse_hessian(pairs, gradient))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)
