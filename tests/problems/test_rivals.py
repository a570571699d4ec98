"""Rivals and margins: those of all scores in float64, however many facts there are and whatever float32 can tell."""

import itertools
import time

import numpy as np
import pytest

from loadstone.problems import numpy_pass
from loadstone.problems.arrays import Arrays
from loadstone.problems.numpy_pass import margins_of, rivals_of, scores_of, seconds_of_rivals

RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal((3, 3))


def drawn(n, m, d=3, scale=1e3):
    return Arrays(RANDOM.standard_normal((n, d)), scale * RANDOM.standard_normal((m, d)), RANDOM.integers(m, size=n))


def one_by_one(weights, facts, rows):
    answers = []
    for row in rows:
        scores = facts.outputs @ weights @ facts.inputs[row]
        rival = next(answer for answer in np.argsort(-scores, kind="stable") if answer != facts.targets[row])
        answers.append((rival, scores[facts.targets[row]] - scores[rival]))
    return zip(*answers)


@pytest.mark.parametrize("n, m, rows", [(23, 6, None), (23, 6, [7, 2, 2, 22]), (2100, 2100, None)])
def test_rivals_and_margins_are_those_of_all_scores(n, m, rows):
    """The last have more scores than are made at once."""
    facts = drawn(n, m)
    expected, margins = one_by_one(WEIGHTS, facts, range(n) if rows is None else rows)
    rivals, differences = rivals_of(WEIGHTS, facts, rows)
    assert rivals.tolist() == list(expected)
    np.testing.assert_allclose(differences, margins, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(margins_of(WEIGHTS, facts, rows), differences)


def test_scores_come_in_blocks_of_so_many_numbers():
    facts = drawn(3000, 4500)
    blocks = list(scores_of(WEIGHTS, facts, range(3000)))
    # 2^22 numbers are 932 rows of them: three blocks have a few more.
    assert [len(rows) for rows, _ in blocks] == [1000, 1000, 1000]
    assert np.concatenate([rows for rows, _ in blocks]).tolist() == [*range(3000)]
    np.testing.assert_allclose(blocks[2][1][5], facts.outputs @ WEIGHTS @ facts.inputs[2005])
    assert [rows.tolist() for rows, _ in scores_of(WEIGHTS, facts, [])] == [[]]
    assert margins_of(WEIGHTS, facts, []).shape == (0,)


@pytest.mark.parametrize("in_float32", [False, True])
def test_signs_and_ratios_survive_every_scale(in_float32, monkeypatch):
    """Scores within the range of float64 are as they are, and others times a power of two for each fact."""
    if in_float32:
        monkeypatch.setattr(numpy_pass, "_MOST_IN_FLOAT64", 0)
    facts = drawn(23, 6, scale=1.0)
    usual, margins = rivals_of(WEIGHTS, facts)
    for of_inputs, of_outputs, of_weights in [(155, 155, 0), (-163, -163, 0), (300, -300, 0), (300, 5, -305), (9, 9, 9),
                                              (-300, -300, 300), (0, 0, 307)]:  # fmt: skip
        inputs, outputs = facts.inputs * 2.0 ** (3.3 * of_inputs // 1), facts.outputs * 2.0 ** (3.3 * of_outputs // 1)
        powers = sum(int(3.3 * power // 1) for power in (of_inputs, of_outputs, of_weights))
        rivals, scaled = rivals_of(WEIGHTS * 2.0 ** (3.3 * of_weights // 1), Arrays(inputs, outputs, facts.targets))
        assert rivals.tolist() == usual.tolist() and np.isfinite(scaled).all()
        mantissas, exponents = np.frexp(scaled)
        assert mantissas.tolist() == np.frexp(margins)[0].tolist()  # not a digit is lost
        if abs(powers) < 900:
            assert scaled.tolist() == np.ldexp(margins, powers).tolist()
    ((_, scores),) = scores_of(WEIGHTS, Arrays(facts.inputs * 1e300, facts.outputs * 1e300, facts.targets), range(23))
    assert (scores.argsort() == (facts.inputs @ WEIGHTS.T @ facts.outputs.T).argsort()).all()


def test_many_facts_have_the_rivals_and_margins_of_float64():
    """So many products are made in float32, but three answers are closer to each other than float32 can see."""
    d, n, m = 64, 8200, 8200
    facts = drawn(n, m, d, scale=1.0)
    inputs, outputs, targets = facts.inputs.copy(), facts.outputs.copy(), facts.targets.copy()
    inputs[:, 0], outputs[:, 0] = 0, 0
    inputs[[5, 4000, 8000]] = inputs[7] = 0
    inputs[[5, 4000, 8000], 0] = 1
    outputs[[10, 11, 12]], outputs[[10, 11, 12], 0] = 0, [1, 1 - 2e-9, 1 - 1e-9]
    targets[[5, 4000, 8000]] = 10, 11, 12
    rivals, margins = rivals_of(np.eye(d), Arrays(inputs, outputs, targets))
    # A positive margin is certain; of a negative one the sign is, and the rival is one of the best.
    assert rivals[5] == 12 and margins[7] == 0 and rivals[7] != targets[7]
    np.testing.assert_allclose(margins[[5, 4000, 8000]], [1e-9, -2e-9, -1e-9], rtol=1e-5)
    some = RANDOM.permutation(np.setdiff1d(np.arange(n), [5, 7, 4000, 8000]))[:60]
    expected, differences = one_by_one(np.eye(d), Arrays(inputs, outputs, targets), some)
    assert rivals[some].tolist() == list(expected)
    np.testing.assert_allclose(margins[some], differences, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n, seconds", [(5000, 2.0 * 5000 / 1024), (3, 2.0)])
def test_the_time_of_all_facts_is_judged_by_a_thousand(n, seconds, monkeypatch):
    ticks = itertools.count(step=2.0)
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    assert seconds_of_rivals(WEIGHTS, drawn(n, 6)) == seconds
