"""The expected volume of the original problem: at most that of the decoupled one, and known for three outputs.

Given W and the outputs, the queries of different inputs are independent Gaussian vectors with one covariance. Let P_mu
be the probability that output mu wins such a query. Input mu needs output mu, so the expected volume is the mean of
prod_mu P_mu, where the P_mu add up to 1. By the inequality of the means the product is at most p^-p, which is the
expected volume of the decoupled problem: the annealed bound phi <= -alpha holds for the original problem too.
"""

import numpy as np
import pytest

from loadstone.estimate import mean_of


def volume_ratio(p, d, draws, queries):
    """E prod_mu (p P_mu): the expected volume of the original problem over that of the decoupled one, sampled.

    draws: of outputs and W. queries: for each output, drawn separately, so that the product has no bias.
    """
    random, products = np.random.default_rng(0), np.empty(draws)
    for place in range(draws):
        outputs = random.standard_normal((p, d)) @ random.standard_normal((d, d))
        # Scores of a query are the outputs times a Gaussian vector; only their span matters.
        root = np.linalg.qr(outputs.T, mode="r").T
        winners = (root @ random.standard_normal((root.shape[1], p * queries))).argmax(axis=0).reshape(p, queries)
        products[place] = np.prod([p * np.mean(winners[mu] == mu) for mu in range(p)])
    return mean_of(products)


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
