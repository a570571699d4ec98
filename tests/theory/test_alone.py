"""Facts that are impossible alone, and what they do to many facts: linear programs and geometry as judges."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from loadstone.problems.arrays import Arrays
from loadstone.theory.alone import half_storable, query_dimension, winning_queries
from loadstone.theory.answers import facts_capacity, memories_seen
from loadstone.theory.caveats import WORTH_SAYING
from loadstone.theory.cone import merge_law
from loadstone.theory.families import statistical_dimension
from loadstone.theory.prediction import predict
from loadstone.theory.storable import _met, mean_facts, probability_facts_storable
from tests.solvers.linear_program import largest_margin


def share_alone(answers, d):
    return winning_queries(answers, d).alone


def test_on_a_line_the_largest_and_the_smallest_win():
    for answers in (2, 3, 10, 1000):
        assert share_alone(answers, 1) == pytest.approx(2 / answers, rel=1e-9)


def test_with_few_answers_everything_can_be_stored_alone():
    for d in (1, 3, 20):
        one = winning_queries(d + 1, d)
        assert one.alone == 1 and one.impossible == 0 and one.mean == merge_law(d + 1).mean
    assert share_alone(6, 3) < 1 and share_alone(10**15, 200) == 1


def test_in_the_plane_corners_are_counted_by_their_sides():
    """Renyi and Sulanke: corners are as many as sides, 2 C(M, 2) E[Phi(x)^(M-2)] of them on average. All other points
    lie on one side of the line through two, whose distance from the origin is x ~ N(0, 1/2)."""
    x = np.linspace(-8, 8, 4001)
    density = np.exp(-(x**2)) / math.sqrt(math.pi)
    for answers in (3, 7, 40):
        corners = 2 * math.comb(answers, 2) * np.trapezoid(density * ndtr(x) ** (answers - 2), x)
        assert answers * share_alone(answers, 2) == pytest.approx(corners, rel=1e-9)


@pytest.mark.parametrize(
    "d, answers", [(3, 12), (5, 40), *(pytest.param(*one, marks=pytest.mark.soak) for one in ((4, 20), (6, 60)))]
)
def test_share_of_facts_that_a_linear_program_stores_alone(d, answers):
    """One fact, its query free: a memory of one input of one dimension would do; here a full W with input e_1."""
    random, draws = np.random.default_rng(d), 150
    stored = 0
    for _ in range(draws):
        arrays = Arrays(np.eye(d)[:1], random.standard_normal((answers, d)), np.zeros(1, np.int32))
        stored += largest_margin(arrays) > 1e-9
    expected = share_alone(answers, d)
    assert 0.3 < expected < 0.9
    assert abs(stored / draws - expected) < 4 * math.sqrt(expected * (1 - expected) / draws)


@pytest.mark.parametrize("d, facts, answers", [(3, 3, 8), (3, 5, 8), pytest.param(4, 6, 15, marks=pytest.mark.soak)])
def test_many_facts_are_storable_as_often_as_a_linear_program_says(d, facts, answers):
    """Decoupled; for N <= d exact, since the queries are free: P(alone)^N."""
    random, draws, stored = np.random.default_rng(d + facts), 200, 0
    for _ in range(draws):
        outputs = random.standard_normal((facts, answers, d))
        arrays = Arrays(random.standard_normal((facts, d)), outputs, np.zeros(facts, np.int32))
        stored += largest_margin(arrays) > 1e-9
    room = memories_seen("full", d, answers=answers, decoupled=True)
    expected = probability_facts_storable(facts, answers, memories=room)
    if facts <= d:
        assert expected == pytest.approx(share_alone(answers, d) ** facts, abs=1e-12)
    error = math.sqrt(expected * (1 - expected) / draws)
    assert abs(stored / draws - expected) < 4 * error
    # Whole cones, in place of their sections, would give another number, and this test can tell.
    assert _met(facts, winning_queries(answers, d * d), d * d, 0) - expected > 3 * error


def test_sections_have_half_of_their_mass_on_either_parity():
    """Gauss and Bonnet: true of every cone that is no subspace, so also of what is left of one if it is cut."""
    for answers, d in ((5, 2), (40, 4), (300, 12), (10**6, 9), (10**12, 40)):
        one = winning_queries(answers, d)
        assert one.probabilities.sum() == pytest.approx(1) and len(one.probabilities) <= d + 1
        assert one.probabilities[::2].sum() == pytest.approx(0.5, abs=1e-9)
        assert one.alone + one.impossible == pytest.approx(1, abs=1e-12)


def test_the_capacity_is_where_half_are_storable_and_the_law_where_no_fact_is_impossible():
    for answers, d in ((300, 12), (1000, 12), (50, 8), (1000, 20)):
        facts, room = facts_capacity("full", d, answers=answers), memories_seen("full", d, answers=answers)
        assert facts == half_storable(answers, room) < room.delta / merge_law(answers).mean
        assert probability_facts_storable(max(1, int(facts)), answers, memories=room) > 0.47
        assert probability_facts_storable(int(facts) + 1, answers, memories=room) < 0.53
    for answers, d in ((20, 40), (1000, 100)):
        assert (
            facts_capacity("full", d, answers=answers)
            == memories_seen("full", d, answers=answers).delta / merge_law(answers).mean
        )


@pytest.mark.parametrize("answers", [3, 4, 6])
def test_the_only_skew_memory_of_two_dimensions_stores_less_than_a_fact(answers):
    """It gives all queries one of two directions: a target is the largest or the smallest of all, or it is lost."""
    facts = half_storable(answers, statistical_dimension("skew", 2))
    together = ndtr((1 - facts / 2) / math.sqrt(facts / 4))  # one dimension, of which each fact leaves half
    assert (2 / answers) ** facts * together == pytest.approx(0.5)


def test_skew_memories_give_queries_of_one_dimension_less():
    random = np.random.default_rng(0).standard_normal((4, 4))
    assert (random - random.T)[0, 0] == 0  # the query of the first axis has no first component
    assert (
        query_dimension(statistical_dimension("skew", 4)) == 3
        and query_dimension(memories_seen("full", 4, answers=3)) == 2
    )


def test_the_prediction_says_when_it_matters():
    few, many = predict(12, 10, answers=30), predict(12, 20, answers=300)
    assert few.impossible < WORTH_SAYING and not any("even alone" in sentence for sentence in few.caveats)
    assert many.impossible == pytest.approx(20 * (1 - many.share_alone)) and many.share_alone == share_alone(300, 12)
    assert any(sentence.startswith("0.56 of the facts, on average") for sentence in many.caveats) and not many.bound
    wide = predict(12, 20, answers=300, margin=0.1)
    assert wide.bound and wide.facts_c <= many.facts_c and "upper bound" in wide.caveats[-1]
    assert not any("far off" in sentence for sentence in wide.caveats)
    # The least d holds so many facts, and one less does not.
    least = predict(facts=20, answers=10**5)
    assert least.facts_c >= 20 > facts_capacity("full", least.d - 1, answers=10**5) and least.impossible > WORTH_SAYING


#: Mean proved capacity of 40 or 60 decoupled streams, and its standard error (docs/theory/one_law.md).
MEASURED = {(6, 100): (2.8, 0.3), (8, 50): (13.5, 0.7), (10, 100): (18.3, 0.9), (12, 300): (18.2, 1.2)}


@pytest.mark.parametrize("d, answers", MEASURED)
def test_where_the_law_is_far_off_the_prediction_says_so_with_what_streams_hold(d, answers):
    room = memories_seen("full", d, answers=answers, decoupled=True)
    mean, law = mean_facts(answers, room), room.delta / merge_law(answers).mean
    measured, error = MEASURED[d, answers]
    assert abs(mean - measured) < 2.5 * error < law - measured
    found = predict(d, answers=answers, decoupled=True)
    sentence = f"it gives {law:.1f} facts, but a stream holds {mean:.1f} on average"
    assert sentence in found.caveats[-1] and f"half of all streams hold {found.facts_c:.1f}" in found.caveats[-1]


@pytest.mark.parametrize("d, answers", [(12, 13), (12, 30), (12, 80), (30, 1000), (3, 4), (100, 10**6)])
def test_elsewhere_nothing_is_far_off(d, answers):
    """Also where few facts fit, and the mean of whole numbers lies below the law by one half."""
    room = memories_seen("full", d, answers=answers)
    assert mean_facts(answers, room) == pytest.approx(room.delta / merge_law(answers).mean - 0.5, rel=0.02, abs=0.4)
    assert not any("far off" in sentence for sentence in predict(d, answers=answers).caveats)


def test_the_mean_of_streams_is_that_of_their_tail():
    """With two answers a fact, Cover: half of all streams hold 2 d, which is also the mean but for one half."""
    for d in (5, 20):
        assert mean_facts(2, memories_seen("full", d, answers=2)) == pytest.approx(2 * d, abs=1e-6)
    assert mean_facts(30, statistical_dimension("pruned:0.5", 20)) is None
