"""Scores of solutions against closed forms, rejection sampling, both ends of the overlap, and noise that is drawn."""

import math

import numpy as np
import pytest
from scipy.special import log_ndtr

from loadstone.memories.rounding import rounded_to_bits
from loadstone.theory.margin import largest_margin
from loadstone.theory.scores import target_mean
from loadstone.theory.solution_scores import recalled_with_noise, rounding_noise, solution_scores, with_margin


def error_of(values):
    return values.std(ddof=1) / math.sqrt(len(values))


@pytest.mark.parametrize("q", [0.2, 0.9])
def test_two_outputs_in_closed_form(q):
    """The margin is normal with mean sqrt(q) (eta_1 - eta_2) and variance 2 (1 - q), given that it is positive."""
    found = solution_scores(q, 2, 40, 2000)
    xi = np.arange(-9, 9, 0.01)  # (eta_1 - eta_2) / sqrt(2)
    mean, deviation = math.sqrt(2 * q) * xi, math.sqrt(2 * (1 - q))
    inverse_mills = np.exp(-((mean / deviation) ** 2) / 2 - log_ndtr(mean / deviation)) / math.sqrt(2 * math.pi)
    weights = np.exp(-(xi**2) / 2) * 0.01 / math.sqrt(2 * math.pi)
    expected = weights @ (mean + deviation * inverse_mills)
    for scores, scale in ((found.typical, 1.0), (found.centre, math.sqrt(q))):
        margin = scale * (scores[:, 0] - scores[:, 1])
        assert (margin > 0).all() and abs(margin.mean() - expected) < 4 * error_of(margin)


def test_typical_scores_against_rejection():
    """Each eta keeps the first x that lets the target win."""
    q, p, random = 0.5, 5, np.random.default_rng(1)
    eta = random.standard_normal((4000, p))
    drawn, left = np.empty_like(eta), np.arange(len(eta))
    while len(left):
        tried = math.sqrt(q) * eta[left] + math.sqrt(1 - q) * random.standard_normal((len(left), p))
        wins = tried.argmax(axis=1) == 0
        drawn[left[wins]] = tried[wins]
        left = left[~wins]
    found = solution_scores(q, p, 60, 2000, seed=3).typical
    assert (found.argmax(axis=1) == 0).all()
    for power in (1, 2):
        for one, other in ((found[:, 0], drawn[:, 0]), (found[:, 1], drawn[:, 1]), (found.max(axis=1), drawn[:, 0])):
            assert abs((one**power).mean() - (other**power).mean()) < 4 * math.hypot(
                error_of(one**power), error_of(other**power)
            )


def test_both_ends_of_the_overlap():
    """At q = 0 the target is the largest of p normal numbers; towards q = 1 it is the one at capacity."""
    largest = np.random.default_rng(0).standard_normal((40_000, 12)).max(axis=1)
    none = solution_scores(0, 12, 200, 1500)
    assert abs(none.typical[:, 0].mean() - largest.mean()) < 4 * math.hypot(
        error_of(none.typical[:, 0]), error_of(largest)
    )
    assert np.isnan(none.centre).all()
    full = solution_scores(0.9999, 12, 200, 1500)
    for scores in (full.typical, full.centre):
        assert abs(scores[:, 0].mean() - target_mean(12)) < 4 * error_of(scores[:, 0]) + 0.02  # sqrt(1 - q) is left


def test_the_largest_margin_has_its_margin_and_its_cost():
    p, delta = 10, 60.0
    scores, kappa = solution_scores(0.3, p, delta, 300).largest_margin, largest_margin(delta, p)
    margins = scores[:, 0] - scores[:, 1:].max(axis=1)
    assert margins.min() == pytest.approx(kappa)
    # All of delta is spent: N times the mean squared distance.
    eta = np.random.default_rng(5).standard_normal((3000, p))
    distance = ((with_margin(eta, kappa) - eta) ** 2).sum(axis=1)
    assert abs(distance.mean() - delta / p) < 4 * error_of(distance)


@pytest.mark.parametrize("variance", [0.01, 0.3, 2.0])
def test_noise_that_is_drawn_loses_as_many(variance):
    scores, random = solution_scores(0.6, 8, 50, 500).centre, np.random.default_rng(2)
    wins = [
        (scores + math.sqrt(variance) * random.standard_normal(scores.shape)).argmax(axis=1) == 0 for _ in range(200)
    ]
    found = recalled_with_noise(scores, variance)
    assert ((found >= 0) & (found <= 1 + 1e-9)).all()
    assert abs(found.mean() - np.mean(wins)) < 4 * 0.5 / math.sqrt(500 * 200)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_rounding_is_a_smaller_memory_with_noise(bits):
    """Of rounded normal numbers, taken as a multiple of the numbers and a rest."""
    numbers = np.random.default_rng(bits).standard_normal((700, 700))
    rounded = rounded_to_bits(numbers, bits)
    kept = (rounded * numbers).mean() / (numbers**2).mean()
    noise = ((rounded - kept * numbers) ** 2).mean() / kept**2
    assert noise == pytest.approx(rounding_noise(bits), rel=0.02)
    if bits == 1:
        assert rounding_noise(1) == pytest.approx(math.pi / 2 - 1)


@pytest.mark.parametrize("arguments, sentence", [
    ((1.0, 5, 20), "overlap is 1.0"), ((0.5, 1, 20), "p is 1"), ((0.5, 5, 0), "delta is 0"),
    ((0.5, 50, 20), "cannot be stored"),
])  # fmt: skip
def test_what_has_no_scores_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        solution_scores(*arguments)
