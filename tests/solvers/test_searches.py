"""Searches take the steps that they took, and proofs give away no more than they did."""

import pytest

from tests.kept import compare
from tests.solvers.searches import KEPT, changes, close, given_away, margins, most, stored, verdicts

MADE = [verdicts, close, stored, most, margins, changes, given_away]


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_it_goes_as_it_went(made):
    compare(KEPT, made.__name__, made(), "tests.solvers.searches")
