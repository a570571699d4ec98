"""How often each answer is a target, by hand."""

import numpy as np
import pytest

from loadstone.frequencies import check_answers, read_frequencies, shares_of
from loadstone.theory.prediction import predict, predict_facts


@pytest.mark.parametrize("frequencies, shares", [
    ("uniform", [0.25] * 4), ("balanced", [0.25] * 4), ("zipf:1", np.array([12, 6, 4, 3]) / 25),
    ("zipf:0.5", 1 / np.sqrt([1, 2, 3, 4]) / sum(1 / np.sqrt([1, 2, 3, 4]))),
    ((1.0, 0.0, 2.0, 1.0), [0.25, 0, 0.5, 0.25]),
])  # fmt: skip
def test_shares_of_all_facts(frequencies, shares):
    np.testing.assert_allclose(shares_of(4, frequencies), shares)


@pytest.mark.parametrize("given, plain", [
    ((3, "zipf:2.0"), (3, "zipf:2")), ((np.int64(3), "zipf:0.5"), (3, "zipf:0.5")), ((3, "zipf:0"), (3, "zipf:0")),
    ((3, [0, 1, 2]), (3, (0.0, 1.0, 2.0))), ((2, np.array([1, 2])), (2, (1.0, 2.0))),
    ((None, "uniform"), (None, "uniform")), ((2, "balanced"), (2, "balanced")),
])  # fmt: skip
def test_one_plain_form(given, plain):
    assert check_answers(*given) == plain


@pytest.mark.parametrize("answers, frequencies", [
    (3, "zipf:inf"), (3, "zipf:-0.5"), (3, "zipf:x"), (3, "even:1"), (3, (0, 0, 0)), (3, (1, 2, float("inf"))), (3, 5),
    (3, (1, 2, True)), (3, (1, 2, -1)), (3, ()), (3, (1, 2)), (1, "uniform"), (2**31, "uniform"), (None, (1.0,)),
    (3, (1, 2, float("nan"))), (3, np.ones((3, 1))), (3, np.ones(3, complex)), (3, np.ones(3, "m8[s]")),
    (3, [[1], [2, 3]]), (3, (1, 2, 10**400)), (3, {1, 2, 3}), (3, None), (3, np.float64(1)),
    (3, np.ma.masked_array([1, 2, 3], [0, 0, 1])),
])  # fmt: skip
def test_what_is_none_is_refused(answers, frequencies):
    with pytest.raises(ValueError, match="answers is|frequencies is|frequencies has"):
        check_answers(answers, frequencies)


def test_numbers_whose_sum_is_too_large_for_a_float_are_shares_too():
    np.testing.assert_array_equal(shares_of(4, (1e308, 1e308, 1e308, 0.0)), [1 / 3, 1 / 3, 1 / 3, 0])


@pytest.mark.parametrize("ask", [predict, predict_facts])
@pytest.mark.parametrize("frequencies", [
    [-1, 2, 3], [np.nan, 1, 1], [0, 0, 0], [1, 2], [1, 2, 3, 4], [np.inf, 1, 1], np.ones(3, complex), "zipf:-1",
    "zipf:nan", "often", None, 1.0, np.ma.masked_array([1, 2, 3], [0, 0, 1]),
])  # fmt: skip
def test_a_prediction_refuses_frequencies_that_are_none(ask, frequencies):
    for more in ({}, {"decoupled": True}, {"family": "symmetric"}, {"margin": 0.1}):
        with pytest.raises(ValueError, match="frequencies (is|has) ") as refused:
            ask(12, 20, answers=3, frequencies=frequencies, **more)
        assert "\n" not in str(refused.value)
        with pytest.raises(ValueError, match="frequencies is .*, but must be uniform unless a number of answers"):
            ask(12, 20, frequencies=frequencies, **more)


def test_a_file_may_separate_numbers_by_blanks_or_commas(tmp_path):
    (tmp_path / "f.txt").write_text("1, 2\n3,4.5")
    assert read_frequencies(str(tmp_path / "f.txt")) == (1.0, 2.0, 3.0, 4.5)
    assert [read_frequencies(word) for word in ("uniform", "balanced", "zipf:3")] == ["uniform", "balanced", "zipf:3"]
