"""The expected volume of the original problem: at most that of the decoupled one, and known for three outputs."""

import numpy as np
import pytest

from loadstone.theory.annealed import volume_ratio


def of_three(d, draws=4000):
    """P(z_1 largest of three) = 1/4 + arcsin(r) / (2 pi), r the correlation of z_1 - z_2 and z_1 - z_3."""
    random, products = np.random.default_rng(9), []
    for _ in range(draws):
        outputs = random.standard_normal((3, d)) @ random.standard_normal((d, d))
        shares = []
        for mu in range(3):
            first, second = (outputs[mu] - outputs[other] for other in range(3) if other != mu)
            shares.append(0.25 + np.arcsin(first @ second / np.sqrt(first @ first * (second @ second))) / (2 * np.pi))
        assert sum(shares) == pytest.approx(1)
        products.append(27 * np.prod(shares))
    return np.mean(products), np.std(products) / np.sqrt(draws)


@pytest.mark.parametrize("d", [2, 8])
def test_three_outputs_beside_the_closed_form(d):
    exact, exact_error = of_three(d)
    found = volume_ratio(3, d, draws=1500, queries=200)
    assert abs(found.value - exact) < 4 * np.hypot(found.error, exact_error)
    assert exact < 1 - 4 * exact_error


def test_never_more_than_decoupled_and_as_much_in_many_dimensions():
    small, large = (volume_ratio(4, d, draws=600, queries=300) for d in (3, 60))
    assert small.value < large.value < 1 + 4 * large.error and large.value > 0.9
    two = volume_ratio(2, 5, draws=600, queries=300)
    assert abs(two.value - 1) < 4 * two.error  # two outputs win half of the queries each, whatever they are


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="p is 1"):
        volume_ratio(1, 5)
