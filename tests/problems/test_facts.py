import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.measurements.accuracy import measure
from loadstone.memories.full import Full
from loadstone.problems.facts import facts
from loadstone.solvers.decide import decide

GOOD = np.random.default_rng(0).standard_normal((6, 3))


def with_nan():
    bad = GOOD.copy()
    bad[4, 1] = np.nan
    return bad


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ((with_nan(), GOOD), r"inputs\[4, 1\] is nan, but must be finite"),
        ((GOOD, with_nan() * np.inf), r"outputs\[0, 0\] is .*inf"),
        ((GOOD, GOOD[:, :2]), r"outputs.shape is \(6, 2\), but must be \(m, 3\)"),
        ((GOOD, GOOD[:5]), "targets is None, but must be given"),
        ((GOOD, GOOD[:1], [0] * 6), "at least two outputs"),
        ((GOOD, GOOD[:5], [0, 1, 2, 3, 4, 5]), r"targets\[5\] is 5, but must be in 0..4"),
        ((GOOD, GOOD[:5], [0, 1]), "6 whole numbers"),
        ((GOOD, GOOD, np.arange(6.0)), "6 whole numbers"),
        ((GOOD[0], GOOD), r"inputs.shape is \(3,\), but must be two sizes"),
        ((GOOD, np.ones((6, 6, 3))), r"outputs.shape is \(6, 6, 3\), but must be two sizes"),
        ((GOOD, [["a"]]), "outputs is .* an array of real numbers"),
        ((np.zeros((0, 3)), GOOD), r"inputs.shape is \(0, 3\)"),
    ],
)
def test_bad_arrays_get_one_sentence(arguments, sentence):
    inputs, outputs, targets = (*arguments, None)[:3]
    with pytest.raises(ValueError, match=sentence) as caught:
        facts(inputs, outputs, targets=targets)
    assert str(caught.value).count("\n") == 0


@given(st.integers(1, 9), st.integers(2, 9), st.integers(1, 5), st.integers(0, 99))
def test_good_arrays_are_taken_as_they_are(n, m, d, seed):
    random = np.random.default_rng(seed)
    inputs, outputs, targets = random.standard_normal((n, d)), random.standard_normal((m, d)), random.integers(0, m, n)
    problem = facts(inputs, outputs, targets=targets)
    np.testing.assert_array_equal(problem.inputs, inputs.astype(np.float32))
    np.testing.assert_array_equal(problem.target_outputs, outputs.astype(np.float32)[targets])


def test_digits_beyond_float32_are_kept_for_proofs():
    """Two outputs that differ in the ninth digit: storable as given, a tie once they are rounded to float32."""
    outputs = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
    problem = facts(np.eye(2), outputs)
    assert decide(problem).verdict == "storable" and problem.arrays().outputs.dtype == np.float64
    assert problem.description == "outputs shared, float64 rounded to float32"
    assert measure(problem, Full(np.eye(2, dtype=np.float32))).problem == problem.description
    assert decide(facts(np.eye(2), outputs.astype(np.float32))).verdict == "not storable"
    assert facts(np.eye(2), [[1, 2], [3, 4]]).description == "outputs shared"


def test_large_whole_numbers_are_kept_for_proofs():
    problem = facts(np.eye(2), [[2**24, 1], [2**24, 2], [2**24 + 1, 2]][1:])
    assert decide(problem).verdict == "storable" and "rounded" in problem.description


def test_numbers_beyond_float32_are_refused():
    with pytest.raises(ValueError, match="outputs is 'beyond 3.4e38 in size', but must be within the range of float32"):
        facts(np.eye(2), [[1e39, 0], [0, 1]])


def test_numbers_that_change_later_do_not_change_the_problem():
    """Whatever the memory that they are in: JAX takes over arrays that begin at a multiple of 64 bytes."""
    room = np.empty(4 * 6 * 5 + 64, np.uint8)
    start = -room.ctypes.data % 64
    inputs = room[start : start + 4 * 6 * 5].view(np.float32).reshape(6, 5)
    inputs[:] = np.random.default_rng(0).standard_normal((6, 5))
    before, targets = inputs.copy(), np.arange(6)
    problem = facts(inputs, before + 1, targets=targets)
    inputs[:], targets[:] = 9, 0
    np.testing.assert_array_equal(problem.inputs, before)
    np.testing.assert_array_equal(problem.targets, np.arange(6))
