"""The rule by which line searches accept steps, by hand, for plain numbers and for arrays of JAX."""

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.solvers.wolfe import rounding_noise, wolfe


@pytest.mark.parametrize("number", [float, jnp.float32], ids=["plain", "jax"])
@pytest.mark.parametrize("loss, slope, noise, low_enough, accepted", [
    (0.5, -0.1, 0.0, True, True),  # lower, and flatter
    (0.9, -0.95, 0.0, True, False),  # lower, but nearly as steep: the step is too short
    (1.1, 0.5, 0.0, False, False),  # higher: the step is too long
    (0.99995, -0.1, 0.0, True, True),  # lower by half of what the slope asks for, and not steep upwards
    (0.99995, 0.9999, 0.0, False, False),  # the same, but steep upwards
    (1.0 + 1e-6, 0.5, 1e-5, True, True),  # as high, as far as rounding tells, and not steep upwards
    (1.0 + 1e-6, 0.9999, 1e-5, False, False),  # as high, but steep upwards
])  # fmt: skip
def test_a_step_lowers_the_loss_enough_and_leaves_a_flatter_slope(number, loss, slope, noise, low_enough, accepted):
    given = (1.0, -1.0, 1.0, loss, slope, noise)  # the line begins at a loss of 1, with a slope of -1
    assert tuple(map(bool, wolfe(*map(number, given)))) == (low_enough, accepted)


def test_noise_is_a_few_units_in_the_last_place():
    for dtype in (np.float32, np.float64):
        assert rounding_noise(dtype(-3), dtype) == 24 * np.finfo(dtype).eps
    assert np.isinf(rounding_noise(np.inf, np.float32))  # before anything was measured
