"""Memories of few bits: the counting bound, and the noise of rounding against a simulation of it."""

import math

import numpy as np
import pytest

from loadstone.levels import change_of
from loadstone.memories.rounding import rounded_to_bits
from loadstone.theory.bits import counting_bound, rounded_facts
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.margin import largest_margin


@pytest.mark.parametrize("d, bits", [(1, 1), (12, 2), (100, 8)])
def test_counting(d, bits):
    p = counting_bound(d, bits)
    assert p * math.log2(p) == pytest.approx(bits * d**2)


def test_rounding_changes_margins_by_the_noise_that_is_assumed():
    """The change of many margins (u_t - u_r)^T W e of random vectors has variance 2 v |W|^2 |..|^2 / 2 d^2."""
    random, d = np.random.default_rng(0), 60
    weights, inputs, differences = (random.standard_normal((d, d)) for _ in range(3))
    change = np.sqrt(2) * differences @ (rounded_to_bits(weights, 2) - weights) @ inputs.T
    found = (change**2).mean() / (weights**2).sum()
    # 3600 numbers that share their rows and columns: about 5 % are expected.
    assert found == pytest.approx(2 * change_of(2), rel=0.2)


def test_rounded_facts_grow_with_bits_to_the_capacity_and_leave_the_margin_that_they_need():
    found = [rounded_facts(12, bits) for bits in (1, 2, 4, 8, 16)]
    assert np.all(np.diff(found) > 0) and found[-1] == pytest.approx(float(capacity_associations(12)), rel=0.01)
    # At 2 bits: d^2 margins of this size lose one on average log 2 times.
    kappa = largest_margin(144, round(found[1]))
    lost = 144 * 0.5 * math.erfc(kappa / math.sqrt(2 * change_of(2)) / math.sqrt(2))
    assert lost == pytest.approx(math.log(2), rel=0.35)  # p is rounded to a whole number
    for wrong in ((1, 2), (12, 0)):
        with pytest.raises(ValueError, match="d is 1|bits is 0"):
            rounded_facts(*wrong)
