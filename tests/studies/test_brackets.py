"""Capacities that are known, or lie between two numbers."""

import math

import numpy as np
import pytest

from loadstone.studies.kit.brackets import mean_and_error, middles, proved_bracket, resolution


def test_undecided_streams_have_a_bracket():
    assert proved_bracket({"p_c": 40, "storable": 40, "not_storable": 41}) == (40, 40)
    assert proved_bracket({"p_c": None, "storable": 387, "not_storable": 399}) == (387, 398)
    assert proved_bracket({"p_c": None, "storable": 387, "not_storable": None}) is None
    assert proved_bracket({"p_c": None, "storable": None, "not_storable": 9}) is None


def test_a_bracket_adds_the_variance_of_a_whole_number_in_it():
    brackets = [(40, 40), (10, 14)]
    assert list(middles(brackets)) == [40, 12]
    assert resolution(brackets) == pytest.approx(np.std(np.arange(10, 15)) / 2) and resolution([(3, 3)]) == 0
    mean, error = mean_and_error(brackets)
    assert mean == 26 and error == pytest.approx(math.hypot(np.std([40, 12], ddof=1) / math.sqrt(2), math.sqrt(2) / 2))
