"""Moments of spectra: of known matrices, and as the scatter of |W e|^2."""

import numpy as np
import pytest

from loadstone.studies.kit.moments import FOURTH, TOP, moments


def test_equal_singular_values_have_moments_of_one_on_every_scale():
    for scale in (1, 7.5):
        assert moments(np.full(7, scale)) == {FOURTH: pytest.approx(1), TOP: pytest.approx(1)}
    assert moments(np.array([3.0, 4.0])) == {
        FOURTH: pytest.approx((81 + 256) / 2 / 12.5**2), TOP: pytest.approx(4 / 12.5**0.5)
    }  # fmt: skip


def test_the_fourth_moment_is_the_scatter_of_the_squared_length_of_queries():
    """The relative variance of |W e|^2 over Gaussian inputs is 2 <s^4> / (<s^2>^2 d)."""
    random, values = np.random.default_rng(0), np.array([3.0, 1.0, 0.5, 2.0])
    lengths = ((random.standard_normal((200_000, 4)) * values) ** 2).sum(axis=1)
    assert lengths.var() / lengths.mean() ** 2 == pytest.approx(2 * moments(values)[FOURTH] / 4, rel=0.02)
