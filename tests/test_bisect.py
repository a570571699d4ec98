"""Bisection over whole numbers, against counting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.bisect import largest


@given(low=st.integers(0, 50), answer=st.integers(0, 3000), beyond=st.integers(1, 3000))
def test_the_largest_number_is_found_with_and_without_a_bound(low, answer, beyond):
    answer = low + answer
    assert largest(lambda n: n <= answer, low) == answer
    assert largest(lambda n: n <= answer, low, answer + beyond) == answer


def test_few_numbers_are_asked_and_none_that_is_known():
    asked = []
    assert largest(lambda n: asked.append(n) or n <= 1000, 1, 2000) == 1000
    assert len(asked) <= 11 and not {1, 2000} & set(asked) and len(asked) == len(set(asked))


def test_what_is_raised_for_numbers_too_large_reaches_the_caller():
    def holds(n):
        if n > 100:
            raise ValueError("n is too large")
        return True

    with pytest.raises(ValueError, match="too large"):
        largest(holds, 1)
