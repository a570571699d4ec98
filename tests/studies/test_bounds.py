"""Inequalities and trends: verdicts on synthetic numbers whose truth is known."""

import math

import numpy as np
import pytest

from loadstone.studies.kit.bounds import ABOVE, BELOW, BoundComparison, trend
from loadstone.studies.kit.comparison import CHANCE, POWER, Judgement
from loadstone.studies.kit.multiple_tests import corrected, family_tests
from loadstone.studies.kit.sensitivity import in_words
from loadstone.studies.kit.sentences import findings

HOLDS, FAILS, OPEN = Judgement.AGREES, Judgement.DIFFERS, Judgement.CANNOT_TELL


@pytest.mark.parametrize("measured, side, verdict, words", [
    (0.3, BELOW, HOLDS, "holds: 0.30(2) < 0.5"), (0.3, ABOVE, FAILS, "does not hold: 0.30(2) is not > 0.5"),
    (0.7, ABOVE, HOLDS, "holds: 0.70(2) > 0.5"), (0.7, BELOW, FAILS, "does not hold: 0.70(2) is not < 0.5"),
    (0.48, BELOW, OPEN, "cannot tell whether 0.48(2) < 0.5: less than 0.063 from it would not have been seen"),
    (-0.3, BELOW, HOLDS, "holds: -0.30(2) < 0.5"),
])  # fmt: skip
def test_verdicts(measured, side, verdict, words):
    one = BoundComparison("a number", 0.5, measured, 0.02, side=side)
    assert one.verdict == verdict and one.in_words() == words


def test_two_streams_never_agree_but_may_differ():
    assert BoundComparison("x", 0.5, 0.3, 1e-4, 1.0).verdict == OPEN
    assert BoundComparison("x", 0.5, 0.7, 1e-4, 1.0).verdict == FAILS


@pytest.mark.parametrize("freedom", [4, 30])
def test_a_number_on_the_bound_is_rarely_called_either_and_one_beyond_is_seen_as_often_as_promised(freedom):
    random, draws = np.random.default_rng(freedom), 6000
    scatter = np.sqrt(random.chisquare(freedom, draws) / freedom)

    def verdicts(true):
        found = random.normal(true, 1, draws)
        return [BoundComparison("x", 0.0, one, error, freedom).verdict for one, error in zip(found, scatter)]

    on_bound, beyond = verdicts(0.0), verdicts(-BoundComparison("x", 0.0, 0.0, 1.0, freedom).min_detectable)
    expected = (CHANCE, on_bound.count(HOLDS)), (CHANCE, on_bound.count(FAILS)), (POWER, beyond.count(HOLDS))
    for share, count in expected:
        assert abs(count / draws - share) < 4 * math.sqrt(share * (1 - share) / draws)


def test_a_trend_is_the_exponent_of_a_power_law():
    sizes = np.array([10, 20, 40, 80])
    values = 3 * sizes**-0.5
    one = trend("falls", sizes, values, 0.01 * values, side=BELOW)
    assert one.measured == pytest.approx(-0.5) and one.verdict == HOLDS and one.dof == math.inf
    x = np.log(sizes) - np.log(sizes).mean()
    assert one.error == pytest.approx(0.01 / np.sqrt((x**2).sum()))
    assert trend("rises", sizes, values, 0.01 * values, side=ABOVE).verdict == FAILS
    # A number that first falls and then rises is no power law: what it does as a whole is known worse.
    bent = trend("bent", sizes, np.array([1, 0.7, 0.7, 0.9]), np.full(4, 0.01), side=BELOW)
    assert bent.verdict == OPEN and bent.dof == 2 and bent.error > 5 * one.error
    assert trend("few", sizes[:2], values[:2], values[:2]) is None
    assert trend("signs", sizes, -values, values) is None


def test_errors_of_trends_are_those_of_repeated_measurements():
    random, sizes = np.random.default_rng(0), np.array([12, 20, 30, 50])
    truth = 2.0 * sizes**-0.3
    found = [trend("x", sizes, random.normal(truth, 0.02 * truth), 0.02 * truth) for _ in range(1500)]
    slopes = np.array([one.measured for one in found])
    plain = np.median([one.error for one in found])
    # Of 1500 the deviation is known to 1/sqrt(3000).
    assert slopes.std() == pytest.approx(plain, rel=4 / math.sqrt(3000))
    assert abs(slopes.mean() + 0.3) < 4 * plain / math.sqrt(1500)
    # Few are called bent by chance: as many as the level says.
    bent = sum(one.dof < math.inf for one in found)
    assert abs(bent / 1500 - CHANCE) < 4 * math.sqrt(CHANCE / 1500)


def test_inequalities_are_told_apart_from_predictions():
    many = [BoundComparison(f"x, d = {d}", 1.0, 0.2 + d / 100, 0.02, 9, "", "x", f"d = {d}") for d in (10, 20, 30)]
    assert family_tests(many) == [] and in_words(many) == []
    assert findings(many) == ["x: holds for 3 of 3 (nearest to its bound: holds: 0.50(2) < 1)."]
    mixed = [*many, BoundComparison("x, d = 90", 1.0, 1.1, 0.02, 9, "", "x", "d = 90")]
    assert "does not hold for 1 of 4 (nearest to its bound: does not hold: 1.10(2) is not < 1)" in findings(mixed)[0]
    assert [one.verdict for one in corrected(mixed)] == [HOLDS] * 3 + [FAILS]
