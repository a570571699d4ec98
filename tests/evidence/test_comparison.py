"""The arithmetic of one comparison."""

import json
import math

import pytest
from scipy.stats import norm, t

from loadstone.evidence.comparison import CHANCE, FEWEST, Comparison


def test_a_difference_counts_in_standard_errors_with_its_sign():
    assert Comparison("x", 1.0, 1.5, 0.25).deviations == 2
    assert Comparison("x", 1.5, 1.0, 0.25).deviations == -2


def test_without_an_error_any_difference_is_infinite_and_none_is_zero():
    assert Comparison("x", 1.0, 1.1, 0.0).deviations == math.inf
    assert Comparison("x", 1.1, 1.0, 0.0).deviations == -math.inf
    assert Comparison("x", 1.0, 1.0, 0.0).deviations == 0.0 and Comparison("x", 1.0, 1.0, 0.0).agrees


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("freedom", [1, 2, 7.5, math.inf])
def test_one_difference_in_a_hundred_is_called_one_by_chance(freedom, sign):
    """Half of the chance on either side, by the distribution function of Student's law (of the normal law)."""
    law = norm() if math.isinf(freedom) else t(freedom)
    for factor, agrees in ((0.999, True), (1.001, False)):
        measured = sign * factor * law.isf(0.005)
        one = Comparison("x", 0.0, measured, 1.0, freedom)
        assert one.agrees is agrees
        assert bool(2 * law.sf(abs(measured)) > CHANCE) is agrees
    on_the_bound = Comparison("x", 0.0, sign * t.ppf(1 - CHANCE / 2, freedom), 1.0, freedom)
    assert on_the_bound.agrees and CHANCE == 0.01 and FEWEST == 2


def test_a_row_is_complete_and_json():
    row = Comparison("x", 1.0, 1.5, 0.25, 3, "why").as_row()
    assert row == {
        "what": "x", "predicted": 1.0, "measured": 1.5, "error": 0.25, "freedom": 3, "note": "why",
        "deviations": 2.0, "agrees": True,
    }  # fmt: skip
    infinite = Comparison("x", 1.0, 1.5, 0.0).as_row()
    assert infinite["freedom"] is None and infinite["deviations"] is None and infinite["agrees"] is False
    json.dumps([row, infinite], allow_nan=False)
