"""Bounds on margins from passes in float32 and float64, beside the same margins in exact arithmetic."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.proofs.rounding import least_margin
from loadstone.proofs.streamed import _UNITS, streamed_bound
from loadstone.solvers.decide import decide
from loadstone.streams.stream import Stream


@cache
def small():
    return original(Stream(0, 6), 13)


@pytest.fixture(scope="module")
def witness():
    return np.asarray(decide(small()).witness, np.float32)


def exact_margins(problem, weights):
    """With rational numbers, from the bits of the arrays."""
    inputs, outputs, matrix = (
        [[Fraction(float(number)) for number in row] for row in np.asarray(part)]
        for part in (problem.inputs, problem.outputs, weights)
    )
    margins = []
    for row, target in zip(inputs, np.asarray(problem.targets)):
        query = [sum(a * b for a, b in zip(line, row)) for line in matrix]
        scores = [sum(a * b for a, b in zip(output, query)) for output in outputs]
        margins.append(scores[target] - max(score for i, score in enumerate(scores) if i != target))
    return margins


def test_the_bound_is_below_the_true_margin_and_close(witness):
    found, true = streamed_bound(small(), witness, block=5), min(exact_margins(small(), witness))
    assert found.unproved == 0 and found.in_float64 == 0 and found.associations == 13
    assert 0 < found.bound <= true
    size = 6 * float(np.linalg.norm(witness))  # scores are of this order
    assert float(true) - found.bound < 20 * 6 * 2.0**-24 * size
    assert found.margin == pytest.approx(float(true), abs=6 * 2.0**-24 * size)
    # The other proof, in NumPy, is about W / |W|.
    assert least_margin(small().arrays(), witness.astype(np.float64)) == pytest.approx(
        float(true) / np.linalg.norm(witness), rel=1e-6
    )


@pytest.mark.parametrize("d", [4, 60])
def test_as_much_is_given_away_as_sums_of_so_many_terms_can_be_off(d):
    """Of two scores each d products in float32, by Cauchy and Schwarz, and the query that was rounded before."""
    random = np.random.default_rng(d)
    inputs, outputs = random.standard_normal((1, d)).astype("f"), random.standard_normal((2, d)).astype("f")
    weights = np.outer(outputs[0] - outputs[1], inputs[0])
    found = streamed_bound(facts(inputs, outputs, targets=[0]), weights)
    longest, query = np.linalg.norm(outputs.astype(float), axis=1).max(), np.linalg.norm(weights @ inputs[0])
    off = 2 * (d + 1) * 2.0**-24 * longest * query
    assert found.in_float64 == 0 and off < found.margin - found.bound < 1.05 * off


def test_a_margin_within_the_rounding_of_float32_is_proved_in_float64(witness):
    """A rival of the first fact differs from its target in the last digit of one component."""
    outputs, query = np.asarray(small().outputs), witness @ np.asarray(small().inputs)[0]
    twin, place = outputs[0].copy(), int(np.argmax(np.abs(query)))
    twin[place] = np.nextafter(twin[place], np.float32(-np.inf if query[place] > 0 else np.inf))
    problem = facts(small().inputs, np.vstack([outputs, twin]), targets=np.arange(13))
    found, true = streamed_bound(problem, witness, block=5), min(exact_margins(problem, witness))
    assert found.in_float64 == 1 and found.unproved == 0
    assert 0 < found.bound <= true < 1e-6 * np.linalg.norm(query)
    assert found.bound == pytest.approx(float(true), rel=1e-5)


def test_a_violation_is_not_proved(witness):
    found = streamed_bound(small(), -witness, block=5)
    true = exact_margins(small(), -witness)
    assert found.unproved == found.in_float64 == sum(margin <= 0 for margin in true) > 0
    assert found.bound <= min(true) < 0
    assert streamed_bound(small(), np.zeros((6, 6), np.float32), block=5).unproved == 13


def test_what_cannot_be_proved_is_refused(witness):
    with pytest.raises(ValueError, match="problem is 'Stored', but must be facts or an original problem"):
        streamed_bound(decoupled(Stream(0, 6), 13), witness)
    with pytest.raises(ValueError, match=r"weights is 'of shape \(5, 5\)', but must be finite .* of shape \(6, 6\)"):
        streamed_bound(small(), witness[:5, :5])
    with pytest.raises(ValueError, match="must be finite numbers"):
        streamed_bound(small(), np.full((6, 6), np.nan))


def test_units_of_rounding_are_those_of_the_machine():
    for dtype, (unit, smallest) in _UNITS.items():
        about = np.finfo(dtype)
        assert unit == about.eps / 2 and smallest == about.tiny
