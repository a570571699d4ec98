"""Bounds on rounding, beside exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from loadstone.proofs.arithmetic import SLACK, TINY, UNIT, gamma, norm_above


def test_the_unit_is_that_of_float64_and_gamma_is_its_definition():
    assert UNIT == np.finfo(np.float64).eps / 2
    for n in (1, 2, 100, 10**6):
        exact = n * Fraction(UNIT) / (1 - n * Fraction(UNIT))
        assert abs(Fraction(gamma(n)) / exact - 1) < 4 * Fraction(UNIT)


def test_slack_covers_a_percent_and_tiny_all_that_underflows():
    """Of 10^15 numbers each loses less than the smallest normal number."""
    assert 1.005 < SLACK < 1.02 and 10**15 * np.finfo(np.float64).tiny < TINY < 1e-200


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-160, 1.0, 3e160, 1e300])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_norm_is_bounded_closely_from_above(scale, size):
    matrix = scale * np.random.default_rng(size).standard_normal((size, 2))
    squares = sum(Fraction(float(value)) ** 2 for value in matrix.ravel())
    bound = Fraction(norm_above(matrix))
    assert squares <= bound**2
    if scale > 1e-323:  # the smallest numbers are rounded coarsely
        assert bound**2 <= squares * (1 + Fraction(1, 10**11))


def test_norms_of_nothing_and_of_what_is_not_finite():
    assert norm_above(np.zeros((2, 2))) == 0 and norm_above(np.array([1.0, np.inf])) == np.inf
    assert np.isnan(norm_above(np.array([1.0, np.nan])))
