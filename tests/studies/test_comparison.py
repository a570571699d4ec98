"""The arithmetic of one comparison: how rare its difference is, what it would have seen, and its verdict."""

import json
import math

import numpy as np
import pytest
from scipy.stats import norm, t

from loadstone.studies.kit.comparison import CHANCE, FEWEST, MATTERS, POWER, Comparison, Judgement, with_error

AGREES, DIFFERS, CANNOT_TELL = Judgement


def test_a_difference_counts_in_standard_errors_with_its_sign():
    assert Comparison("x", 1.0, 1.5, 0.25).deviations == 2
    assert Comparison("x", 1.5, 1.0, 0.25).deviations == -2


def test_without_an_error_any_difference_is_infinite_and_none_is_zero():
    assert Comparison("x", 1.0, 1.1, 0.0).deviations == math.inf
    assert Comparison("x", 1.1, 1.0, 0.0).deviations == -math.inf
    assert Comparison("x", 1.0, 1.0, 0.0).deviations == 0.0
    assert Comparison("x", 1.0, 1.0, 0.0).verdict == AGREES and Comparison("x", 1.0, 1.1, 0.0).verdict == DIFFERS


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("freedom", [1, 2, 7.5, math.inf])
def test_one_difference_in_a_hundred_is_called_one_by_chance(freedom, sign):
    """Half of the chance on either side, by the distribution function of Student's law (of the normal law)."""
    law = norm() if math.isinf(freedom) else t(freedom)
    assert CHANCE == 0.01 and FEWEST == 2
    for factor in (0.999, 1.001):
        measured = sign * factor * law.isf(0.005)
        one = Comparison("x", 0.0, measured, 1.0, freedom)
        assert one.p_value == pytest.approx(2 * law.sf(abs(measured)), rel=1e-9)
        assert (one.verdict == DIFFERS) is (factor > 1)


@pytest.mark.parametrize("freedom", [2, 4, 30, math.inf])
@pytest.mark.parametrize("level", [0.01, 0.0005])
def test_what_would_have_been_seen_is_seen_in_four_cases_of_five(freedom, level):
    """The truth differs by just the detectable difference: samples of that truth are called different that often."""
    one = Comparison("x", 1.0, 1.0, 0.3, freedom, level=level)
    random = np.random.default_rng(0)
    samples = 40000
    measured = one.min_detectable / one.error + random.standard_normal(samples)
    scatter = 1.0 if math.isinf(freedom) else np.sqrt(random.chisquare(freedom, samples) / freedom)
    law = norm() if math.isinf(freedom) else t(freedom)
    seen = np.mean(2 * law.sf(np.abs(measured / scatter)) < level)
    # Four binomial deviations.
    assert seen == pytest.approx(POWER, abs=4 * math.sqrt(POWER * (1 - POWER) / samples))


def test_the_three_verdicts_on_samples_whose_truth_is_known():
    """Means of normal samples: a bias is called a difference, an honest sample is not more often than its level says,
    and a small sample cannot tell."""
    random = np.random.default_rng(1)

    def verdicts(truth, count, trials=1000):
        found = []
        for sample in random.normal(truth, 0.1, (trials, count)):
            error = sample.std(ddof=1) / math.sqrt(count)
            found.append(Comparison("x", 1.0, sample.mean(), error, count - 1).verdict)
        return [found.count(verdict) / trials for verdict in (AGREES, DIFFERS, CANNOT_TELL)]

    honest, biased, few = verdicts(1.0, 200), verdicts(1.05, 200), verdicts(1.0, 5)
    # Four deviations of a binomial share of 1 % in 1000 trials.
    most = CHANCE + 4 * math.sqrt(CHANCE * (1 - CHANCE) / 1000)
    assert honest[0] > 0.95 and honest[1] <= most
    assert biased[1] > 0.95
    assert few[2] > 0.9 and few[1] <= most and few[0] < 0.1
    assert verdicts(1.0, 2)[0] == 0  # two seeds never agree


def test_agreement_needs_the_power_to_see_what_matters():
    just = MATTERS / (norm.isf(CHANCE / 2) + norm.ppf(POWER))
    assert Comparison("x", 2.0, 2.0, 0.999 * 2 * just).verdict == AGREES
    assert Comparison("x", 2.0, 2.0, 1.001 * 2 * just).verdict == CANNOT_TELL
    # Sharp enough, but the largest difference that is left possible is 6 %; a smaller one is within.
    assert Comparison("x", 100.0, 103.4, 1.0, level=1e-4).verdict == CANNOT_TELL
    assert Comparison("x", 100.0, 102.4, 1.0, level=0.01).verdict == AGREES
    # A prediction of zero has no per cent of its own.
    assert Comparison("x", 0.0, 0.0, 1e-9).verdict == CANNOT_TELL
    assert Comparison("x", 0.0, 0.0, 0.5 * just, scale=0.6).verdict == AGREES
    assert Comparison("x", -2.0, -2.0, just).verdict == AGREES


def test_within_is_the_largest_difference_left_possible():
    one = Comparison("x", 100.0, 101.0, 0.5, 9)
    assert one.within == pytest.approx(1 + 0.5 * t.isf(0.005, 9)) and Comparison("x", 0.0, 1.0, 0.5).within == math.inf


def test_verdicts_in_words():
    assert Comparison("x", 100, 99.9, 0.2, 14).in_words() == "agrees within 0.7 %"
    assert Comparison("x", 100, 90, 1.2, 14).in_words() == "differs by -10(1) %"
    assert Comparison("x", 0, 9, 1.2, 14).in_words() == "differs by +9(1)"
    few = Comparison("x", 100, 99, 1.2, 4).in_words()
    assert few == "cannot tell: -1(1) %, and less than 7.1 % would not have been seen"
    two = Comparison("x", 1, 1.1, 1.2, 1).in_words()
    assert two == "cannot tell: +0(100) %, and less than 9791 % would not have been seen"
    nothing = Comparison("x", 0, 0.1, 0.1).in_words()
    assert nothing == "cannot tell: +0.1(1), and less than 0.34 would not have been seen"


@pytest.mark.parametrize(
    "value, error, words",
    [(1.234, 0.3, "+1.2(3)"), (1.234, 0.96, "+1(1)"), (-15.3, 4, "-15(4)"), (-153, 40, "-150(40)"),
     (12, 9.6, "+10(10)"), (0.01234, 0.00095, "+0.012(1)"), (1.2, 0, "+1.2"), (12, 0.0999, "+12.0(1)"),
     (math.inf, 1, "+inf"), (0, 0.02, "+0.00(2)")],
)  # fmt: skip
def test_a_number_with_its_error(value, error, words):
    assert with_error(value, error) == words


def test_a_row_is_complete_and_json():
    row = Comparison("x", 1.0, 1.5, 0.25, 3, "why", "kind", "d = 3").as_row()
    assert row == {
        "what": "x", "predicted": 1.0, "measured": 1.5, "error": 0.25, "freedom": 3, "note": "why", "family": "kind",
        "streams": "d = 3", "scale": None, "level": CHANCE, "difference": 0.5, "deviations": 2.0,
        "chance": pytest.approx(2 * t.sf(2, 3)), "detectable": pytest.approx(1.8, abs=0.2),
        "within": pytest.approx(100 * (0.5 + 0.25 * t.isf(0.005, 3))), "verdict": "cannot tell",
        "in_words": "cannot tell: +50(20) %, and less than 186 % would not have been seen",
    }  # fmt: skip
    infinite = Comparison("x", 1.0, 1.5, 0.0).as_row()
    assert infinite["freedom"] is None and infinite["deviations"] is None and infinite["verdict"] == "differs"
    json.dumps([row, infinite, Comparison("x", 0.0, 1.5, 1.0).as_row()], allow_nan=False)
