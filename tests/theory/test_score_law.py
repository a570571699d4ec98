"""Checks: projections of random vectors, moments from identities, densities that must integrate to one."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from loadstone.theory.cone import project
from loadstone.theory.scores import (
    rival_density,
    rival_deviation,
    target_density,
    target_deviation,
    target_mean,
)


def rival_mean(p):
    """The sum of all scores has mean 0, and the projection keeps the sum."""
    return -target_mean(p) / (p - 1)


@pytest.mark.parametrize("p, draws", [(2, 100_000), (10, 100_000), (300, 10_000)])
def test_against_projections_of_random_vectors(p, draws):
    scores, _ = project(np.random.default_rng(11).standard_normal((draws, p)))
    target, rival = scores[:, 0], scores[:, 1]
    for values, mean, deviation in (
        (target, target_mean(p), target_deviation(p)),
        (rival, rival_mean(p), rival_deviation(p)),
    ):
        assert abs(values.mean() - mean) < 4 * deviation / np.sqrt(draws)
        # A variance scatters by at most sqrt(kurtosis / draws); kurtosis stays below 4 for these laws.
        assert abs(values.var() - deviation**2) < 4 * 2 * deviation**2 / np.sqrt(draws)
    for values, density in ((target, target_density), (rival, rival_density)):
        grid = np.linspace(-7, 7, 7001)
        cumulative = np.cumsum(density(grid, p)) * (grid[1] - grid[0])
        # Kolmogorov: a distance beyond 2.2 / sqrt(n) has probability 1e-4; half a step of the grid is added.
        assert kstest(values, lambda x: np.interp(x, grid, cumulative)).statistic < 2.2 / np.sqrt(draws) + 0.002  # noqa: B023


def test_two_associations_by_hand():
    # tau is the larger of two halves: eta_1 if eta_1 > eta_2, else their mean; E tau = E (eta_1 - eta_2)_+ / 2.
    assert target_mean(2) == pytest.approx(1 / (2 * np.sqrt(np.pi)), rel=1e-10)
    assert rival_mean(2) == pytest.approx(-1 / (2 * np.sqrt(np.pi)), rel=1e-10)
    assert target_density(0.3, 2) == pytest.approx(
        norm.pdf(0.3) * norm.cdf(0.3) + 0.5 * norm.pdf(0.3, scale=np.sqrt(0.5)), rel=1e-12
    )


@pytest.mark.parametrize("p", [2, 100, 10**6, 10**12])
def test_densities_integrate_to_one_and_give_the_moments(p):
    for density, mean, deviation in (
        (target_density, target_mean(p), target_deviation(p)),
        (rival_density, rival_mean(p), rival_deviation(p)),
    ):
        # Points that are not those of the module's own grid.
        x, weight = np.linspace(-9, 11.9, 7919, retstep=True)
        values = weight * density(x, p)
        assert values.sum() == pytest.approx(1, abs=1e-6)
        assert x @ values == pytest.approx(mean, abs=1e-6)
        assert (x - mean) ** 2 @ values == pytest.approx(deviation**2, abs=1e-6)


def test_targets_concentrate_while_rivals_become_normal():
    p = np.array([10, 10**3, 10**6, 10**9])
    assert np.all(np.diff(target_deviation(p)) < 0)
    assert abs(rival_deviation(10**9) - 1) < 1e-6
    ratio = target_mean(p) / np.sqrt(2 * np.log(p))
    assert np.all(np.diff(ratio) > 0) and ratio[-1] < 1


@pytest.mark.parametrize("call, name", [(lambda: target_mean(1), "p"), (lambda: target_density(np.nan, 10), "score"),
                                        (lambda: rival_density(0.0, 1.5), "p")])  # fmt: skip
def test_bad_numbers_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"{name} is .* but must be"):
        call()
