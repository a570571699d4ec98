"""Quantiles and exponents of passes, among searches that ran out of them."""

import math

import numpy as np
import pytest

from loadstone.studies.kit.passes import quantiles, slope, slope_error

#: The first is further away than what exponents are fitted to.
DISTANCES = np.tile([0.2, 0.1, 0.05, 0.02, 0.01, 0.0], (12, 1))


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("streams", [1, 4, 5])
def test_quantiles_are_the_usual_ones_where_every_search_ended(streams, share):
    passes = np.random.default_rng(streams).integers(1, 1000, (streams, 7)).astype(float)
    np.testing.assert_allclose(quantiles(passes, share), np.quantile(passes, share, axis=0), rtol=1e-12)


def test_a_quantile_that_needs_a_search_that_ran_out_is_infinite():
    passes = np.array([[50.0, 50.0, math.inf], [70.0, math.inf, math.inf], [60.0, 60.0, 60.0], [40.0, math.inf, 40.0]])
    assert quantiles(passes, 0.5).tolist() == [55, math.inf, math.inf]
    assert quantiles(passes, 0.0).tolist() == [40, 50, 40]


def test_the_exponent_of_a_power_law_is_seen_whatever_happens_far_away():
    with np.errstate(divide="ignore"):
        passes = 3 * DISTANCES**-1.5
    passes[:, 0] = 1e6
    assert slope(DISTANCES, passes) == pytest.approx(1.5)
    assert slope_error(DISTANCES, passes) == pytest.approx(0, abs=1e-9)


def test_the_error_of_an_exponent_is_the_scatter_of_exponents_of_new_streams():
    """Both are known to 5 %: they may differ by 4 sqrt(2) times that."""
    random = np.random.default_rng(3)

    def drawn():
        factors = np.exp(0.3 * random.standard_normal((12, 5)))
        return np.concatenate([DISTANCES[:, :-1] ** -1.5 * factors, np.full((12, 1), math.inf)], axis=1)

    scatter = np.std([slope(DISTANCES, drawn()) for _ in range(200)], ddof=1)
    assert np.mean([slope_error(DISTANCES, drawn()) for _ in range(20)]) == pytest.approx(scatter, rel=0.3)


def test_one_distance_has_no_exponent_and_two_streams_have_no_scatter():
    assert math.isnan(slope(np.array([[0.2, 0.1, 0.0]]), np.array([[5.0, 7.0, 9.0]])))
    two = DISTANCES[:2], np.ones((2, 6))
    assert slope(*two) == 0 and math.isnan(slope_error(*two))
