"""Checks: the volume itself by Monte Carlo, bounds of the paper, closed forms at its ends, the cone at the other."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from loadstone.theory.codimension import codimension
from loadstone.theory.entropy import (
    annealed,
    energetic,
    energetic_lower_bound,
    energetic_upper_bound,
    finite_free_entropy,
    free_entropy,
    free_entropy_curve,
    overlap,
)


def energetic_limit(q):
    """G(q): the largest x_rho + beta eta_rho is near sqrt(1 + beta^2) sqrt(2 log p)."""
    return -1 / (1 - q)


def test_limit_lies_between_the_bounds_of_the_paper():
    q = np.linspace(0, 0.999, 200)
    assert np.all(energetic_lower_bound(q) <= energetic_limit(q))
    for k in (1, 5, 1000):
        assert np.all(energetic_limit(q) <= energetic_upper_bound(q, k))


@pytest.mark.parametrize("p", [3, pytest.param(7, marks=pytest.mark.soak)])
def test_energetic_term_against_plain_simulation(p):
    """f_p counted, not integrated: how often a random x makes the target win, for 2000 random eta."""
    random, q, inner = np.random.default_rng(4), 0.3, 4000
    beta = np.sqrt(q / (1 - q))
    logs = []
    for _ in range(2000):
        eta = random.standard_normal(p)
        scores = random.standard_normal((inner, p)) + beta * eta
        wins = (scores.argmax(axis=1) == 0).sum()
        # (wins + 1/2) / (inner + 1/2) has a logarithm with a bias of O(1/inner^2).
        logs.append(np.log((wins + 0.5) / (inner + 0.5)))
    counted, spread = np.mean(logs) / np.log(p), np.std(logs) / np.log(p) / np.sqrt(len(logs))
    estimate = energetic(q, p, samples=2000)
    assert abs(estimate.value - counted) < 4 * np.hypot(spread, estimate.error) + 2e-3


def test_ends_of_the_energetic_term():
    assert energetic(0, 50) == (-1, 0)
    # Near q = 1: (1-q) E log f_p tends to -D(p)/2; the correction is of the order of sqrt(1-q).
    q = 1 - 1e-6
    estimate = energetic(q, 20, samples=1000)
    assert (
        abs((1 - q) * estimate.value * np.log(20) + codimension(20) / 2)
        < 4 * (1 - q) * estimate.error * np.log(20) + 3e-3
    )


def test_arrays_are_taken_element_by_element():
    q = np.array([[0.0, 0.3], [0.6, 0.9]])
    together = energetic(q, 12, samples=40)
    assert together.value.shape == together.error.shape == (2, 2)
    for place in np.ndindex(2, 2):
        assert energetic(float(q[place]), 12, samples=40) == (together.value[place], together.error[place])
    both = finite_free_entropy([0.2, 5.0], 12, samples=40)
    assert both.phi[0] == finite_free_entropy(0.2, 12, samples=40).phi and both.phi[1] == -np.inf


@pytest.mark.soak
def test_error_bars_are_honest():
    values = np.array([energetic(0.6, 30, samples=100, seed=seed) for seed in range(40)])
    # The scatter of 40 values is known to 11 %.
    assert values[:, 0].std(ddof=1) == pytest.approx(values[:, 1].mean(), rel=0.45)


def test_closed_form_minimises_the_functional():
    for load in (0.05, 0.25, 0.45):
        functional = lambda q: 0.5 * np.log(1 - q) + q / (2 * (1 - q)) + load * energetic_limit(q)  # noqa: E731, B023
        found = minimize_scalar(functional, bounds=(0, 0.999), method="bounded", options={"xatol": 1e-9})
        assert overlap(load) == pytest.approx(found.x, abs=1e-5)
        assert free_entropy(load) == pytest.approx(found.fun, abs=1e-9)


def test_annealed_bound_and_divergence():
    load = np.linspace(0.01, 0.49, 40)
    assert np.all(free_entropy(load) <= annealed(load))
    assert free_entropy(0.5) == -np.inf and overlap(0.5) == 1
    assert free_entropy(0.5 - 1e-12) < -12


def test_finite_free_entropy_against_the_volume_itself():
    """d = 3, p = 2: the share of random W that store a random instance, its logarithm averaged over instances."""
    random, p, d, draws = np.random.default_rng(8), 2, 3, 5_000
    logs = []
    for _ in range(400):
        inputs, outputs = random.standard_normal((p, d)), random.standard_normal((p, p, d))
        w = random.standard_normal((draws, d, d))
        scores = np.einsum("mrd,ndk,mk->nmr", outputs, w, inputs)
        share = (scores.argmax(axis=2) == 0).all(axis=1).mean()
        logs.append(np.log(max(share, 0.5 / draws)) / d**2)
    theory = finite_free_entropy(p * np.log(p) / d**2, p)
    # Two constraints in nine dimensions: nearly orthogonal half-spaces. Corrections of the replica method are O(1/d^2).
    assert abs(np.mean(logs) - theory.phi) < 4 * np.std(logs) / 20 + 0.02


def test_finite_free_entropy_falls_diverges_and_respects_the_annealed_bound():
    p = 30
    capacity = np.log(p) / codimension(p)
    results = [finite_free_entropy(share * capacity, p, samples=30) for share in (0.2, 0.6, 0.9, 0.99)]
    assert all(a.phi > b.phi and a.q < b.q for a, b in zip(results, results[1:]))
    for share, result in zip((0.2, 0.6, 0.9, 0.99), results):
        assert result.phi <= annealed(share * capacity) + 4 * result.error
    assert results[-1].q > 0.9
    above = finite_free_entropy(1.001 * capacity, p)
    assert above.phi == -np.inf and above.q == 1


def test_a_curve_is_the_free_entropy_at_each_load():
    p, capacity = 12, np.log(12) / codimension(12)
    loads = np.array([0.3, 0.6, 0.9]) * capacity
    one_by_one, curve = finite_free_entropy(loads, p, samples=30), free_entropy_curve(loads, p, samples=30)
    # The same samples of eta: what differs is the interpolation in q.
    assert np.all(np.abs(curve.phi - one_by_one.phi) < 2e-3 * (1 + np.abs(one_by_one.phi)))
    assert np.all(np.abs(curve.q - one_by_one.q) < 0.02)
    above = free_entropy_curve(1.001 * capacity, p, samples=10)
    assert above.phi[0] == -np.inf and above.q[0] == 1


def test_a_curve_is_the_free_entropy_up_to_the_capacity():
    """Where solutions are so much alike that it was hardly sampled for greater overlaps."""
    load = 0.999 * np.log(2) / codimension(2)
    assert free_entropy_curve(load, 2, samples=30).phi[0] == pytest.approx(finite_free_entropy(load, 2).phi, rel=1e-3)


@pytest.mark.parametrize("call, name", [
    (lambda: energetic(1.0, 10), "q"), (lambda: energetic(-0.1, 10), "q"), (lambda: energetic(float("nan"), 10), "q"),
    (lambda: energetic(0.5, 1), "p"), (lambda: energetic(0.5, 10, samples=1), "samples"),
    (lambda: energetic_upper_bound(0.5, 0), "k"), (lambda: energetic_lower_bound([0.2, 1.0]), "q"),
    (lambda: free_entropy(0), "load"), (lambda: finite_free_entropy(-1, 5), "load"),
    # Above capacity nothing is sampled, so only the check looks at the number of samples.
    (lambda: finite_free_entropy(5.0, 12, samples=10**7 + 1), "samples"),
])  # fmt: skip
def test_bad_numbers_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"{name} is .* but must be"):
        call()


def test_one_association_has_no_curve():
    with pytest.raises(ValueError, match="p is 1"):
        free_entropy_curve(0.3, 1)
