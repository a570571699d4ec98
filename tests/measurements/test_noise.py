"""Checks: one rival by hand, measured beside predicted, bounds on both sides, limits of little and much noise."""

import numpy as np
import pytest
from scipy.stats import norm

from loadstone.measurements.noise import measured_noisy_accuracy, predicted_noisy_accuracy
from loadstone.memories.full import Full
from loadstone.problems.arrays import Arrays
from loadstone.solvers.margin import maximum_margin


def instance(d, p, decoupled, seed=0):
    random = np.random.default_rng(seed)
    outputs = random.standard_normal((p, p, d) if decoupled else (p, d))
    return Arrays(random.standard_normal((p, d)), outputs, np.arange(p))


def test_one_rival_by_hand():
    """Margin 6 with a noise of variance sigma^2 |W^T (u_1 - u_2)|^2 = 4 * 13: no approximation at all."""
    arrays = Arrays(np.array([[0.0, 2.0]]), np.array([[1.0, 1.0], [-1.0, 0.0]]), np.array([0]))
    memory = Full(np.array([[1.0, 1.0], [0.0, 1.0]]))  # u W: (1, 2) and (-1, -1)
    found = predicted_noisy_accuracy(arrays, memory, noise=2.0)
    exact = norm.cdf(6 / np.sqrt(4 * 13))
    assert found.predicted == pytest.approx(exact, abs=1e-9)
    assert found.at_least == pytest.approx(exact) and found.at_most == pytest.approx(exact)
    measured, error = measured_noisy_accuracy(arrays, memory, noise=2.0, draws=4000)
    assert abs(measured - exact) < 4 * error


@pytest.mark.parametrize("decoupled", [True, False])
@pytest.mark.parametrize("noise", [0.2, 0.4, 0.8])
def test_measured_beside_predicted(decoupled, noise):
    arrays = instance(12, 20, decoupled)
    memory = maximum_margin(arrays, tolerance=1e-3).memory
    found = predicted_noisy_accuracy(arrays, memory, noise=noise)
    measured, error = measured_noisy_accuracy(arrays, memory, noise=noise, draws=250)
    assert found.at_least - 4 * error <= measured <= found.at_most + 4 * error
    # What the next rival meets is no longer quite normal.
    assert abs(found.predicted - measured) < 0.01 + 4 * error
    assert found.at_least <= found.predicted <= found.at_most


def test_limits_of_little_and_much_noise():
    arrays = instance(12, 20, True)
    memory = maximum_margin(arrays, tolerance=1e-3).memory
    assert predicted_noisy_accuracy(arrays, memory, noise=1e-6).at_least == pytest.approx(1, abs=1e-12)
    accuracies = [predicted_noisy_accuracy(arrays, memory, noise=sigma).predicted for sigma in (0.1, 0.5, 2.0, 1e6)]
    assert np.all(np.diff(accuracies) < 0)
    assert measured_noisy_accuracy(arrays, memory, noise=1e6, draws=200)[0] == pytest.approx(1 / 20, abs=0.02)


def test_refusals():
    arrays = instance(4, 3, False)
    with pytest.raises(ValueError, match="noise is 0, but must be"):
        predicted_noisy_accuracy(arrays, Full(np.eye(4)), noise=0)
    with pytest.raises(ValueError, match="memory is 'of d = 5', but must be one of d = 4"):
        measured_noisy_accuracy(arrays, Full(np.eye(5)), noise=0.1)
