"""Predictions that are wrong on purpose: who notices."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import Comparison, Judgement
from loadstone.studies.kit.counts import count_comparison
from loadstone.studies.kit.sensitivity import in_words, shifted
from loadstone.studies.report.numbers import by_figure

SHARP = Comparison("sharp", 100.0, 100.1, 0.2, family="a", streams="1")
BLUNT = Comparison("blunt", 100.0, 100.1, 1.3, family="b", streams="1")
COUNT = count_comparison("count", 0.99, 990, 1000)
SHIPPED = Path(__file__).parents[2] / "results" / "paper" / "report.json"


def test_a_sharp_number_notices_a_shift_and_a_blunt_one_says_that_it_cannot():
    for sentence, where in zip(in_words([SHARP, BLUNT]), ("higher", "lower"), strict=True):
        assert sentence == (
            f"If every prediction were 3 % {where}, 1 of the 2 numbers that agree would differ, for 1 the measurement "
            "could not tell, and 0 would still agree within 5 %; 0 kinds instead of 0 would differ as a whole."
        )
    assert [one.verdict for one in shifted([SHARP, BLUNT], 0.0)] == [Judgement.AGREES] * 2
    assert in_words([]) == []


def test_a_shift_is_a_share_of_what_is_a_hundred_per_cent():
    (one,) = shifted([replace(SHARP, predicted=0.0, measured=0.001, error=0.002, scale=2.0)], 0.03)
    assert one.predicted == pytest.approx(0.06) and one.scale == 2.0


def test_a_share_of_cases_stays_one():
    (up,), (down,) = shifted([COUNT], 0.03), shifted([COUNT], -2.0)
    assert up.predicted == 1.0 and up.verdict == Judgement.DIFFERS and down.predicted == 0.0


def test_with_the_shipped_numbers_no_agreement_is_kept_beyond_what_it_claims():
    """Agreement within x % and a shift of 3 %: what still agrees claims a larger x than before."""
    comparisons = [one for of_figure in by_figure(json.loads(SHIPPED.read_text())).values() for one in of_figure]
    # Bounds predict no number that could be shifted.
    comparisons = [one for one in comparisons if not isinstance(one, BoundComparison)]
    assert sum(one.verdict == Judgement.AGREES for one in comparisons) > 100
    for share in (0.03, -0.03):
        pairs = [
            (old, new) for old, new in zip(comparisons, shifted(comparisons, share)) if old.verdict == Judgement.AGREES
        ]
        for old, new in pairs:
            # A share near one cannot be shifted by all of 3 %.
            moved, before = abs(new.predicted - old.predicted) / old.percent, abs(old.difference) / old.percent
            assert new.verdict != Judgement.AGREES or new.within > 0.96 * (moved - before)
        assert sum(new.verdict != Judgement.AGREES for _, new in pairs) > 0.6 * len(pairs)
