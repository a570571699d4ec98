"""Sentences that state a verdict follow from it."""

from dataclasses import replace

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.multiple_tests import corrected
from loadstone.studies.kit.sentences import findings
from loadstone.studies.registry import STUDIES, study_of

#: Words that state an outcome. A caption is written before anything is measured.
CLAIMS = ("agree", "differ by", "equally", "as far as was measured", "far less", "far more", "stores more", "lies on")
CLAIMS += ("lose facts", "stores less", "lie on", "excellent", "match", "capacity is reached", "excluded at")
#: Words that say how a measurement came out: theory may use them.
OUTCOMES = "harder easier faster slower slowly better worse approach restore exactly threshold".split()


def test_each_kind_has_one_sentence_made_of_its_verdicts():
    good = Comparison("a, d = 10", 100.0, 100.4, 0.3, family="a", streams="d = 10")
    sentences = findings([good, replace(good, what="a, d = 20", streams="d = 20", measured=99.9)])
    assert sentences == [
        "a: 2 agree within 0.87 to 1.2 %, 1 of 2 lie above the prediction, on average +0.2(2) %, "
        "which chance gives with probability 1: no systematic difference."
    ]
    assert findings([replace(good, error=4.0, family="")]) == [
        "a, d = 10: for 1 the measurement cannot tell (less than 14 % would not have been seen)."
    ]
    assert findings([replace(good, measured=90.0)]) == ["a: 1 differs by -10.0(3) %."]
    assert findings([]) == []


def test_another_measurement_makes_another_sentence():
    """A prediction that is wrong by 3 % is not told as an agreement."""
    right = [Comparison(f"a, d = {d}", 100.0, 100.0, 0.5, family="a", streams=f"d = {d}") for d in range(10)]
    wrong = [replace(one, predicted=103.0) for one in right]
    assert "10 agree" in findings(corrected(right))[0] and "no systematic" in findings(corrected(right))[0]
    told = findings(corrected(wrong))[0]
    assert "10 differ" in told and "a systematic difference" in told and "agree" not in told


def test_captions_claim_nothing_that_the_numbers_may_not_show():
    """They are the same whatever is measured; how it came out is told by kit/sentences.py."""
    for name in STUDIES:
        caption = study_of(name).caption
        drawn, everything = f"{caption.title} {caption.drawn}".lower(), " ".join(vars(caption).values()).lower()
        said = [word for word in CLAIMS if word in everything] + [word for word in OUTCOMES if word in drawn]
        # A load at which training fails is a threshold by definition.
        assert said == (["threshold"] if name in ("finite-size", "peers") else []), name
