"""Claims of the paper: each can be followed up, and its outcome follows from the numbers that it names."""

from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.registry import STUDIES
from loadstone.studies.report.claims import CLAIMS, MISPRINTS, Claim, Outcome
from loadstone.theory.capacity import capacity

ROOT = Path(__file__).parents[2]
GOOD = Comparison("a kind, d = 10", 100.0, 100.4, 0.3, family="a kind", streams="d = 10")
CLAIM = Claim("somewhere", "It is so.", ("a kind",), "law")


@pytest.mark.parametrize("measured, error, outcome", [
    (100.4, 0.3, Outcome.REPRODUCED), (110.0, 0.3, Outcome.DIFFERS), (104.0, 3.0, Outcome.CANNOT_TELL),
])  # fmt: skip
def test_outcomes_follow_from_verdicts(measured, error, outcome):
    shown = {"law": [replace(GOOD, measured=measured, error=error)]}
    assert CLAIM.outcome(shown) == outcome
    # Of a limit a trend is all that can be found.
    as_limit = Outcome.TREND if outcome == Outcome.REPRODUCED else outcome
    assert replace(CLAIM, limit=True).outcome(shown) == as_limit


def test_a_kind_that_differs_as_a_whole_differs():
    many = [replace(GOOD, what=f"a kind, d = {d}", streams=f"d = {d}", measured=100.6) for d in range(10)]
    assert CLAIM.outcome({"law": many[:1]}) == Outcome.REPRODUCED and CLAIM.outcome({"law": many}) == Outcome.DIFFERS


def test_a_sharper_finding_is_told_but_does_not_decide():
    """It may be in any figure, and in several."""
    claim = replace(CLAIM, sharper=("a sharper kind",))
    sharp = replace(GOOD, what="a sharper kind, d = 10", family="a sharper kind", measured=150.0)
    shown = {"law": [GOOD], "shift": [sharp], "rank": [sharp]}
    assert claim.outcome(shown) == Outcome.REPRODUCED and CLAIM.numbers(shown) == claim.numbers({"law": [GOOD]})
    (told,) = [one for one in claim.numbers(shown) if "sharper" in one]
    assert told == "sharper than the paper: a sharper kind: 1 differs by +50.0(3) %."


def test_no_claim_is_judged_by_its_sharper_finding():
    for claim in CLAIMS:
        assert not set(claim.kinds) & set(claim.sharper), claim
        assert "(here" not in claim.says, claim


def test_without_numbers_a_claim_is_checked_by_a_test_or_beyond_reach():
    assert CLAIM.outcome({}) == CLAIM.outcome({"shift": [GOOD]}) == Outcome.NOT_SHOWN
    assert Claim("x", "y", test="tests/a.py").outcome({"law": [GOOD]}) == Outcome.CHECKED
    assert Claim("x", "y", beyond="why").outcome({}) == Outcome.BEYOND


def test_every_claim_can_be_followed_up():
    for claim in CLAIMS:
        ways = [bool(claim.kinds), bool(claim.test), bool(claim.beyond)]
        assert sum(ways) == 1, claim
        assert not claim.figure or claim.figure in STUDIES, claim
        assert not claim.test or (ROOT / claim.test).is_file(), claim
        assert not claim.kinds or claim.figure
    assert len({(claim.place, claim.says) for claim in CLAIMS}) == len(CLAIMS)


def test_the_misprint_that_is_a_number():
    assert f"{capacity(0.5):.6f}" in MISPRINTS[0].right and "0.46" in MISPRINTS[0].printed
