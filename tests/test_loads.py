"""The load and its inverse, from the definition."""

import math

import pytest

from loadstone.loads import associations_of, load_of, nearest_associations


@pytest.mark.parametrize("p, d", [(2, 1), (85, 20), (3950, 150), (10**6, 1024)])
def test_a_load_and_its_associations_are_inverses(p, d):
    assert load_of(p, d) == pytest.approx(p * math.log(p) / d**2, rel=1e-15)
    assert associations_of(load_of(p, d), d) == pytest.approx(p, rel=1e-12)
    assert nearest_associations(float(load_of(p, d)), d) == p


def test_at_load_0_there_is_one_association():
    assert associations_of(0.0, 20) == 1 and nearest_associations(1e-9, 20) == 1
