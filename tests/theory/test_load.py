import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.theory.load import associations, dimension, load, nearest_associations, nearest_dimension


def test_load_of_a_number_known_by_hand():
    assert load(1, 7) == 0
    assert load(100, 20) == pytest.approx(100 * 4.605170185988092 / 400, rel=1e-15)


@given(st.floats(1.0, 1e12), st.integers(1, 10**5))
def test_associations_and_dimension_invert_load(p, d):
    alpha = load(p, d)
    assert associations(alpha, d) == pytest.approx(p, rel=1e-9, abs=1e-7)
    if alpha > 1e-12:
        assert dimension(alpha, p) == pytest.approx(d, rel=1e-12)


@given(st.floats(0.01, 3), st.integers(2, 3000))
def test_nearest_associations_is_the_nearest_whole_number(alpha, d):
    p = nearest_associations(alpha, d)
    assert abs(p - associations(alpha, d)) <= 0.5


def test_arrays_pass_through():
    np.testing.assert_allclose(load(associations(np.array([0.2, 0.5, 1.2]), 50), 50), [0.2, 0.5, 1.2])


def test_loads_that_no_whole_number_has():
    assert nearest_associations(load(10**15, 10**7), 10**7) == pytest.approx(10**15, rel=1e-14)
    for alpha in (1.001 * load(10**15, 10**7), 1e50):
        with pytest.raises(ValueError, match="load is .*, but must be small enough for at most 1e.15 associations"):
            nearest_associations(alpha, 10**7)
    for call in (lambda: nearest_associations(1e308, 5), lambda: nearest_dimension(1e-320, 5), lambda: load(1e308, 1)):
        with pytest.raises(ValueError, match="is 1e.3.., but must be at least .* and at most 1e.100"):
            call()
    with pytest.raises(ValueError, match=r"load is \[0.5, 1.0\], but must be one number, not an array"):
        nearest_associations([0.5, 1.0], 5)
    assert nearest_dimension(1e-100, 2) > 10**49 and nearest_dimension(1e50, 2) == 1 and nearest_associations(0, 5) == 1
