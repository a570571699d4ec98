"""Checks: closed forms at small k and p, many digits, identities that the code does not use, random projections."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from loadstone.theory.codimension import codimension
from loadstone.theory.cone import (
    GRID,
    STEP,
    joint_log_density,
    log_solid_angles,
    merge_law,
    project,
)

KNOWN = {2: (1 / 2, 1 / 4), 3: (5 / 6, 0.472222), 10: (1.9920894, 1.51499), 50: (3.8824446, 3.83696),
         88: (4.6215914, 4.88471), 100: (4.793319, 5.13661)}  # fmt: skip


def test_solid_angle_of_three_vectors_by_spherical_trigonometry():
    # Three unit vectors 60 degrees apart: a spherical triangle of angles arccos(1/3), so of area 3 arccos(1/3) - pi.
    assert np.exp(log_solid_angles(3)[3]) == pytest.approx((3 * np.arccos(1 / 3) - np.pi) / (4 * np.pi), rel=1e-12)


def test_solid_angles_against_a_recursion_in_many_digits():
    """sum_k v_k(p) = 1 at p = n + 1 gives b_n from the ones before it; 50 digits survive the cancellation."""
    with mpmath.workdps(50):
        h = mpmath.mpf(1) / 20
        x = [h * i for i in range(-200, 201)]
        phi = [mpmath.ncdf(t) for t in x]
        angles = [mpmath.mpf(1)]
        for n in range(1, 8):
            below = mpmath.mpf(0)
            for k in range(n):
                weight = (mpmath.npdf(t, 0, 1 / mpmath.sqrt(k + 1)) for t in x)
                below += mpmath.binomial(n, k) * angles[k] * h * mpmath.fdot(weight, (c ** (n - k) for c in phi))
            angles.append(1 - below)
    np.testing.assert_allclose(np.exp(log_solid_angles(7)), [float(b) for b in angles], rtol=1e-12)


@pytest.mark.parametrize("p", KNOWN)
def test_known_means_and_variances(p):
    mean, variance = KNOWN[p]
    assert codimension(p) == pytest.approx(mean, rel=1e-7)
    assert merge_law(p).variance == pytest.approx(variance, rel=2e-6)


@pytest.mark.parametrize(
    "p, rel", [(2, 1e-12), (7, 1e-12), (100, 1e-12), (1000, 1e-11), (10**6, 1e-10), (10**12, 1e-8)]
)
def test_identities_of_intrinsic_volumes(p, rel):
    """They sum to 1 (total probability), and with alternating signs to 0 (Gauss-Bonnet), by no construction of ours."""
    v = merge_law(p).probabilities
    assert v.sum() == pytest.approx(1, rel=rel)
    assert abs(((-1) ** np.arange(len(v))) @ v) < rel
    # eta_1 is the largest of p equals, so nothing is merged with probability 1/p.
    assert v[0] == pytest.approx(1 / p, rel=max(rel, 1e-10))


@pytest.mark.parametrize("p", [4, 1000, 10**12])
def test_mean_of_k_is_the_mean_squared_distance(p):
    """E dist^2 = p - E |projection|^2, whose k+1 merged parts are tau and whose others are normal numbers below tau."""
    # For those E[1 - eta^2 | eta < tau] = tau phi(tau) / Phi(tau).
    density = np.exp(joint_log_density(p, GRID)) * STEP
    k = np.arange(len(density))[:, None]
    inverse_mills = np.exp(-(GRID**2) / 2 - log_ndtr(GRID)) / np.sqrt(2 * np.pi)
    lost = (k + 1) * (1 - GRID**2) + (p - 1 - k) * GRID * inverse_mills
    assert (density * lost).sum() == pytest.approx(codimension(p), rel=1e-6)


@pytest.mark.parametrize("p, draws", [(3, 200_000), (30, 100_000), (1000, 2000)])
def test_monte_carlo_projections_follow_the_law(p, draws):
    random = np.random.default_rng(5)
    merged = np.concatenate([project(random.standard_normal((draws // 8, p)))[1] for _ in range(8)])
    law = merge_law(p)
    # Four standard errors of a mean; of a variance, with the fourth moment of k itself.
    assert abs(merged.mean() - law.mean) < 4 * np.sqrt(law.variance / draws)
    fourth = (np.arange(len(law.probabilities)) - law.mean) ** 4 @ law.probabilities
    assert abs(merged.var() - law.variance) < 4 * np.sqrt((fourth - law.variance**2) / draws)
    counts = np.bincount(merged, minlength=len(law.probabilities))[: len(law.probabilities)]
    expected = draws * law.probabilities
    often = expected > 10
    chi_square = ((counts - expected)[often] ** 2 / expected[often]).sum()
    assert chi_square < often.sum() + 5 * np.sqrt(2 * often.sum())


@given(st.integers(2, 12), st.integers(0, 1000))
def test_projection_is_the_nearest_point_of_the_cone(p, seed):
    eta = np.random.default_rng(seed).standard_normal(p)
    projected, merged = project(eta)
    assert np.all(projected[0] >= projected[1:])
    assert merged == np.sum((projected[1:] == projected[0]) & (eta[1:] != projected[1:]))
    # Moreau: the rest is orthogonal to the projection and in the polar cone, whose members have a first component <= 0
    # that the others, all >= 0, make up for.
    rest = eta - projected
    assert abs(rest @ projected) < 1e-9 and rest[0] <= 1e-12
    assert np.all(rest[1:] >= 0) and abs(rest.sum()) < 1e-9


@pytest.mark.parametrize("p", [1, 2.5, float("nan"), 1e16, "10", [5, 0]])
def test_bad_p_is_refused_by_name(p):
    with pytest.raises(ValueError, match="answers is .* but must be whole, at least 2"):
        codimension(p)
    with pytest.raises(ValueError, match="p is .* but must be"):
        merge_law(p)


def test_bad_vectors_are_refused():
    for bad in (3.0, [1.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="eta is .* but must be"):
            project(bad)
