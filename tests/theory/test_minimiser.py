"""Checks of the minimiser: SciPy's minimiser, finite differences, plain sampling, trained instances, limits."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, ndtr

import loadstone.theory.minimiser as module
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from loadstone.theory.minimiser import minimiser

RESULTS = ("loss", "accuracy", "norm", "chi")
#: How many standard errors a comparison may be off: of a hundred comparisons, one exceeds 4 by chance 1 time in 150.
DEVIATIONS = 4


def near(value, known, error, allowance=0.0):
    assert abs(value - known) <= DEVIATIONS * error + allowance, (value, known, error)


def scores(eta, norm, chi):
    """s(h) with every rival, as the module finds it."""
    pull, _ = module._prox(eta, np.ones((1, eta.shape[1])), norm, chi)
    s = norm * eta - pull
    s[:, 0] += chi
    return s


# One association: the proximal problem.


@pytest.mark.parametrize("norm, chi", [(0.3, 0.05), (1.0, 1.0), (2.0, 20.0), (30.0, 90.0)])
def test_scores_minimise_loss_plus_distance(norm, chi):
    eta = np.random.default_rng(1).standard_normal((6, 5))
    distance, _, _, loss, level = module._observe(eta, np.ones((1, 5)), norm, chi)
    for index, (h, s) in enumerate(zip(norm * eta, scores(eta, norm, chi))):
        cost = lambda s, h=h: logsumexp(s) - s[0] + ((s - h) ** 2).sum() / (2 * chi)  # noqa: E731
        slope = lambda s, h=h: np.exp(s - logsumexp(s)) - np.eye(5)[0] + (s - h) / chi  # noqa: E731
        # Stopping where the slope is 1e-9 leaves s off by at most chi times that: the cost curves at least as 1 / chi.
        found = minimize(cost, h, jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 1000}).x
        assert np.abs(slope(s)).max() < 1e-9
        np.testing.assert_allclose(s, found, atol=1e-5)
        assert loss[index] == pytest.approx(logsumexp(found) - found[0], abs=1e-5)
        assert level[index] == pytest.approx(logsumexp(found), abs=1e-5)
        assert distance[index] == pytest.approx(((found - h) ** 2).sum(), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("norm, chi", [(0.5, 0.3), (1.5, 3.0), (4.0, 12.0)])
def test_trace_is_the_divergence_of_s(norm, chi):
    eta, step = np.random.default_rng(2).standard_normal((4, 7)), 1e-5
    divergence = np.zeros(4)
    for column in range(7):
        moved = step / norm * np.eye(7)[column]
        slope = (scores(eta + moved, norm, chi) - scores(eta - moved, norm, chi))[:, column] / (2 * step)
        divergence += 1 - slope
    np.testing.assert_allclose(module._observe(eta, np.ones((1, 7)), norm, chi)[1], divergence, atol=1e-7)


@pytest.mark.parametrize("p", [3, 100, 10**6])
@pytest.mark.parametrize("norm", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3])
def test_the_level_is_found_everywhere_from_any_start(p, norm, ratio):
    eta, counts = module._draw(p, np.random.default_rng(3))
    pull, level = module._prox(eta, counts, norm, ratio * norm)
    np.testing.assert_allclose((counts * pull).sum(axis=1), ratio * norm, rtol=1e-10)
    for start in (level - 1e3, level + 1e3):
        np.testing.assert_allclose(module._prox(eta, counts, norm, ratio * norm, start)[1], level, rtol=1e-9, atol=1e-9)


def test_a_count_is_that_many_rivals():
    eta = np.array([[0.3, 1.0, -0.2]])
    once = module._observe(np.repeat(eta, [1, 2, 3], axis=1), np.ones((1, 6)), 1.5, 2.5)
    np.testing.assert_allclose(module._observe(eta, np.array([[1.0, 2.0, 3.0]]), 1.5, 2.5), once, rtol=1e-10)


# The solution.


@pytest.mark.parametrize("p, d", [
    (60, 12), *(pytest.param(p, d, marks=pytest.mark.soak) for p, d in ((400, 40), (100, 21), (100, 9))),
])  # fmt: skip
def test_plain_sampling_satisfies_both_equations(p, d):
    """No strata, no weights, every rival, both forms of the second equation, and accuracy by argmax."""
    found = minimiser(p, d, samples=2048)
    eta = np.random.default_rng(4).standard_normal((4000, p))
    s = scores(eta, found.norm, found.chi)
    distance, trace, by_parts, loss, _ = module._observe(eta, np.ones((1, p)), found.norm, found.chi)
    np.testing.assert_allclose(distance, ((s - found.norm * eta) ** 2).sum(axis=1), rtol=1e-7, atol=1e-12)
    for row, known in ((p * distance / found.norm**2, d**2), (p * trace, d**2), (p * by_parts, d**2),
                       (loss, found.loss), (s.argmax(axis=1) == 0, found.accuracy)):  # fmt: skip
        # The root itself is known to a relative 0.5 % in norm or better, by its stated errors.
        near(row.mean(), known, row.std() / math.sqrt(len(row)), 0.005 * known)
    gain = s[:, 0] - (np.exp(s - logsumexp(s, axis=1, keepdims=True)) * s).sum(axis=1)
    near(gain.mean(), 0, gain.std() / math.sqrt(len(gain)), 0.02)


def test_far_above_capacity_the_rivals_are_a_crowd():
    """Many rivals with a small norm: logsumexp(s) = log p + Q / 2, s_1 = h_1 + chi, hence Q = chi = d^2 / p."""
    p, d = 10**12, 1_500_000
    found = minimiser(p, d, samples=1024)
    assert found.norm == pytest.approx(d / math.sqrt(p), rel=1e-5)
    assert found.chi == pytest.approx(d**2 / p, rel=1e-5)
    assert found.loss == pytest.approx(math.log(p) - d**2 / (2 * p), abs=1e-4)


@pytest.mark.parametrize("p, d", [(2, 1), (10, 12), (39, 12), (1192, 100)])
def test_up_to_capacity_there_is_no_finite_minimiser(p, d):
    found = minimiser(p, d)
    assert found.status == "storable: no finite minimiser"
    assert (found.loss, found.accuracy, found.norm, found.chi) == (0, 1, math.inf, math.inf)
    assert all(getattr(found, f"{name}_error") == 0 for name in RESULTS)


def test_norm_grows_and_loss_falls_towards_capacity():
    d = 12
    first = int(capacity_associations(d)) + 1
    found = [minimiser(p, d, samples=1024) for p in (first, first + 4, 150)]
    assert all(one.status == "above capacity" for one in found)
    assert np.all(np.diff([one.norm for one in found]) < 0)
    assert np.all(np.diff([one.loss for one in found]) > 0)
    assert np.all(np.diff([one.accuracy for one in found]) < 0)


def test_a_root_is_found_a_hair_above_capacity():
    p, d = 388, 51
    assert 0 < p * codimension(p) / d**2 - 1 < 2e-4
    found = minimiser(p, d, samples=1024)
    assert found.status == "above capacity" and found.norm > 100


def test_order_statistics_and_nodes_have_the_moments_of_normal_rivals():
    p = 1000
    drawn = [module._draw(p, np.random.default_rng(seed)) for seed in range(40)]
    for power, known, spread in ((0, p - 1, 0), (1, 0, 1), (2, p - 1, math.sqrt(2)), (4, 3 * (p - 1), math.sqrt(96))):
        sums = np.concatenate([(counts * eta**power)[:, 1:].sum(axis=1) for eta, counts in drawn])
        # Rivals below the best are replaced by their mean, so the scatter is at most that of independent numbers.
        near(sums.mean(), known, spread * math.sqrt((p - 1) / len(sums)), 1e-6 * p)


class Means:
    """A generator of random numbers that gives their means."""

    def random(self, count):
        return np.full(count, 0.5)

    def standard_exponential(self, shape):
        return np.ones(shape)


def test_the_best_rivals_are_those_of_all_but_the_target():
    """The j-th best of n uniform numbers lies 1/n + 1/(n-1) + ... of exponential scale below the top."""
    p, top = 300, module._TOP
    eta, counts = module._draw(p, Means())
    scales = np.cumsum(1 / np.arange(p - 1, p - 1 - top, -1))
    np.testing.assert_allclose(ndtr(-eta[:, 1 : 1 + top]), np.tile(1 - np.exp(-scales), (len(eta), 1)), rtol=1e-9)
    np.testing.assert_allclose(ndtr(eta[:, 0]), (np.arange(len(eta)) + 0.5) / len(eta), rtol=1e-9)
    np.testing.assert_allclose(counts.sum(axis=1), p)
    assert (counts[:, : 1 + top] == 1).all() and eta.min() > -8 and (eta[:, 1 + top :] < eta[:, [top]]).all()


@pytest.mark.soak
def test_error_bars_cover_the_scatter_of_seeds():
    seeds = 20
    found = [minimiser(14, 5, samples=1024, seed=seed) for seed in range(seeds)]
    exact = minimiser(14, 5, samples=16384, seed=seeds)
    for name in RESULTS:
        values, errors = (np.array([getattr(one, name + end) for one in found]) for end in ("", "_error"))
        # The scatter of 20 values has an error of 1 / sqrt(38) = 16 %: bounds are 3 of these.
        assert 0.5 < np.std(values, ddof=1) / np.sqrt(np.mean(errors**2)) < 1.5
        error = math.hypot(values.std() / math.sqrt(seeds), getattr(exact, f"{name}_error"))
        near(values.mean(), getattr(exact, name), error)


# Trained instances, minimised by Newton's method to rounding.


def features(p, d, random, gaussian):
    """X with scores X[mu, rho] . W: u e^T for each input e and each of its own outputs u, or Gaussian throughout."""
    if gaussian:
        return random.standard_normal((p, p, d * d))
    inputs, outputs = random.standard_normal((p, d)), random.standard_normal((p, p, d))
    return (outputs[:, :, :, None] * inputs[:, None, None, :]).reshape(p, p, d * d)


def trained(x):
    """Loss, accuracy and norm at the minimum of the cross-entropy, targets being x[:, 0]."""
    memory = np.zeros(x.shape[2])

    def total(memory):
        s = x @ memory
        return s, (logsumexp(s, axis=1) - s[:, 0]).sum()

    s, value = total(memory)
    for _ in range(50):
        softmax = np.exp(s - logsumexp(s, axis=1, keepdims=True))
        mean = np.einsum("mr,mrn->mn", softmax, x)
        gradient = (mean - x[:, 0]).sum(axis=0)
        rooted = (np.sqrt(softmax)[:, :, None] * x).reshape(-1, x.shape[2])
        step = np.linalg.solve(rooted.T @ rooted - mean.T @ mean, gradient)
        if gradient @ step < 1e-14 * len(x):
            return value / len(x), (s.argmax(axis=1) == 0).mean(), np.linalg.norm(memory)
        size = 1.0
        while total(memory - size * step)[1] > value:
            size /= 2
        memory = memory - size * step
        s, value = total(memory)
    raise AssertionError("not at the minimum after 50 Newton steps")


def draws(p, d, count, gaussian):
    """Mean and standard error of loss, accuracy and norm."""
    found = np.array([trained(features(p, d, np.random.default_rng([d, p, i]), gaussian)) for i in range(count)])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(count)


@pytest.mark.soak
def test_trained_on_gaussian_features():
    """The theory without its assumption of equivalence. Size effects at d = 12, p = 80, from 250 draws: loss
    0.2(2) %, accuracy -0.5(14) %, norm -0.7(5) % (at d = 8, p = 40: 0.1(2), -3.2(8), -0.2(4)). Allowed: 0.5, 3, 2 %."""
    theory = minimiser(80, 12)
    means, errors = draws(80, 12, 30, gaussian=True)
    for name, mean, error, allowed in zip(RESULTS, means, errors, (0.005, 0.03, 0.02)):
        near(mean, getattr(theory, name), error, allowed * getattr(theory, name))
    assert errors[0] < 0.01 * theory.loss and errors[2] < 0.02 * theory.norm


@pytest.mark.soak
def test_trained_on_decoupled_instances():
    """Lengths of inputs scatter, which dies out as 1/d. Measured at load 2.3, d = 6, 8, 12 (1500, 1200, 250 draws):
    loss -1.8(2), -1.2(2), -0.9(2) %; accuracy -4(1), -4(1), -2(2) %; norm +42(1), +27(1), +17(1) %.
    Allowed: 0.15/d, 0.4/d and 3/d of the values."""
    excess = {}
    for p, d, count in ((25, 6, 80), (80, 12, 12)):
        theory = minimiser(p, d)
        means, errors = draws(p, d, count, gaussian=False)
        for name, mean, error, allowed in zip(RESULTS, means, errors, (0.15, 0.4, 3.0)):
            near(mean, getattr(theory, name), error, allowed / d * getattr(theory, name))
        excess[d] = means[2] / theory.norm - 1
    assert excess[12] < 0.6 * excess[6]


# Arguments.


@pytest.mark.parametrize("name, bad", [("samples", 1000), ("samples", math.nan), ("seed", -1), ("seed", 0.5)])
def test_bad_samples_and_seed_are_refused(name, bad):
    with pytest.raises(ValueError, match=f"{name} is .* but must be whole, at least"):
        minimiser(100, 10, **{name: bad})


def test_the_same_sample_is_taken_if_no_seed_is_given():
    """The predictions in figures and reports are made without one and must not change."""
    assert minimiser(8, 2, samples=1024) == minimiser(8, 2, samples=1024, seed=0)
    assert minimiser(8, 2, samples=1024) != minimiser(8, 2, samples=1024, seed=1)


def test_the_search_ends_once_both_means_vanish(monkeypatch):
    """Each look at the samples takes seconds where there are many rivals."""
    looks, rows = [], module._Sample.rows
    sample, point = module._Sample(20, 20, 16.0, 8, 0), module._coarse_root(module._Sample(20, 20, 16.0, 1, 0))
    monkeypatch.setattr(module._Sample, "rows", lambda *given: looks.append(given) or rows(*given))
    _, found, _ = module._newton(sample, point)
    assert np.abs(found[:2] @ sample.weights).max() < module._TOLERANCE and len(looks) <= 25
