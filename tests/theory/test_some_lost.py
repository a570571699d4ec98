"""Capacity with losses: Gardner and Derrida's formula for two answers, brute force for few, and its limits."""

import numpy as np
import pytest
from scipy.stats import norm

from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import project
from loadstone.theory.some_lost import capacity_with_losses, codimension_with_losses


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3])
def test_two_answers_are_the_perceptron_of_gardner_and_derrida(share):
    """There dist^2 = x^2 for x > 0, x normal: E[x^2; 0 < x < c] with P(x > c) = share, by parts."""
    c = norm.isf(share)
    exact = 0.5 - share - c * norm.pdf(c)
    found = codimension_with_losses(2, share, 16)
    assert abs(found.value - exact) < 4 * found.error < 0.02


@pytest.mark.parametrize("m", [5, 300])
def test_it_is_the_mean_of_what_is_left_when_the_dearest_are_given_up(m):
    """All rivals drawn one by one, and the dearest left out; m = 300 has more of them than the formula keeps."""
    eta = np.random.default_rng(m).standard_normal((8000, m))
    distances = np.sort(((project(eta)[0] - eta) ** 2).sum(axis=1))[:-400]
    found = codimension_with_losses(m, 0.05, 16)
    scatter = distances.std() / np.sqrt(len(eta))
    assert abs(found.value - distances.sum() / len(eta)) < 4 * np.hypot(found.error, scatter)


def test_nothing_is_lost_below_the_number_of_which_one_may_be():
    assert codimension_with_losses(50, 0.0) == (codimension(50), 0)
    assert capacity_with_losses(16, 100).value == pytest.approx(float(capacity_associations(16)), abs=1e-6)
    values = [capacity_with_losses(32, one_in, 2).value for one_in in (1000, 100, 20)]
    assert values[0] == pytest.approx(float(capacity_associations(32)), abs=1e-6) and values == sorted(values)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match=r"share is 1.0, but must be a number in \[0, 1\)"):
        codimension_with_losses(5, 1.0)
    with pytest.raises(ValueError, match="one_in is 1, but must be"):
        capacity_with_losses(20, 1)
