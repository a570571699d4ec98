"""Means of numbers of which some are only known to lie below or above a bound."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from loadstone.studies.kit.censored import censored_mean


def test_without_bounds_it_is_the_ordinary_mean():
    values = [1.0, 2.0, 4.0]
    found = censored_mean(values)
    assert found.mean == pytest.approx(7 / 3) and found.deviation == pytest.approx(np.std(values, ddof=1))
    assert found.error == pytest.approx(np.std(values, ddof=1) / math.sqrt(3))
    alone = censored_mean([3.0])
    assert (alone.mean, alone.error) == (3.0, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_most_likely_mean(seed):
    """Beside a direct maximisation of the likelihood, and second differences of it for the error."""
    x = np.random.default_rng(seed).normal(3, 2, 30)
    known, below, above = x[(x > 2) & (x < 5)], [2.0] * int((x <= 2).sum()), [5.0] * int((x >= 5).sum())
    found = censored_mean(known, below, above)

    def cost(at):
        mean, deviation = at
        rest = len(below) * norm.logcdf((2 - mean) / deviation) + len(above) * norm.logsf((5 - mean) / deviation)
        return -(norm.logpdf(known, mean, deviation).sum() + rest)

    best = minimize(cost, [3.0, 2.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    assert found.mean == pytest.approx(best[0], abs=1e-5)
    assert found.deviation == pytest.approx(best[1] * math.sqrt(30 / 29), abs=1e-5)
    h, at = 1e-3, np.array([found.mean, found.deviation])
    steps = np.eye(2) * h
    signs = [(s, r) for s in (1, -1) for r in (1, -1)]
    second = [[sum(s * r * cost(at + s * a + r * b) for s, r in signs) / (2 * h) ** 2 for a in steps] for b in steps]
    assert found.error == pytest.approx(math.sqrt(np.linalg.inv(second)[0, 0]), rel=1e-3)


def test_it_is_mirrored():
    one, other = censored_mean([1.0, 2.0, 2.5], [0.5]), censored_mean([-1.0, -2.0, -2.5], [], [-0.5])
    assert one.mean == pytest.approx(-other.mean) and one.error == pytest.approx(other.error)


def test_it_has_no_bias_where_leaving_out_has_one_and_its_error_is_true():
    """Ten normal numbers each time; those below -0.5 are only known to be there."""
    random, means, ratios, left_out = np.random.default_rng(0), [], [], []
    for x in random.standard_normal((600, 10)):
        known = x[x > -0.5]
        if (found := censored_mean(known, [-0.5] * (10 - len(known)))) is not None:
            means.append(found.mean)
            ratios.append(found.mean / found.error)
            left_out.append(known.mean())
    assert len(means) > 580 and np.mean(left_out) > 0.4
    # 600 means of deviation 0.35: four standard errors, and the known bias of order 1/n of a most likely value.
    assert abs(np.mean(means)) < 0.057 + 0.03
    # A Student ratio with 9 degrees of freedom has a deviation of 1.13, and 600 of them tell theirs to 3 %.
    assert np.std(ratios) == pytest.approx(1.1, abs=0.14)


def test_bounds_alone_give_no_mean():
    assert censored_mean([], [1.0]) is None and censored_mean([2.0], [1.0]) is None and censored_mean([]) is None
    assert censored_mean([2.0, 2.0], [1.0]) is None  # no scatter, so that nothing is known about its size
    found = censored_mean([2.0, 2.0], [1.0], least=0.5)
    assert 1 < found.mean < 2 and found.deviation >= 0.5 and found.error > 0
