"""The first correction to D(p), beside D(p) itself."""

import numpy as np
import pytest

from loadstone.theory.capacity import finite_capacity
from loadstone.theory.codimension import codimension
from loadstone.theory.corrections import LOG_LOG, THRESHOLD, crossing, expanded_mean_merged
from loadstone.theory.scores import target_mean

P = np.array([10**k for k in range(3, 16, 3)])


def test_the_expansion_approaches_the_exact_mean():
    left = np.asarray(codimension(P)) - np.asarray(expanded_mean_merged(P))
    assert np.all(np.diff(np.abs(left)) < 0) and abs(left[-1]) < 0.25
    # What is left out is of order 1 / log p: multiplied by it, the last three hardly change.
    scaled = (left * np.log(P))[2:]
    assert np.ptp(scaled) < 0.15 * np.abs(scaled).mean()


def test_the_constant_is_three():
    gap = 2 * np.log(P) - np.asarray(codimension(P))
    slopes = np.diff(gap) / np.diff(np.log(np.log(P)))
    # It is approached from above, slowly: D(p) and its expansion, which has the constant, do so side by side.
    assert np.all(np.diff(slopes[1:]) < 0) and LOG_LOG < slopes[-1] < LOG_LOG + 0.35
    huge = 10.0 ** np.array([60, 80, 100])
    expanded = 2 * np.log(huge) - np.asarray(expanded_mean_merged(huge))
    assert np.diff(expanded) / np.diff(np.log(np.log(huge))) == pytest.approx([LOG_LOG] * 2, rel=0.06)


def test_the_threshold_has_a_quarter_of_it():
    """It is approached from above: 0.94 is left of it at p = 10^15, and 0.83 at 10^100."""
    rest = (np.asarray(finite_capacity(P)) - 0.5) * np.log(P) / np.log(np.log(P))
    assert np.all(np.diff(rest) < 0) and rest[-1] > THRESHOLD == 0.75
    huge = 10.0 ** np.array([30, 60, 100])
    further = (np.log(huge) / np.asarray(expanded_mean_merged(huge)) - 0.5) * np.log(huge) / np.log(np.log(huge))
    assert np.all(np.diff(further) < 0) and THRESHOLD < further[-1] < 0.88


def test_the_crossing_is_where_targets_end():
    p = 10_000
    assert crossing(p) == pytest.approx(target_mean(p), abs=0.25)
    assert p * np.exp(-(crossing(p) ** 2) / 2) / np.sqrt(2 * np.pi) == pytest.approx(crossing(p) ** 3)
    with pytest.raises(ValueError, match="p is 2"):
        crossing(2)
