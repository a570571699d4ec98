"""The whole prediction for N facts and M answers: it fills in what is missing, and says what it does not know."""

import time

import numpy as np
import pytest

from loadstone.theory.answers import facts_capacity
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.margin import margin_capacity
from loadstone.theory.prediction import predict, predict_facts
from loadstone.theory.question import least_dimension
from loadstone.theory.skew import skewed_capacity

FAMILIES = ["full", "rank:5", "symmetric", "traceless", "skew", "masked:0.5", "blocks:4", "circulant", "diagonal",
            "nonnegative", "psd", "pruned:0.5"]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("answers", [None, 60])
def test_facts_are_set_to_the_capacity_and_the_dimension_to_the_least(family, answers):
    found = predict(40, answers=answers, family=family)
    assert found.filled_in == "facts" and found.facts == int(found.facts_c + 1e-6)
    assert found.answers == (answers or found.facts) and found.family == family
    assert found.facts * found.D <= found.delta * (1 + 1e-9) < (found.facts + 1) * codimension(found.answers + 1)
    back = predict(facts=found.facts, answers=answers, family=family)
    assert back.filled_in == "d" and back.d <= 40 and back.facts_c >= found.facts * (1 - 1e-9)
    if back.d > 5:
        assert facts_capacity(family, back.d - 1, answers=answers) < found.facts
    given = predict(40, 77, answers=answers, family=family)
    assert given.filled_in is None and given.facts == 77
    probability = given.probability_storable
    assert probability is None if family in ("rank:5", "pruned:0.5") else 0 <= probability <= 1


def test_all_memories_of_the_largest_rank_are_full_memories():
    """Asked for as a family, they take another way to the same numbers, without those of the paper."""
    for d in (12, 100):
        paper, family = predict(d), predict(d, family=f"rank:{d}")
        assert (family.facts, family.facts_c, family.D) == (paper.facts, paper.facts_c, paper.D)
        assert family.probability_storable == paper.probability_storable and family.delta == paper.delta == d * d
        assert paper.is_paper_setting and paper.alpha > 0 and not family.is_paper_setting and family.alpha is None
    for facts in (2, 3, 100, 5000):
        assert predict(facts=facts).d == least_dimension(facts) == predict(facts=facts, family="blocks:1").d
    assert predict(30, 200).facts_c == capacity_associations(30)


def test_the_names_of_the_paper_and_the_old_names():
    found = predict(20, 85)
    assert (found.p, found.p_c) == (found.facts, found.facts_c) == (85, capacity_associations(20))
    with pytest.warns(DeprecationWarning, match="say predict.facts="):
        assert predict(20, p=85) == found
    assert predict_facts(20, 85, answers=30, family="skew", decoupled=True) == predict(
        20, 85, answers=30, family="skew", decoupled=True
    )


def test_a_rank_fraction_with_answers_is_a_family():
    found = predict(40, answers=60, kappa=0.25)
    assert found.family == "rank:10" and found.kappa == 0.25
    assert found.facts_c == predict(40, answers=60, family="rank:10").facts_c


def test_caveats_say_what_matters():
    text = lambda answers=None, **asked: " ".join(predict(20, answers=answers, **asked).caveats)  # noqa: E731
    assert "half of all instances" in text() and "upper bound" not in text()
    assert "upper bound" in text(family="rank:5") and "not known" in text(family="rank:5")
    assert "10 answers show only 9 of the 20 directions" in text(10) and "balanced" in text(10)
    assert "show only" not in text(10, decoupled=True) and "Decoupled" in text(10, decoupled=True)
    assert "less sharp" in text(30, family="nonnegative") and "less sharp" not in text(300, family="nonnegative")
    assert "hold more" in text(30, family="psd") and "hold more" not in text(300, family="psd")


def test_it_is_quick_for_the_largest_sizes():
    began = time.process_time()
    for family in ("full", "symmetric", "masked:0.5", "nonnegative"):
        assert predict(10**6, answers=10**9, family=family).facts > 10**9
        assert predict(facts=10**9, answers=10**5, family=family).d > 1000
    assert time.process_time() - began < 2


@pytest.mark.parametrize("asked, sentence", [
    ({}, "give a dimension d, a number of facts, or both"),
    ({"d": 5, "facts": 1}, "facts is 1, but must be a whole number of at least 2"),
    ({"d": 5, "facts": 0, "answers": 3}, "facts is 0, but must be a whole number of at least 1"),
    ({"d": 5, "answers": 1}, "answers is 1, but must be a whole number of at least 2"),
    ({"d": 0}, "d is 0"), ({"d": 10**9}, "d is 1000000000"),
    ({"d": 5, "family": "rank:9"}, "family is 'rank:9', but must be rank:K, K a whole number in 1..5"),
    ({"facts": 10**15, "family": "diagonal"}, "few enough to fit in d = 1e+08"),
    ({"d": 5, "answers": 4, "family": "psd"}, "not known for 4 answers at d = 5"),
    ({"d": 5, "margin": 1000.0}, "margin is 1000"),
])  # fmt: skip
def test_bad_input_gets_one_sentence(asked, sentence):
    with pytest.raises(ValueError) as refusal:
        predict(**asked)
    assert sentence in str(refusal.value)


def test_a_margin_makes_every_fact_dearer():
    plain, wide = (predict(d=20, answers=30, margin=margin) for margin in (0.0, 0.5))
    assert wide.D == pytest.approx(codimension(30, 0.5)) and wide.D > plain.D
    assert wide.facts_c == pytest.approx(400 / wide.D) and wide.probability_storable is None
    assert predict(d=20, margin=0.5).facts_c == pytest.approx(float(margin_capacity(400.0, None, margin=0.5)))
    assert any("margin" in sentence for sentence in wide.caveats)


def test_unequal_answers_have_a_capacity_where_it_is_known_and_a_bound_elsewhere():
    found = predict(d=8, answers=4, frequencies="zipf:1")
    assert (found.facts_c, found.facts_c_error) == pytest.approx(skewed_capacity(8, 1 / np.arange(1, 5)), rel=1e-9)
    assert not found.bound
    assert found.facts_c < predict(d=8, answers=4).facts_c and found.probability_storable is None
    for other in ({"answers": 20}, {"family": "symmetric"}, {"margin": 0.1}):
        asked = {"d": 8, "answers": 4} | other
        bound, equal = (predict(**asked, frequencies=word) for word in ("zipf:1", "balanced"))
        assert bound.bound and bound.facts_c == equal.facts_c and not equal.bound
        assert any("upper bound" in sentence for sentence in bound.caveats)
    # Each input has its own answers: which of them is the target does not matter.
    one, other = (predict(d=8, answers=4, decoupled=True, frequencies=word) for word in ("zipf:1", "balanced"))
    assert one.facts_c == other.facts_c and not one.bound
