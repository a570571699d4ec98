"""R-hat and effective samples of chains whose law is known."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from loadstone.space.diagnostics import MIXED, Mixing, effective_samples, mixing, r_hat


def autoregressive(phi, chains=4, times=4000, seed=0):
    """x' = phi x + noise, from its stationary law: n numbers are worth n (1 - phi) / (1 + phi) independent ones."""
    random = np.random.default_rng(seed)
    found = np.empty((chains, times))
    found[:, 0] = random.standard_normal(chains)
    for time in range(1, times):
        found[:, time] = phi * found[:, time - 1] + np.sqrt(1 - phi**2) * random.standard_normal(chains)
    return found


@pytest.mark.parametrize("phi", [0.0, 0.6, 0.9])
def test_effective_samples_of_an_autoregression(phi):
    # Over 10 seeds the estimate scattered by less than 12 % at phi = 0.9, and less below.
    assert effective_samples(autoregressive(phi)) == pytest.approx(16_000 * (1 - phi) / (1 + phi), rel=0.3)


def test_chains_that_agree_have_mixed_and_others_have_not():
    good = autoregressive(0.5)
    shifted, wider = good.copy(), good.copy()
    shifted[0] += 1
    wider[0] *= 3  # the same mean: only distances from the median tell
    stuck = np.repeat(np.arange(4.0)[:, None], 100, axis=1)
    assert r_hat(good) < 1.01 and r_hat(shifted) > MIXED and r_hat(wider) > MIXED and r_hat(stuck) > 1e6
    found = mixing(np.stack([good, shifted], axis=2), stride=3)
    assert found.r_hat == r_hat(shifted) and not found.mixed
    assert found.autocorrelation_time == pytest.approx(3 * good.size / effective_samples(shifted))
    assert mixing(good[:, :, None]).mixed


def by_definition(trace):
    """R-hat of the numbers as they are, and effective samples, with every sum written out."""
    chains, times = trace.shape
    half = times // 2
    halves = [chain[part] for part in (slice(half), slice(times - half, times)) for chain in trace]
    ranks = rankdata(np.concatenate(halves)).reshape(2 * chains, half)
    scores = norm.ppf((ranks - 3 / 8) / (ranks.size + 1 / 4))
    within = np.mean([chain.var(ddof=1) for chain in scores])
    total = within * (half - 1) / half + np.var([chain.mean() for chain in scores], ddof=1)
    centred = [chain - chain.mean() for chain in scores]
    behind = [np.mean([c[: half - lag] @ c[lag:] for c in centred]) / (half - 1) for lag in range(half)]
    correlation = [1 - (within - one) / total for one in behind]
    time, smallest = -1.0, np.inf
    for even, odd in zip(correlation[::2], correlation[1::2]):
        if even + odd < 0:
            break
        smallest = min(smallest, even + odd)
        time += 2 * smallest
    return np.sqrt(total / within), ranks.size / max(time, 1 / np.log10(ranks.size))


@pytest.mark.parametrize("phi, chains, times", [(0.0, 2, 9), (0.8, 3, 40), (-0.7, 2, 25), (0.99, 4, 60), (0.5, 2, 31)])
def test_both_are_those_of_the_definition(phi, chains, times):
    for trace in (
        found := autoregressive(phi, chains, times),
        found.round(),
    ):  # also of numbers of which many are equal
        folded = abs(trace - np.median(trace))
        assert r_hat(trace) == pytest.approx(max(by_definition(one)[0] for one in (trace, folded)), rel=1e-9)
        assert effective_samples(trace) == pytest.approx(by_definition(trace)[1], rel=1e-9)


def test_chains_that_never_move_have_not_mixed():
    still = np.ones((2, 8))
    assert r_hat(still) == np.inf and effective_samples(still) == 1.0
    found = mixing(still[:, :, None], stride=2)
    assert (found.effective_samples, found.autocorrelation_time) == (1.0, 32.0) and not found.mixed


def test_the_worst_of_all_numbers_counts():
    fast, slow = autoregressive(0.0, times=60), autoregressive(0.9, times=60)
    found = mixing(np.stack([slow, fast], axis=2))
    assert found.effective_samples == effective_samples(slow) < effective_samples(fast)
    assert found.r_hat == max(r_hat(slow), r_hat(fast))
    assert Mixing(MIXED, 1.0, 1.0).mixed and not Mixing(np.nextafter(MIXED, 2), 1.0, 1.0).mixed and MIXED == 1.05
