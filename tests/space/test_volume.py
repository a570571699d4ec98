"""Volumes and overlaps against closed forms (two associations) and against direct Monte Carlo (small d)."""

import numpy as np
import pytest
from scipy.special import gammaln

from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.space.sample import sample
from loadstone.space.volume import _MOST_ROUNDS, halvings, rounds_needed, summed
from loadstone.streams.stream import Stream
from tests.space.conftest import PROBLEM

KINDS = {"original": original, "decoupled": decoupled}


def walls(problem):
    """The normal of each wall: (u_target - u_rival) e^T, as rows."""
    arrays = problem.arrays()
    found = []
    for row, target in enumerate(arrays.targets):
        outputs = (arrays.outputs[row] if arrays.decoupled else arrays.outputs).astype(float)
        rivals = np.delete(np.arange(len(outputs)), target)
        found += [np.outer(outputs[target] - outputs[rival], arrays.inputs[row]).ravel() for rival in rivals]
    return np.array(found)


def mean_length(k):
    """Of a Gaussian vector of k dimensions."""
    return np.sqrt(2) * np.exp(gammaln((k + 1) / 2) - gammaln(k / 2))


def within(estimate, exact, floor=0.0):
    """Five errors: they are estimated from four chains only."""
    return abs(estimate.value - exact) < 5 * max(estimate.error, floor)


@pytest.mark.parametrize("kind", [pytest.param("original", marks=pytest.mark.soak), "decoupled"])
def test_two_associations_in_closed_form(kind):
    """Two walls leave a wedge of opening w: a share w / 2 pi of all W. Its mean is that of a plane wedge."""
    problem = KINDS[kind](Stream(3, 3), 2)
    one, other = (normal / np.linalg.norm(normal) for normal in walls(problem))
    opening = np.pi - np.arccos(one @ other)
    found = sample(problem.arrays(), seed=1)
    assert found.mixing.mixed and within(found.volume.log, np.log(opening / (2 * np.pi)), 0.02)
    mean = np.sqrt(np.pi / 2) * np.sin(opening / 2) / (opening / 2)
    assert within(found.overlap, (mean / mean_length(9)) ** 2, 0.002)
    centre = np.asarray(found.centre.matrix()).ravel()
    bisector = (one + other) / np.linalg.norm(one + other)
    assert centre @ bisector / np.linalg.norm(centre) > 0.99


def test_a_small_instance_against_direct_monte_carlo(sampled):
    compare_with_monte_carlo(PROBLEM, sampled)


@pytest.mark.soak
@pytest.mark.parametrize("kind, seed, d, p", [("decoupled", 0, 2, 3), ("original", 2, 2, 3), ("decoupled", 0, 3, 4)])
def test_small_instances_against_direct_monte_carlo(kind, seed, d, p):
    problem = KINDS[kind](Stream(seed, d), p)
    compare_with_monte_carlo(problem, sample(problem, seed=2))


def compare_with_monte_carlo(problem, found):
    p, d = problem.inputs.shape
    random, normals = np.random.default_rng(0), walls(problem)
    kept, tried = np.empty((0, d * d)), 0
    while len(kept) < 500:
        draws = random.standard_normal((200_000, d * d))
        kept, tried = np.concatenate([kept, draws[(draws @ normals.T > 0).all(axis=1)]]), tried + len(draws)
        assert tried <= 8_000_000
    share = len(kept) / tried
    directions = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    assert within(found.volume.log, np.log(share), np.sqrt(1 / len(kept)))
    halves = directions[::2].mean(axis=0) @ directions[1::2].mean(axis=0)
    assert within(found.overlap, halves, 1 / np.sqrt(len(kept)))
    assert len(found.volume.log_shares) == p and found.volume.log_shares.sum() == pytest.approx(found.volume.log.value)


@pytest.mark.soak
def test_few_associations_have_the_annealed_volume():
    """phi -> -alpha for small alpha: at d = 12 three facts of three outputs are nearly independent, and each is stored
    by a third of all W on average. The mean of the logarithm is lower by half the variance."""
    logs = np.array([sample(decoupled(Stream(seed, 12), 3), seed=seed).volume.log.value for seed in range(12)])
    error = logs.std(ddof=1) / np.sqrt(len(logs))
    assert error < 0.4 and abs(logs.mean() + 3 * np.log(3) + logs.var(ddof=1) / 2) < 4 * error


@pytest.mark.parametrize("m", [2, 3, 8, 25])
def test_halvings_take_away_all_outputs(m):
    stages = halvings(m)
    assert stages[0] == (m // 2, m) and stages[-1] == (0, 1)
    assert all(one[0] == other[1] and other[0] == other[1] // 2 for one, other in zip(stages, stages[1:]))


def test_a_share_that_nobody_saw_leaves_the_volume_unknown():
    shares, rows = np.full((3, 3), 0.5), np.array([1, 1, 0])
    found = summed(shares, rows, 2)
    assert found.log.value == pytest.approx(3 * np.log(0.5))
    np.testing.assert_allclose(found.log_shares, np.log([0.5, 0.25]))
    shares[1] = 0
    assert summed(shares, rows, 2) is None
    # Errors by hand, of two stages of one association: means 0.3 and 0.6, variances of the means 0.02 / 2 and 0.08 / 2.
    found = summed(np.array([[0.2, 0.4], [0.4, 0.8]]), np.array([1, 1]), 2)
    relative = 0.01 / 0.3**2 + 0.04 / 0.6**2
    np.testing.assert_allclose(found.log_shares, [0, np.log(0.3 * 0.6) + relative / 2])
    np.testing.assert_allclose(found.errors, [0, np.sqrt(relative)])
    assert found.log == pytest.approx((found.log_shares.sum(), np.sqrt(relative)))


def test_logarithms_of_noisy_shares_have_no_bias_and_errors_of_the_right_size():
    """Four chains see shares of which the means have relative errors of 0.15. Without the correction the logarithm
    would be too small by 0.15^2 / 2 for each of 200 stages, 2.2 in all; its standard error is 0.15 sqrt(200) = 2.1."""
    random, stages, tries = np.random.default_rng(0), 200, 100
    exact = np.linspace(0.05, 0.9, stages)
    # Gamma numbers of relative variance 1 / k, so four of them have a mean with 1 / 4k = 0.15^2.
    k = 1 / (4 * 0.15**2)
    found = [summed(random.gamma(k, exact[:, None] / k, (stages, 4)), np.arange(stages), stages) for _ in range(tries)]
    values, errors = (np.array([one.log[i] for one in found]) for i in (0, 1))
    assert abs(values.mean() - np.log(exact).sum()) < 3 * values.std() / np.sqrt(tries) + 0.1
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=4 / np.sqrt(2 * tries))


def test_the_first_round_tells_how_many_follow():
    pilot = np.array([[0.0, 1.0], [1.0, 0.0]])  # relative deviation 1: 1 / 0.1^2 paths in rounds of four
    assert rounds_needed(pilot, 0.1) == 25 and rounds_needed(np.ones((4, 2)), 0.1) == 1
    assert rounds_needed(np.zeros((4, 2)), 0.1) == _MOST_ROUNDS == rounds_needed(pilot, 1e-4)
    # Relative deviation 1/3: 11.1 paths in rounds of two, and then of four.
    assert rounds_needed(np.array([[1.0, 2.0]]), 0.1) == 6 and rounds_needed(np.array([[1.0, 2.0]] * 2), 0.1) == 3
