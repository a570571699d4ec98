"""Rivals and margins, in float64 and in float32, in one block and in many."""

import itertools
import time

import numpy as np
import pytest

from loadstone.problems import numpy_pass
from loadstone.problems.arrays import Arrays
from loadstone.problems.numpy_pass import margins_of, rivals_of, scores_of, seconds_of_rivals

RANDOM = np.random.default_rng(0)
N, M, D = 23, 6, 3
FACTS = Arrays(RANDOM.standard_normal((N, D)), 1e3 * RANDOM.standard_normal((M, D)), RANDOM.integers(M, size=N))
WEIGHTS = RANDOM.standard_normal((D, D))


def one_by_one(weights, facts, rows):
    found = []
    for row in rows:
        scores = facts.outputs @ weights @ facts.inputs[row]
        others = [answer for answer in np.argsort(-scores, kind="stable") if answer != facts.targets[row]]
        found.append((others[0], scores[facts.targets[row]] - scores[others[0]]))
    return zip(*found)


@pytest.fixture(params=["float64", "float32"])
def digits(request, monkeypatch):
    if request.param == "float32":
        monkeypatch.setattr(numpy_pass, "_MOST_IN_FLOAT64", 0)


@pytest.mark.parametrize("block", [2**20, 4 * M, M])
@pytest.mark.parametrize("rows", [None, [7, 2, 2, 22]])
def test_rivals_and_margins_are_those_of_all_scores(digits, block, rows, monkeypatch):
    monkeypatch.setattr(numpy_pass, "_BLOCK", block)
    monkeypatch.setattr(numpy_pass, "_BLOCK_OF_SINGLES", block)
    expected, margins = one_by_one(WEIGHTS, FACTS, range(N) if rows is None else rows)
    found = rivals_of(WEIGHTS, FACTS, rows)
    assert found[0].tolist() == list(expected)
    np.testing.assert_allclose(found[1], margins, rtol=1e-9)
    np.testing.assert_array_equal(margins_of(WEIGHTS, FACTS, rows), found[1])


def test_scores_come_in_blocks_of_so_many_numbers(monkeypatch):
    monkeypatch.setattr(numpy_pass, "_BLOCK", 5 * M)
    parts = list(scores_of(WEIGHTS, FACTS, range(N)))
    assert [len(rows) for rows, _ in parts] == [6, 6, 6, 5]  # 23 * 6 numbers are 4 times 30 and some more
    np.testing.assert_allclose(np.vstack([scores for _, scores in parts]), FACTS.inputs @ WEIGHTS.T @ FACTS.outputs.T)
    assert [rows.tolist() for rows, _ in scores_of(WEIGHTS, FACTS, [])] == [[]]


def test_without_facts_there_are_no_margins(digits):
    assert margins_of(WEIGHTS, FACTS, []).shape == (0,)


@pytest.fixture
def again(monkeypatch):
    """In float32: the rows of all facts that are looked at again in float64, for each call."""
    shown, way = [], numpy_pass._rivals_in_float64
    monkeypatch.setattr(numpy_pass, "_MOST_IN_FLOAT64", 0)
    monkeypatch.setattr(numpy_pass, "_rivals_in_float64", lambda *given: shown.append(given[2].tolist()) or way(*given))
    return shown


def test_rivals_that_float32_cannot_tell_apart_are_looked_at_again(again):
    """Three answers are closer to each other than float32 can see."""
    inputs = np.array([[1.0, 0.2], [1.0, 0.2], [1.0, 0.2], [0.0, 0.0]])
    outputs = np.array([[1.0, 0.0], [1.0 - 2e-9, 0.0], [1.0 - 1e-9, 0.0], [-3.0, 0.0]])
    rivals, margins = rivals_of(np.eye(2), Arrays(inputs, outputs, np.array([0, 1, 3, 0])))
    # Only a positive margin may be none; a query of zero has no margin at all.
    assert again == [[0]] and rivals[0] == 2 and rivals[3] != 0
    np.testing.assert_allclose(margins[:2], [1e-9, -2e-9], rtol=1e-5)
    assert margins[2] < -3.9 and margins[3] == 0


@pytest.mark.parametrize("share, rows", [(0.99, [0]), (1.01, [])])
def test_only_what_rounding_could_have_changed_is_looked_at_again(share, rows, again):
    """A sum of d products may be wrong by (d + 4) units of rounding times the lengths of its vectors, and so may the
    other one. Here d = 2, and the lengths are 5 and 10."""
    margin = share * 2 * (2 + 4) * 2.0**-24 * 5 * 10
    outputs = np.array([[0.0, 10.0], [0.0, 10.0 - margin / 4]])
    rivals_of(np.eye(2), Arrays(np.array([[3.0, 4.0]]), outputs, np.array([0])))
    assert again == [rows]


def test_the_time_is_judged_by_a_few_facts(monkeypatch):
    ticks, asked = itertools.count(step=2.0), []
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(numpy_pass, "_TIMED_ROWS", 5)
    way = numpy_pass._rivals_in_float64
    monkeypatch.setattr(numpy_pass, "_rivals_in_float64", lambda *given: asked.append(given[2].tolist()) or way(*given))
    assert seconds_of_rivals(WEIGHTS, FACTS) == 2.0 * N / 5
    assert asked == [[0], [0, 1, 2, 3, 4]]
    few = Arrays(FACTS.inputs[:3], FACTS.outputs, FACTS.targets[:3])
    assert seconds_of_rivals(WEIGHTS, few) == 2.0 and asked[-1] == [0, 1, 2]


def test_many_products_are_made_in_float32(monkeypatch):
    size = N * FACTS.outputs.size
    for most, way in ((size, numpy_pass._rivals_in_float64), (size - 1, numpy_pass._rivals_in_float32)):
        monkeypatch.setattr(numpy_pass, "_MOST_IN_FLOAT64", most)
        assert numpy_pass._rivals_in_either(FACTS, N) is way
