"""The law for given facts, against a sampled D(M), against the formula for unequal answers, and where there is none."""

from functools import cache

import numpy as np
import pytest

from loadstone.theory.codimension import codimension
from loadstone.theory.given_facts import given_facts_law
from loadstone.theory.skew import skewed_capacity


@cache
def sampled_cost(answers, samples=10_000):
    """D(M), the mean squared distance to the cone where the target wins, and its error: tau by ternary search."""
    eta = np.random.default_rng(0).standard_normal((samples, answers))

    def square(tau):
        return (eta[:, 0] - tau) ** 2 + (np.maximum(eta[:, 1:] - tau[:, None], 0) ** 2).sum(axis=1)

    low, high = np.full(samples, -8.0), np.full(samples, 8.0)
    for _ in range(60):
        third = (high - low) / 3
        left = square(low + third) < square(high - third)
        low, high = np.where(left, low, low + third), np.where(left, high - third, high)
    found = square(low)
    return found.mean(), found.std() / np.sqrt(samples)


@pytest.mark.parametrize(
    "answers, d, inputs, outputs", [(12, 20, 20, 11), (12, 20, 9, 11), (30, 10, 10, 10), (30, 10, 7, 4)]
)
def test_the_capacity_is_the_product_of_both_dimensions_over_the_cost_of_a_fact(answers, d, inputs, outputs):
    law = given_facts_law(np.full(answers, 2), d, inputs, outputs)
    cost, error = sampled_cost(answers)
    assert law.delta == inputs * outputs and not law.is_bound and law.capacity_error == 0
    assert law.cost == pytest.approx(cost, abs=4 * error)
    # Facts that are impossible alone, which few dimensions have, only lower it.
    assert law.capacity <= inputs * outputs / (cost - 4 * error)
    if outputs >= 10:
        assert law.capacity == pytest.approx(inputs * outputs / cost, rel=4 * error / cost + 0.01)
    assert law.load == pytest.approx(2 * answers / law.capacity)
    assert 0 <= law.probability <= 1
    spans = [one.partition("span only ")[2] for one in law.caveats if "span only" in one]
    seen = [(inputs, d), (outputs, min(d, answers - 1))]
    assert spans == [f"{one} of {most} dimensions." for one, most in seen if one < most]


def test_new_answers_make_every_fact_dearer():
    law = given_facts_law(np.ones(25, int), 12, 12, 12)
    largest = max(n for n in range(25, 60) if n * codimension(n) <= 144)
    assert law.with_new_answers == largest < law.capacity
    assert given_facts_law(np.ones(60, int), 12, 12, 12).with_new_answers is None


def test_unequal_answers_follow_the_formula_whatever_the_dimension_of_the_inputs():
    counts = np.array([40, 38, 9, 8, 1, 0])
    law, expected = given_facts_law(counts, 20, 20, 5), skewed_capacity(20, counts, samples=6000, seed=5)
    together = np.hypot(law.capacity_error, expected.error)
    assert 0 < law.capacity_error < 0.1 * law.capacity
    assert law.capacity == pytest.approx(expected.value, abs=4 * together)
    assert law.capacity < given_facts_law(np.full(6, 16), 20, 20, 5).capacity
    assert given_facts_law(counts, 20, 3, 5).capacity == pytest.approx(law.capacity * 3 / 20)
    assert law.probability is None and law.with_new_answers is None and any("Unequal" in one for one in law.caveats)


def test_where_nothing_is_known_it_says_so():
    many = given_facts_law(np.r_[50, np.ones(40, int)], 10, 10, 10)
    assert many.is_bound and any("an upper bound" in one for one in many.caveats)
    assert many.capacity == given_facts_law(np.full(41, 3), 10, 10, 10).capacity
    symmetric = given_facts_law(np.full(30, 2), 10, 10, 10, "symmetric")
    assert symmetric.delta == 55 and any("no special direction" in one for one in symmetric.caveats)
    for law in (
        given_facts_law(np.full(30, 2), 10, 8, 10, "symmetric"),
        given_facts_law(np.full(30, 2), 10, 10, 10, "given"),
    ):
        assert law.capacity is law.load is law.probability is law.delta is None
        assert law.caveats[0].startswith("No law is known for these facts: ")


def test_no_fact_at_all():
    law = given_facts_law(np.zeros(5, int), 8, 8, 4)
    assert law.load == 0 and law.capacity > 0 and law.probability is None
