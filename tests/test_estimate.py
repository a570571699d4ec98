"""Means and their errors, against their definitions."""

import math
import statistics

import numpy as np
import pytest

from loadstone.estimate import Estimate, deviation, mean_of

VALUES = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0]


def test_the_mean_and_its_error_are_those_of_the_textbook():
    found = mean_of(VALUES)
    assert found.value == pytest.approx(statistics.fmean(VALUES))
    assert found.error == pytest.approx(statistics.stdev(VALUES) / math.sqrt(6))
    assert mean_of(np.array(VALUES)) == found


def test_a_resolution_adds_in_quadrature():
    assert mean_of(VALUES, 2.0).error == pytest.approx(math.hypot(mean_of(VALUES).error, 2.0))


def test_one_value_has_no_scatter():
    assert deviation([7.0]) == 0 and mean_of([7.0]) == Estimate(7.0, 0.0) and mean_of([7.0], 0.5).error == 0.5


def test_the_error_of_a_mean_is_how_means_scatter():
    """4000 means of ten normal numbers: their scatter is known to 1.1 %, and must be the error that each states."""
    drawn = np.random.default_rng(0).normal(5, 2, (4000, 10))
    found = [mean_of(row) for row in drawn]
    scatter = np.std([one.value for one in found])
    stated = np.sqrt(np.mean([one.error**2 for one in found]))
    assert scatter == pytest.approx(stated, rel=5 * 0.0113 * math.sqrt(2))
