"""Volumes and overlaps against closed forms (two associations) and against direct Monte Carlo (small d)."""

import numpy as np
import pytest
from scipy.special import gammaln

from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.problems.stream import Stream
from loadstone.space.sample import sample
from loadstone.space.volume import halvings, summed
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
@pytest.mark.parametrize("kind, d, p", [("decoupled", 2, 3), ("original", 2, 3), ("decoupled", 3, 4)])
def test_small_instances_against_direct_monte_carlo(kind, d, p):
    problem = KINDS[kind](Stream(0, d), p)
    compare_with_monte_carlo(problem, sample(problem, seed=2))


def compare_with_monte_carlo(problem, found):
    p, d = problem.inputs.shape
    random, normals = np.random.default_rng(0), walls(problem)
    draws = np.concatenate([random.standard_normal((200_000, d * d)) for _ in range(4)])
    kept = draws[(draws @ normals.T > 0).all(axis=1)]
    share = len(kept) / len(draws)
    directions = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    assert len(kept) > 500 and within(found.volume.log, np.log(share), np.sqrt(1 / len(kept)))
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
    assert stages[0][1] == m and stages[-1] == (0, 1)
    assert all(one[0] == other[1] for one, other in zip(stages, stages[1:]))


def test_a_share_that_nobody_saw_leaves_the_volume_unknown():
    shares = np.full((2, 1, 3), 0.5)
    assert summed(shares).log.value == pytest.approx(2 * np.log(0.5))
    shares[1] = 0
    assert summed(shares) is None
