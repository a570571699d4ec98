"""Queries of solutions against closed forms, rejection sampling, both ends of the overlap, and noise that is drawn."""

import math

import numpy as np
import pytest
from scipy.special import log_ndtr

from loadstone.memories.rounding import rounded_to_bits
from loadstone.theory.finite_margin import nearest_query
from loadstone.theory.scores import target_mean
from loadstone.theory.solution_scores import recalled_with_noise, rounding_noise, scores_by_length, solution_queries


def error_of(values):
    return values.std(ddof=1) / math.sqrt(len(values))


@pytest.mark.parametrize("q", [0.2, 0.9])
def test_two_outputs_in_closed_form(q):
    """In units of |u_1 - u_2| the margin is normal with mean sqrt(q) xi, xi normal, and variance 1 - q, given that it
    is positive."""
    found = solution_queries(q, 5, 2, 0.5, 1500, steps=200)
    xi = np.arange(-9, 9, 0.01)
    mean, deviation = math.sqrt(q) * xi, math.sqrt(1 - q)
    inverse_mills = np.exp(-((mean / deviation) ** 2) / 2 - log_ndtr(mean / deviation)) / math.sqrt(2 * math.pi)
    expected = np.exp(-(xi**2) / 2) @ (mean + deviation * inverse_mills) * 0.01 / math.sqrt(2 * math.pi)
    plane = found.outputs[:, 0] - found.outputs[:, 1]
    plane /= np.linalg.norm(plane, axis=1, keepdims=True)
    for queries, scale in ((found.typical, 1.0), (found.centre, math.sqrt(q))):
        margin = scale * (queries * plane).sum(axis=1)
        assert margin.min() > -0.1 and abs(margin.mean() - expected) < 4 * error_of(margin)


def test_the_largest_dimension_is_a_thousand():
    with pytest.raises(ValueError, match="d is 1001.0, but must be whole, at least 2 and at most 1000"):
        solution_queries(0.5, 1001, 2, 0.5, 2, steps=2)


def test_typical_queries_against_rejection():
    """For given outputs and eta the first x that lets the target win."""
    q, d, p, random = 0.5, 4, 5, np.random.default_rng(1)
    found = solution_queries(q, d, p, 0.2, 1500, seed=3, steps=300)
    scores = (found.outputs @ found.typical[:, :, None])[:, :, 0]
    assert (scores.argmax(axis=1) == 0).all()
    outputs, eta = random.standard_normal((6000, p, d)), random.standard_normal((6000, d))
    drawn, left = np.full((6000, d), np.nan), np.arange(6000)
    for _ in range(3000):
        tried = math.sqrt(q) * eta[left] + math.sqrt(1 - q) * random.standard_normal((len(left), d))
        wins = (outputs[left] @ tried[:, :, None])[:, :, 0].argmax(axis=1) == 0
        drawn[left[wins]] = tried[wins]
        left = left[~wins]
    # What is left has outputs between others, or nearly: it is so few that their law hardly changes the rest.
    possible = ~np.isnan(drawn).any(axis=1)
    other = scores_by_length(outputs[possible], drawn[possible])
    one = scores_by_length(found.outputs, found.typical)
    assert possible.mean() > 0.9
    for values, expected in ((one[:, 0], other[:, 0]), (one[:, 1:].max(axis=1), other[:, 1:].max(axis=1))):
        assert abs(values.mean() - expected.mean()) < 4 * math.hypot(error_of(values), error_of(expected)) + 0.03


def test_both_ends_of_the_overlap():
    """At q = 0 the query is any that lets the target win; towards q = 1 typical and centre are the nearest to eta, and
    for many dimensions the target scores as at capacity."""
    none = solution_queries(0, 6, 4, 0.1, 20, steps=50)
    assert np.isnan(none.centre).all()
    d, p = 60, 12
    full = solution_queries(0.9999, d, p, 1e-6, 400, steps=300)
    for queries in (full.typical, full.centre):
        assert np.abs(queries - full.largest_margin).max() < 0.1  # sqrt(1 - q) is left
        target = (full.outputs[:, 0] * queries).sum(axis=1) / math.sqrt(d)
        assert abs(target.mean() - target_mean(p)) < 4 * error_of(target) + 0.05  # of order 1 / d


def test_the_largest_margin_is_that_of_the_nearest_query():
    found = solution_queries(0.3, 8, 6, 0.7, 50, steps=20)
    margins = ((found.outputs[:, :1] - found.outputs[:, 1:]) @ found.largest_margin[:, :, None])[:, :, 0] / math.sqrt(8)
    # The margin is 0.7 over the length of the input, which scatters by 1/4.
    assert 0.3 < margins.min() and 0.6 < margins.min(axis=1).mean() < 1.6
    rivals = np.array([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(nearest_query(rivals, np.array([-1.0, 3.0]), 0.5)[0], [0.5, 3.0], atol=1e-12)
    assert nearest_query(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2), 0.5)[0] is None


def test_noise_against_one_rival_in_closed_form():
    """It has to exceed the margin: Phi(margin / (|u_1 - u_2| deviation))."""
    random = np.random.default_rng(2)
    outputs, queries = random.standard_normal((300, 2, 6)), random.standard_normal((300, 6))
    plane = outputs[:, 0] - outputs[:, 1]
    expected = np.exp(log_ndtr((plane * queries).sum(axis=1) / np.linalg.norm(plane, axis=1) / 0.7))
    found = recalled_with_noise(outputs, queries, 0.49, draws=400)
    assert abs(found.mean() - expected.mean()) < 4 * 0.5 / math.sqrt(300 * 400)
    assert np.abs(found - expected).max() < 5 * 0.5 / math.sqrt(400)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_rounding_is_a_smaller_memory_with_noise(bits):
    """Of rounded normal numbers, taken as a multiple of the numbers and a rest."""
    numbers = np.random.default_rng(bits).standard_normal((700, 700))
    rounded = rounded_to_bits(numbers, bits)
    kept = (rounded * numbers).mean() / (numbers**2).mean()
    noise = ((rounded - kept * numbers) ** 2).mean() / kept**2
    assert noise == pytest.approx(rounding_noise(bits), rel=0.02)
    if bits == 1:
        assert rounding_noise(1) == pytest.approx(math.pi / 2 - 1)


@pytest.mark.parametrize("arguments, sentence", [
    ((1.0, 5, 4, 0.1), "overlap is 1.0"), ((0.5, 5, 1, 0.1), "p is 1"), ((0.5, 5, 4, 0), "margin is 0"),
    ((0.5, 1, 4, 0.1), "d is 1"), ((0.5, 2, 100, 0.1), "most of 100 outputs lie between others"),
])  # fmt: skip
def test_what_has_no_queries_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        solution_queries(*arguments)
