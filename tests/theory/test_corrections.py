"""Why the threshold approaches 1/2 so slowly: the first correction to D(p), beside D(p) itself.

A target that is raised to tau costs (tau - eta_1)^2, and each rival above tau what it exceeds it by. The least total is
at tau - eta_1 = sum (eta_rho - tau)_+. For large p the sum is near p phi(tau) / tau^2, so tau solves

    p phi(tau) = tau^3,   tau^2 = 2 log p - 3 log log p - log(16 pi) + o(1),

and D(p) = E(tau - eta_1)^2 + E sum (eta_rho - tau)_+^2 -> tau^2 + 1 + 2. So D(p) = 2 log p - 3 log log p + O(1), and

    alpha_c(p) = log p / D(p) = 1/2 + (3/4) log log p / log p + ...,   G_p / G = 1 - (3/2) log log p / log p + ...
"""

import numpy as np
import pytest
from scipy.optimize import brentq

from loadstone.theory.capacity import finite_capacity
from loadstone.theory.codimension import codimension
from loadstone.theory.scores import target_mean

#: D(p) = 2 log p - LOG_LOG log log p + O(1), and alpha_c(p) = 1/2 + THRESHOLD log log p / log p + ...
LOG_LOG, THRESHOLD = 3.0, 0.75
P = np.array([10**k for k in range(3, 16, 3)])


def crossing(p):
    """tau with p phi(tau) = tau^3."""
    constant = np.log(p) - np.log(2 * np.pi) / 2
    return brentq(lambda tau: constant - tau * tau / 2 - 3 * np.log(tau), 0.5, np.sqrt(2 * np.log(p)) + 1)


def expanded(sizes):
    """tau^2 + 3, to which D(p) tends; what is left out is of order 1 / log p."""
    return np.array([crossing(float(p)) ** 2 + 3 for p in sizes])


def test_the_expansion_approaches_the_exact_mean():
    left = np.asarray(codimension(P)) - expanded(P)
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
    gap = 2 * np.log(huge) - expanded(huge)
    assert np.diff(gap) / np.diff(np.log(np.log(huge))) == pytest.approx([LOG_LOG] * 2, rel=0.06)


def test_the_threshold_has_a_quarter_of_it():
    """It is approached from above: 0.94 is left of it at p = 10^15, and 0.83 at 10^100."""
    rest = (np.asarray(finite_capacity(P)) - 0.5) * np.log(P) / np.log(np.log(P))
    assert np.all(np.diff(rest) < 0) and rest[-1] > THRESHOLD
    huge = 10.0 ** np.array([30, 60, 100])
    further = (np.log(huge) / expanded(huge) - 0.5) * np.log(huge) / np.log(np.log(huge))
    assert np.all(np.diff(further) < 0) and THRESHOLD < further[-1] < 0.88


def test_the_crossing_is_where_targets_end():
    p = 10_000
    assert crossing(p) == pytest.approx(target_mean(p), abs=0.25)
    assert p * np.exp(-(crossing(p) ** 2) / 2) / np.sqrt(2 * np.pi) == pytest.approx(crossing(p) ** 3)
