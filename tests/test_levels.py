"""The best distances of levels, and what rounding with them changes."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from loadstone.levels import _change, change_of, half_levels, step_of

#: Of 1, 2, 3, 4, 8, 12 and 16 bits.
STEPS = [1.595769, 0.9956867, 0.5860194, 0.3352006, 0.03076239, 0.002448409, 0.0001812234]
CHANGES = [0.3633802, 0.1188461, 0.03743966, 0.01154288, 8.768619e-05, 5.355365e-07, 2.880922e-09]


@pytest.mark.parametrize("half, step", [(1, 1.6), (2, 0.9), (4, 0.3)])
def test_the_change_is_an_integral_over_a_normal_number(half, step):
    levels = (np.arange(-half, half) + 0.5) * step

    def squared(x):
        return ((x - levels[np.abs(levels - x).argmin()]) ** 2) * norm.pdf(x)

    edges = [*((levels[1:] + levels[:-1]) / 2), 0.0]
    expected = sum(quad(squared, *part)[0] for part in zip([-9, *sorted(set(edges))], [*sorted(set(edges)), 9]))
    assert _change(half, step) == pytest.approx(expected, rel=1e-7)


def test_steps_and_changes_are_what_they_were():
    assert [half_levels(bits) for bits in (1, 2, 16)] == [1, 2, 2**15]
    assert [step_of(bits) for bits in (1, 2, 3, 4, 8, 12, 16)] == pytest.approx(STEPS, rel=1e-5)
    assert [change_of(bits) for bits in (1, 2, 3, 4, 8, 12, 16)] == pytest.approx(CHANGES, rel=1e-6)
