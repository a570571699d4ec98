"""The overlap from noisy means: no bias from the noise, and an error of the right size."""

from itertools import permutations

import numpy as np
import pytest

from loadstone.space.overlap import overlap


def test_noise_within_chains_is_not_counted_and_the_error_is_right():
    random = np.random.default_rng(0)
    centre = np.full(50, 0.3 / np.sqrt(50))
    found = [overlap(centre + 0.05 * random.standard_normal((4, 8, 50))) for _ in range(200)]
    values, errors = (np.array(column) for column in zip(*found))
    # Squared means of single chains would be too large by 50 * 0.05^2 / 8 = 0.0156: many times the scatter of the mean.
    assert abs(values.mean() - 0.09) < 4 * values.std() / np.sqrt(200)
    assert 0.8 < np.sqrt((errors**2).mean()) / values.std() < 1.25


@pytest.mark.parametrize("chains, blocks", [(2, 2), (3, 4)])
def test_value_and_error_are_those_of_the_definition(chains, blocks):
    """Products of means of different chains; left out in turn is one block of one chain."""

    def between(means):
        return np.mean([one @ other for one, other in permutations(means, 2)])

    means = 0.3 + np.random.default_rng(0).standard_normal((chains, blocks, 5))
    found, variance = overlap(means), 0.0
    for chain in range(chains):
        left_out = []
        for block in range(blocks):
            averaged = means.mean(axis=1)
            averaged[chain] = np.delete(means[chain], block, axis=0).mean(axis=0)
            left_out.append(between(averaged))
        variance += (blocks - 1) / blocks * np.sum((left_out - np.mean(left_out)) ** 2)
    assert found.value == pytest.approx(between(means.mean(axis=1))) and found.error == pytest.approx(np.sqrt(variance))
