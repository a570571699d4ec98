"""Moments of singular values, and the Kolmogorov distance: what it is for matrices that follow the law."""

import numpy as np
import pytest

from loadstone.studies.kit.singular_values import (
    FOURTH,
    TOP,
    capacity_reference,
    kolmogorov,
    moments,
    square_reference,
)
from loadstone.theory.spectra import at_capacity, quarter_circle


def test_equal_singular_values_have_moments_of_one_on_every_scale():
    for scale in (1, 7.5):
        assert moments(np.full(7, scale)) == {FOURTH: pytest.approx(1), TOP: pytest.approx(1)}
    assert moments(np.array([3.0, 4.0])) == {
        FOURTH: pytest.approx((81 + 256) / 2 / 12.5**2), TOP: pytest.approx(4 / 12.5**0.5)
    }  # fmt: skip


def test_the_fourth_moment_is_the_scatter_of_the_squared_length_of_queries():
    """The relative variance of |W e|^2 over Gaussian inputs is 2 <s^4> / (<s^2>^2 d)."""
    random, values = np.random.default_rng(0), np.array([3.0, 1.0, 0.5, 2.0])
    lengths = ((random.standard_normal((200_000, 4)) * values) ** 2).sum(axis=1)
    assert lengths.var() / lengths.mean() ** 2 == pytest.approx(2 * moments(values)[FOURTH] / 4, rel=0.02)


def brute_force(values, law):
    """Both cumulative laws on a fine grid and just beside every value, after the second moments are made equal."""
    grid = np.linspace(law.lower, law.upper, 200_001)
    density = np.asarray(law.density((grid[1:] + grid[:-1]) / 2))
    moment = np.sum(density * ((grid[1:] + grid[:-1]) / 2) ** 2) / np.sum(density)
    values = values * np.sqrt(moment / np.mean(values**2))
    points = np.concatenate([grid, values - 1e-12, values + 1e-12])
    shares = np.mean(values[None, :] <= points[:, None], axis=1)
    return np.max(np.abs(shares - np.asarray(law.cdf(points))))


_RANDOM = np.random.default_rng(3).uniform(0.1, 1, 12)


@pytest.mark.parametrize("law", [quarter_circle(), at_capacity(0.5).nonzero()])
@pytest.mark.parametrize("values", [_RANDOM**0.3, _RANDOM, _RANDOM**3, np.array([0.01] + [1.0] * 7)])
def test_distance_by_brute_force(law, values):
    """Values that crowd above, below, or above all but one: the largest difference has either sign and is anywhere."""
    assert kolmogorov(values, law) == pytest.approx(brute_force(values, law), abs=2e-5)
    assert kolmogorov(values[::-1], law) == pytest.approx(kolmogorov(values, law), rel=1e-12)  # in any order


def test_distance_by_hand():
    # One value at the root of the second moment, 1: the quarter circle has mass F(1) below it.
    below = quarter_circle().cdf(1.0)
    assert kolmogorov(np.array([7.0]), quarter_circle()) == pytest.approx(max(below, 1 - below), abs=1e-6)
    exact = quarter_circle().quantile((np.arange(1000) + 0.5) / 1000)
    assert kolmogorov(exact, quarter_circle()) == pytest.approx(0.0005, abs=1e-4)


@pytest.mark.parametrize(("d", "rank", "drawn"), [(6, 6, 200), (6, 3, 200), (100, 2, 200), (101, 2, 30)])
def test_references_are_gaussian_matrices_cut_to_the_rank(d, rank, drawn):
    law = at_capacity(rank / d).nonzero()
    random = np.random.default_rng([d, rank])
    found = []
    for _ in range(drawn):
        matrix = random.standard_normal((d, d))
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(matrix.T @ matrix), 0))[::-1][:rank]
        found.append(kolmogorov(values, law))
    mean, deviation = capacity_reference(d, rank)
    assert mean == pytest.approx(np.mean(found), rel=1e-4)
    assert deviation == pytest.approx(np.std(found) * np.sqrt(drawn / (drawn - 1)), rel=1e-3)


def test_the_square_reference_is_the_quarter_circle_at_full_rank():
    # At full rank the law at capacity is the quarter circle.
    assert square_reference(5) == pytest.approx(capacity_reference(5, 5), rel=1e-6)
