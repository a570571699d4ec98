"""The integrals of the skewed formula against samples, Cover's theorem, the exact D(M), and finite differences."""

import numpy as np
import pytest

from loadstone.theory.codimension import codimension
from loadstone.theory.skew import _Sampled, skewed_capacity
from loadstone.theory.skew_integrals import _COARSE, _FINE, Levels

SHARES = np.array([0.4, 0.3, 0.2, 0.1])
A, B = np.array([1.2, 0.7, 1.0, 0.6]), np.array([1.0, 0.5, 0.3, 0.05])


def equal(answers: int) -> Levels:
    return Levels(np.full(answers, 1 / answers), 12)


@pytest.mark.parametrize("answers", [2, 3, 10, 50, 1000])
def test_equal_answers_cost_what_the_cone_says(answers):
    one = np.ones(1)
    assert equal(answers).squares(one, one, _FINE)[0] == pytest.approx(codimension(answers), rel=1e-6)
    assert equal(answers).squares(one, one, _COARSE)[0] == pytest.approx(codimension(answers), rel=1e-3)


@pytest.mark.parametrize("b", [B, np.array([1.0, 0.5, 0.3, 1e-9])], ids=["", "no b"])
def test_distances_and_their_derivatives_against_samples(b):
    sampled, count = _Sampled(SHARES, 100_000, np.random.default_rng(0)), 100_000
    squares, by_a, by_b = sampled._each(A, b)
    found = Levels(SHARES, 12).squares(A, b, _FINE)
    # Between targets nothing is left to chance, so the scatter of all samples is an upper bound.
    assert abs(found[0] - squares.mean()) < 4 * squares.std() / np.sqrt(count)
    # Moves of one score have deviations of a few times their mean square: 4 standard errors are below 4 %.
    np.testing.assert_allclose(found[1], by_a, rtol=0.04, atol=1e-9)
    np.testing.assert_allclose(found[2], by_b, rtol=0.04)


def test_answers_of_one_level_are_as_many_of_their_own():
    """Two levels of two answers each, against four levels."""
    a, b, shares = np.array([1.1, 0.8]), np.array([1.0, 0.2]), np.array([0.35, 0.35, 0.15, 0.15])
    two, four = Levels(shares, 12), Levels(SHARES, 12)
    four.shares = shares
    assert list(two.counts) == [2, 2] and two.exact and list(four.counts) == [1, 1, 1, 1]
    value, by_a, by_b = two.log_ratio(a, b, _FINE)
    each, each_by_a, each_by_b = four.log_ratio(np.repeat(a, 2), np.repeat(b, 2), _FINE)
    assert value == pytest.approx(each, rel=1e-9)
    np.testing.assert_allclose(by_a, each_by_a.reshape(2, 2).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(by_b, each_by_b.reshape(2, 2).sum(axis=1), atol=1e-9)


def test_derivatives_of_the_ratio():
    levels = Levels(SHARES, 12)
    _, by_a, by_b = levels.log_ratio(A, B, _FINE)
    for index, step in enumerate(1e-5 * np.eye(4)):
        rise = lambda da, db: levels.log_ratio(A + da, B + db, _FINE)[0] - levels.log_ratio(A - da, B - db, _FINE)[0]  # noqa: E731
        assert rise(step, 0) / 2e-5 == pytest.approx(by_a[index], rel=1e-3, abs=1e-4)
        assert rise(0, step) / 2e-5 == pytest.approx(by_b[index], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("frequencies", [[0.7, 0.3], [0.999, 0.001], [1, 1e-6]])
def test_two_answers_are_covers_theorem_however_unequal(frequencies):
    """Reflecting the inputs of one answer turns any dichotomy into any other: 2 d, for every frequency."""
    assert skewed_capacity(16, frequencies).value == pytest.approx(32, rel=1e-4)


def test_the_saddle_is_that_of_the_samples():
    """The value that samples give at their own saddle, which errs on either side by their scatter."""
    for shares, samples in ((SHARES, 20_000), (1 / np.arange(1, 8) / (1 / np.arange(1, 8)).sum(), 8000)):
        sampled = skewed_capacity(16, shares, samples=samples)
        assert abs(skewed_capacity(16, shares).value - sampled.value) < 4 * sampled.error < 0.1 * sampled.value


def test_similar_frequencies_are_taken_together_and_the_error_says_what_that_changes():
    shares = 1 / np.arange(1, 31)
    few, all_of_them = skewed_capacity(40, shares), 40 * np.exp(Levels(shares / shares.sum(), 18).log_capacity())
    assert abs(few.value - all_of_them) < few.error < 0.01 * few.value
    levels = Levels(np.append(shares, [0.0, 0.0]) / shares.sum(), 12)
    assert levels.counts.sum() == 32 and levels.shares.sum() == pytest.approx(1) and not levels.exact
    assert levels.counts[-1] == 2 and levels.shares[-1] == 0 and list(levels.counts[:3]) == [1, 1, 1]
