import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from loadstone.theory.capacity import (
    HEBBIAN_CAPACITY,
    asymptotic_capacity_associations,
    bits_per_parameter,
    capacity,
    capacity_associations,
    finite_capacity,
    hebbian_associations,
    parameters,
)
from loadstone.theory.codimension import codimension


@pytest.mark.parametrize("kappa", [0.03, 0.4, 0.9])
def test_against_direct_quadrature(kappa):
    density = lambda s: (4 - s * s) ** 0.5 / 3.141592653589793  # noqa: E731
    lower = brentq(lambda x: quad(density, 0, x)[0] - (1 - kappa), 0, 2)
    assert capacity(kappa) == pytest.approx(0.5 * quad(lambda s: density(s) * s * s, lower, 2)[0], abs=1e-9)


@pytest.mark.parametrize("kappa", [1e-26, 1e-12, 1e-6, 0.004, 0.0066, 0.3, 0.999])
def test_all_digits_at_small_rank_fractions(kappa):
    """In 60 digits: with s = 2 cos(x/2) the mass above s is (x - sin x) / pi."""
    with mpmath.workdps(60):
        share = mpmath.pi * mpmath.mpf(kappa)
        x = mpmath.findroot(lambda x: (x - mpmath.sin(x)) / share - 1, (6 * share) ** (mpmath.mpf(1) / 3), tol=1e-40)
        exact = (2 * x - mpmath.sin(2 * x)) / (4 * mpmath.pi)
        assert abs(capacity(kappa) / exact - 1) < 1e-14


def test_a_single_value_of_two_is_left_in_the_end():
    assert capacity(1e-28) == 2e-28 and capacity(1e-320) == 2e-320
    assert capacity_associations(10**8, 1e-320) == 1 and parameters(10, 1e-320) == 19
    with pytest.raises(ValueError, match="d is 100000001.0, but must be at most 1e.08"):
        capacity_associations(10**8 + 1)


def test_hebbian_rule_holds_a_quarter_of_the_optimum():
    assert HEBBIAN_CAPACITY == capacity(1) / 4 and capacity() == capacity(1.0) == 0.5


def test_rank_scales_the_finite_capacity():
    assert finite_capacity(500, 0.25) == pytest.approx(finite_capacity(500) * capacity(0.25) / 0.5, rel=1e-12)


@pytest.mark.parametrize("d, kappa", [(1, 1), (2, 1), (12, 1), (100, 0.5), (4096, 1)])
def test_capacity_associations_solve_their_equation(d, kappa):
    p = capacity_associations(d, kappa)
    low = int(p)
    need = lambda n: n * codimension(n) if n > 1 else 0.0  # noqa: E731
    room = 2 * capacity(kappa) * d**2
    assert need(low) <= room * (1 + 1e-9) and need(low + 1) > room * (1 - 1e-9)


def test_capacity_associations_at_sizes_that_were_seen():
    # Half-way point 261 at d = 40. Trained memories of rank kappa d at d = 50 all stored up to p = 335 and 250; the
    # thresholds 345 and 255 that were noted beside them rest on a Monte Carlo value of D(p), good to one per cent.
    assert round(capacity_associations(40)) == 261
    assert capacity_associations(50, 0.5) == pytest.approx(345, rel=0.01)
    assert capacity_associations(50, 0.25) == pytest.approx(255, rel=0.01)


def test_finite_sizes_hold_more_than_the_limit_says():
    d = np.array([10, 100, 1000, 10_000])
    ratio = capacity_associations(d) / asymptotic_capacity_associations(d)
    assert np.all(ratio > 1) and np.all(np.diff(ratio) < 0)
    assert np.all(hebbian_associations(d) < asymptotic_capacity_associations(d))


def test_parameters_of_a_rank_constrained_matrix():
    # 2 d m - m^2: both factors, less the m^2 numbers of a change of basis between them; d^2 at full rank.
    assert parameters(10) == 100
    assert parameters(10, 0.3) == 2 * 10 * 3 - 9
    assert parameters(3, 0.01) == 2 * 3 - 1


def test_bits_per_parameter_by_hand_and_in_the_limit():
    assert bits_per_parameter(4, 2) == pytest.approx(np.log2(24) / 4)
    assert bits_per_parameter(4, 2, content="choice") == pytest.approx(8 / 4)
    d = 10**9
    at_capacity = bits_per_parameter(asymptotic_capacity_associations(d), d, content="choice")
    assert at_capacity == pytest.approx(0.5 / np.log(2), rel=1e-6)
    with pytest.raises(ValueError, match="content is 'bytes', but must be"):
        bits_per_parameter(4, 2, content="bytes")
