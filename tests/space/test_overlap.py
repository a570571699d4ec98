"""The overlap from noisy means: no bias from the noise, and an error of the right size."""

import numpy as np

from loadstone.space.overlap import overlap


def test_noise_within_chains_is_not_counted_and_the_error_is_right():
    random = np.random.default_rng(0)
    centre = np.full(50, 0.3 / np.sqrt(50))
    found = [overlap(centre + 0.05 * random.standard_normal((4, 8, 50))) for _ in range(200)]
    values, errors = (np.array(column) for column in zip(*found))
    # Squared means of single chains would be too large by 50 * 0.05^2 / 8 = 0.0156: many times the scatter of the mean.
    assert abs(values.mean() - 0.09) < 4 * values.std() / np.sqrt(200)
    assert 0.8 < np.sqrt((errors**2).mean()) / values.std() < 1.25
