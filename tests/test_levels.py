"""The best distances of levels, and what rounding with them changes."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from loadstone.levels import change_of, half_levels, step_of


def rounded(half, step):
    """The mean squared change of a normal number, piece by piece between the places where the nearest level changes."""
    levels = (np.arange(-half, half) + 0.5) * step
    squared = lambda x: ((x - levels[np.abs(levels - x).argmin()]) ** 2) * norm.pdf(x)  # noqa: E731
    edges = [-9, *(levels[1:] + levels[:-1]) / 2, 9]
    return sum(quad(squared, *part)[0] for part in zip(edges, edges[1:]))


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_the_change_is_an_integral_over_a_normal_number_and_the_least(bits):
    half, step = half_levels(bits), step_of(bits)
    assert half == 2 ** (bits - 1) and change_of(bits) == pytest.approx(rounded(half, step), rel=1e-7)
    assert change_of(bits) < min(rounded(half, 0.99 * step), rounded(half, 1.01 * step))


@pytest.mark.parametrize("bits, step, change", [
    (1, 1.5958, 0.3634), (2, 0.9957, 0.1188), (3, 0.5860, 0.03744), (4, 0.3352, 0.01154),
])  # fmt: skip
def test_steps_and_changes_are_those_of_max(bits, step, change):
    """J. Max, Quantizing for minimum distortion (1960), table II."""
    assert (step_of(bits), change_of(bits)) == (pytest.approx(step, abs=6e-5), pytest.approx(change, rel=5e-4))


def test_many_bits_change_little():
    """Of 16 bits the step is a ten-thousandth, and within the levels the change is that of an even distribution."""
    assert step_of(16) == pytest.approx(1.8122e-4, rel=1e-4)  # a flat minimum: half of the digits
    assert change_of(16) == pytest.approx(step_of(16) ** 2 / 12, rel=0.06)
