import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from loadstone.theory.capacity import HEBBIAN_CAPACITY, capacity

KNOWN = {0.1: 0.156784, 0.25: 0.311456, 0.5: 0.446865, 0.75: 0.493524, 1: 0.5}


@pytest.mark.parametrize("kappa, known", KNOWN.items())
def test_known_values(kappa, known):
    assert capacity(kappa) == pytest.approx(known, abs=6e-7)


@pytest.mark.parametrize("kappa", [0.03, 0.4, 0.9])
def test_against_direct_quadrature(kappa):
    density = lambda s: (4 - s * s) ** 0.5 / 3.141592653589793  # noqa: E731
    lower = brentq(lambda x: quad(density, 0, x)[0] - (1 - kappa), 0, 2)
    assert capacity(kappa) == pytest.approx(0.5 * quad(lambda s: density(s) * s * s, lower, 2)[0], abs=1e-9)


def test_hebbian_rule_holds_a_quarter_of_the_optimum():
    assert HEBBIAN_CAPACITY == capacity(1) / 4


@pytest.mark.parametrize("kappa", [0, -0.1, 1.01, float("nan"), "1"])
def test_kappa_outside_its_range(kappa):
    with pytest.raises(ValueError, match="kappa is .* but must be a number in"):
        capacity(kappa)
