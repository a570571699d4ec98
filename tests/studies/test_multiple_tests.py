"""Many comparisons of one kind: corrected for their number, and judged together."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from loadstone.studies.kit.comparison import CHANCE, Comparison, Judgement
from loadstone.studies.kit.multiple_tests import corrected, family_tests


def of(deviations, family="kind", streams="", dof=math.inf):
    return Comparison(f"x{deviations}{streams}", 100.0, 100.0 + deviations, 1.0, dof, "", family, streams)


def levels_by_hand(chances):
    """Holm's rule as it is usually written: go through the sorted chances until one is too large."""
    order, found = np.argsort(chances, kind="stable"), {}
    for rank, place in enumerate(order):
        if chances[place] >= CHANCE / (len(chances) - rank):
            break
        found[int(place)] = True
    return [place in found for place in range(len(chances))]


@pytest.mark.parametrize("seed", range(20))
def test_differences_are_those_of_holms_rule(seed):
    random = np.random.default_rng(seed)
    family = [of(value) for value in random.standard_normal(12) * random.choice([1, 2.5, 4])]
    judged = [one.verdict == Judgement.DIFFERS for one in corrected(family)]
    assert judged == levels_by_hand([one.p_value for one in family])


def test_families_are_corrected_separately_and_keep_their_order():
    alone, many = of(2.7, "one"), [of(2.7, "many", str(place)) for place in range(10)]
    judged = corrected([many[0], alone, *many[1:]])
    assert [one.what for one in judged] == [many[0].what, alone.what, *(one.what for one in many[1:])]
    assert judged[1].level == CHANCE and judged[1].verdict == Judgement.DIFFERS
    assert all(one.level == CHANCE / 10 and one.verdict != Judgement.DIFFERS for one in judged if one.family == "many")
    assert corrected([]) == []


def test_chance_is_called_a_difference_somewhere_in_one_family_of_a_hundred():
    random = np.random.default_rng(3)
    trials = 1000
    wrong = sum(
        any(one.verdict == Judgement.DIFFERS for one in corrected([of(value) for value in values]))
        for values in random.standard_normal((trials, 10))
    )
    # Four binomial deviations; without the correction it would be 10 %.
    assert wrong / trials == pytest.approx(CHANCE, abs=4 * math.sqrt(CHANCE / trials))


def test_thirty_of_thirty_one_on_one_side_are_a_finding():
    values = [-0.8] * 30 + [0.8]
    (found,) = family_tests([of(value, streams=str(place)) for place, value in enumerate(values)])
    assert found.comparisons == found.groups == 31 and found.above == found.groups_above == 1 and found.systematic
    assert found.sign_chance == pytest.approx(binomtest(1, 31).pvalue)
    assert found.pooled_chance == pytest.approx(2 * norm.sf(0.8 * 29 / math.sqrt(31)))
    assert found.shift == pytest.approx(np.mean(values))
    assert found.shift_error == pytest.approx(np.std(values, ddof=1) / math.sqrt(31))
    assert found.in_words().startswith("kind: 30 of 31 lie below the prediction, the mean difference is -0.75(5) %")
    assert "a systematic difference" in found.in_words() and found.as_row()["systematic"] is True
    # Measurements may be numbers of NumPy.
    numpy = family_tests([of(np.float64(value), streams=str(place)) for place, value in enumerate(values)])
    assert json.loads(json.dumps(numpy[0].as_row())) == found.as_row()
    # The same numbers on only three sets of streams show nothing.
    assert not family_tests([of(value, streams=str(place % 3)) for place, value in enumerate(values)])[0].systematic


def test_comparisons_on_the_same_streams_count_as_one():
    (found,) = family_tests([of(1.0, streams="a"), of(3.0, streams="a"), of(-1.0, streams="b")])
    assert (found.comparisons, found.groups, found.above, found.groups_above) == (3, 2, 2, 1)
    assert found.pooled_chance == pytest.approx(2 * norm.sf((2 - 1) / math.sqrt(2)))
    assert found.sign_chance == 1 and found.p_value == pytest.approx(2 * found.pooled_chance) and not found.systematic
    assert (
        family_tests([of(5.0, streams="a"), of(6.0, streams="a")]) == []
        and family_tests([of(1.0, ""), of(2.0, "")]) == []
    )


def test_few_degrees_of_freedom_weigh_less():
    normal, few = (family_tests([of(4.0, streams=s, dof=f) for s in "ab"])[0] for f in (math.inf, 2))
    assert normal.pooled_chance < 1e-7 < 1e-3 < few.pooled_chance


def test_fair_families_are_rarely_called_systematic():
    random = np.random.default_rng(4)
    trials = 1000
    wrong = sum(
        family_tests([of(value, streams=str(place)) for place, value in enumerate(values)])[0].systematic
        for values in random.standard_normal((trials, 12))
    )
    assert wrong / trials <= CHANCE + 4 * math.sqrt(CHANCE / trials)
