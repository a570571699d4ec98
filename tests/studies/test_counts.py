"""Shares that are counts: exact chances, limits and power, also where failures are rare."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from loadstone.studies.kit.comparison import CHANCE, POWER, Judgement
from loadstone.studies.kit.counts import count_comparison


@pytest.mark.parametrize("share, count, cases", [(0.5, 40, 100), (0.999, 997, 1000), (0.999, 990, 1000), (0.2, 0, 9)])
def test_chance_is_twice_the_smaller_tail(share, count, cases):
    law = binom(cases, share)
    expected = min(1, 2 * min(law.cdf(count), law.sf(count - 1)))
    assert count_comparison("x", share, count, cases).p_value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("count, cases", [(40, 100), (0, 30), (30, 30), (999, 1000)])
def test_limits_are_those_of_clopper_and_pearson(count, cases):
    limits = binomtest(count, cases).proportion_ci(1 - CHANCE, "exact")
    one = count_comparison("x", 0.7, count, cases)
    assert one.within == pytest.approx(100 * max(abs(limits.high - 0.7), abs(0.7 - limits.low)) / 0.7, rel=1e-9)


@pytest.mark.parametrize("share, cases", [(0.5, 200), (0.97, 400), (0.03, 400), (0.999, 1000), (1 - 1e-7, 1000)])
def test_what_would_have_been_seen_is_seen_in_four_cases_of_five(share, cases):
    """By summing over all counts that are called different."""
    counts = np.arange(cases + 1)
    called = np.array([count_comparison("x", share, int(k), cases).p_value < CHANCE for k in counts])
    detectable = count_comparison("x", share, round(share * cases), cases).min_detectable
    powers, nearer = (
        [
            float(binom.pmf(counts, cases, truth)[called].sum())
            for truth in (share - factor * detectable, share + factor * detectable)
            if -1e-12 <= truth <= 1 + 1e-12
        ]
        for factor in (1, 0.98)
    )
    assert min(powers) == pytest.approx(POWER, abs=1e-6)
    # On one of the sides nothing smaller is seen as often.
    assert min(nearer) < POWER


def test_a_side_on_which_nothing_can_be_seen():
    """Of 20 cases that are predicted to succeed with 0.9, all may succeed by chance."""
    assert 2 * 0.9**20 > CHANCE
    high, low = count_comparison("x", 0.9, 18, 20), count_comparison("x", 0.05, 1, 20)
    # What can be seen lies on the other side, where shares differ by more.
    assert high.min_detectable > 1 - 0.9 and low.min_detectable > 0.05


def test_rare_failures_are_judged_by_their_count():
    """One failure where 0.001 are expected is rare; a normal law with the same error would call it 32 deviations."""
    one = count_comparison("x", 1 - 1e-6, 999, 1000)
    assert one.p_value == pytest.approx(2 * (1 - math.exp(-1e-3)), rel=1e-3) and one.verdict == Judgement.DIFFERS
    two_expected = count_comparison("x", 0.998, 994, 1000)  # six failures where two are expected
    assert two_expected.verdict == Judgement.AGREES and two_expected.deviations < -2.6
    assert count_comparison("x", 0.5, 5, 10).verdict == Judgement.CANNOT_TELL
    assert count_comparison("x", 0.5, 1, 1).min_detectable == 0.5  # nothing can be seen


def test_fair_counts_are_rarely_called_different():
    random = np.random.default_rng(5)
    drawn = random.binomial(500, 0.99, 4000)
    wrong = np.mean([count_comparison("x", 0.99, int(k), 500).p_value < CHANCE for k in drawn])
    assert wrong <= CHANCE + 4 * math.sqrt(CHANCE / 4000)
