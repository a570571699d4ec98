"""Predictions that are wrong on purpose: who notices."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import Comparison, Judgement
from loadstone.studies.kit.counts import count_comparison
from loadstone.studies.kit.sensitivity import changed_verdicts, in_words, shifted
from loadstone.studies.report.numbers import read_comparisons

SHARP = Comparison("sharp", 100.0, 100.1, 0.2, family="a", streams="1")
COUNT = count_comparison("count", 0.99, 990, 1000)
BLUNT = Comparison("blunt", 100.0, 100.1, 1.3, family="b", streams="1")
SHIPPED = Path(__file__).parents[2] / "results" / "paper" / "report.json"


def test_a_sharp_number_notices_a_shift_and_a_blunt_one_says_that_it_cannot():
    changes = changed_verdicts([SHARP, BLUNT])
    assert changes == {
        (Judgement.AGREES, Judgement.DIFFERS): 1,
        (Judgement.AGREES, Judgement.CANNOT_TELL): 1,
    }
    assert changed_verdicts([SHARP, BLUNT], 0.0)[Judgement.AGREES, Judgement.AGREES] == 2
    (up, down) = in_words([SHARP, BLUNT])
    assert "3 % higher, 1 of the 2 numbers" in up and "3 % lower, 1 of the 2 numbers" in down
    assert in_words([]) == []


def test_a_shift_is_a_share_of_what_is_a_hundred_per_cent():
    zero = replace(SHARP, predicted=0.0, measured=0.001, error=0.002, scale=2.0)
    (one,) = shifted([zero], 0.03)
    assert np.isclose(one.predicted, 0.06) and one.scale == 2.0


def test_with_the_shipped_numbers_no_agreement_is_kept_beyond_what_it_claims():
    """Agreement within x % and a shift of 3 %: what still agrees claims a larger x than before."""
    comparisons = read_comparisons(json.loads(SHIPPED.read_text()))
    # Bounds predict no number that could be shifted.
    comparisons = [one for one in comparisons if not isinstance(one, BoundComparison)]
    agreeing = [one for one in comparisons if one.verdict == Judgement.AGREES]
    assert len(agreeing) > 100
    for share in (0.03, -0.03):
        after = dict(zip((one.what for one in comparisons), shifted(comparisons, share)))
        for one in agreeing:
            other = after[one.what]
            # A share near one cannot be shifted by all of 3 %.
            moved, before = abs(other.predicted - one.predicted) / one.percent, abs(one.difference) / one.percent
            assert other.verdict != Judgement.AGREES or other.within > 0.96 * (moved - before)
        noticed = sum(after[one.what].verdict != Judgement.AGREES for one in agreeing)
        assert noticed > 0.6 * len(agreeing)


def test_a_share_of_cases_stays_one():
    (up,), (down,) = shifted([COUNT]), shifted([COUNT], -2.0)
    assert up.predicted == 1.0 and up.verdict == Judgement.DIFFERS and down.predicted == 0.0
