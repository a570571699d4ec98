"""Typical memories of low rank against exact determinants, both ends of the load, and solutions that are sampled."""

import math

import numpy as np
import pytest
from numpy.polynomial import laguerre
from scipy.optimize import brentq, minimize
from scipy.special import expit

from loadstone.studies.kit.singular_values import kolmogorov
from loadstone.theory.capacity import capacity
from loadstone.theory.entropy import finite_free_entropy
from loadstone.theory.spectra import at_capacity, initial_factored, quarter_circle
from loadstone.theory.typical import Chain, Typical, at_cosine, typical


def fourth(found):
    """<s^4> / <s^2>^2 of the singular values that are not zero."""
    return float((found.singular_values**4).mean())


def low_rank_free_entropy(load, kappa, d, points=6):
    """phi(alpha) = -integral of theta: the logarithm of the share of all Q R^T that store everything, over d^2."""
    end = np.sqrt(2 * capacity(kappa))
    if load >= end**2 / 2:
        return -np.inf
    # theta goes as 1 / (end - c), so what is integrated over u = -log(1 - c / end) is smooth.
    nodes, weights = np.polynomial.legendre.leggauss(points)
    u = -np.log1p(-np.sqrt(2 * load) / end) * (nodes + 1) / 2
    heights = [one.theta * (end - one.cosine) for one in (at_cosine(-np.expm1(-u) * end, kappa, d) for u in u)]
    return np.log1p(-np.sqrt(2 * load) / end) / 2 * (weights @ heights)


class Exact:
    """The integral of exp(-|Q|^2 - |R|^2 - A |Q R^*|^2 + 2 h Re Tr Z Q R^*) over complex d x m factors, Z diagonal of
    unit norm. Once Q is integrated out, and rotations of R by the formula of Harish-Chandra, Itzykson and Zuber, m
    integrals over the eigenvalues u of R^* R are left, which are one determinant (Andreief):

        h^-(2 d m - m^2 - m)  det [ int L_k(u) e^-u / (1 + A u) exp(h^2 z_j^2 f) du, k < m ; L_l(z_j^2), l < d - m ]

    with f = u / (1 + A u) and L any polynomials of degree 0, 1, ... In double precision it can be had up to d = 8.
    """

    def __init__(self, d, m):
        self.d, self.m = d, m
        z = np.asarray(quarter_circle().quantile((d - np.arange(d) - 0.5) / d))
        self.z = z / np.linalg.norm(z)
        nodes, weights = np.polynomial.legendre.leggauss(200)
        reach = 6.0 * d  # to either side of it; e^-u times what stays bounded is nothing beyond 12 d
        self.u = (nodes + 1) * reach
        self.polynomials = laguerre.lagvander(self.u, m - 1).T * (weights * reach * np.exp(-self.u))
        self.others = laguerre.lagvander(4 * self.z**2 / self.z.max() ** 2, d - m)[:, : d - m].T

    def averages(self, stiffness, field):
        """log of the integral, and the means of Re Tr Z W and of |W|^2, which are its derivatives by 2 h and by -A."""
        f, power = self.u / (1 + stiffness * self.u), 2 * self.d * self.m - self.m**2 - self.m
        exponent = np.outer(f, self.z**2)
        kernel = np.exp(field**2 * exponent) / (1 + stiffness * self.u)[:, None]
        rows = np.vstack([self.polynomials @ kernel, self.others])
        inverse = np.linalg.inv(rows)[:, : self.m]

        def mean(factor):
            return float(np.trace(self.polynomials @ (kernel * factor) @ inverse))

        log = np.linalg.slogdet(rows)[1] - power * math.log(field)
        return log, field * mean(exponent) - power / (2 * field), mean(f[:, None] * (1 + field**2 * exponent))

    def stiffness(self, field):
        """Where the exponent does not change with the scale of W."""

        def unbalanced(stiffness):
            _, along, square = self.averages(stiffness, field)
            return field * along - stiffness * square

        return brentq(unbalanced, 0.05 * field / self.d, field)

    def at(self, field):
        """cosine, theta and the logarithm of the probability of that cosine over d^2, up to a constant."""
        stiffness = self.stiffness(field)
        log, along, square = self.averages(stiffness, field)
        entropy = (log + stiffness * square - 2 * field * along) / (2 * self.d**2)  # real matrices: half the exponent
        return along / math.sqrt(square), field * math.sqrt(square) / self.d**2, entropy


@pytest.mark.parametrize("field", [1.0, 3.0])
def test_factors_drawn_in_turn_have_the_exact_means(field):
    exact = Exact(6, 3)
    chain = Chain(exact.z, 3, np.random.default_rng(0), real=False)
    chain.field, chain.stiffness = field, exact.stiffness(field)
    seen = []
    for _ in range(6400):
        chain.sweep()
        seen.append((chain.cosine * chain.norm, chain.norm**2))
    blocks = np.array(seen).reshape(32, -1, 2).mean(axis=1)  # of 200 sweeps, far more than the chain remembers
    errors = blocks.std(axis=0, ddof=1) / math.sqrt(32)
    _, *expected = exact.averages(chain.stiffness, field)
    assert (errors < 0.02 * np.array(expected)).all()
    assert np.abs(blocks.mean(axis=0) - expected).max() < 4 * errors.max()


def test_the_determinant_is_that_of_a_known_case():
    # One component: q and r are complex numbers, so |q|^2 = u, |r|^2 = v, and the angle gives a Bessel function.
    exact, u = Exact(1, 1), np.linspace(0, 30, 601)
    stiffness, field = 0.3, 0.7
    root = np.sqrt(np.outer(u, u))
    ends = np.where((u == 0) | (u == 30), 0.5, 1.0)
    weight = np.outer(ends, ends) * np.exp(-u[:, None] - u - stiffness * root**2) * np.i0(2 * field * root)
    square = (weight * root**2).sum() / weight.sum()
    assert exact.averages(stiffness, field)[2] == pytest.approx(square, rel=1e-3)


@pytest.mark.parametrize("kappa", [1, 0.5, 0.25])
def test_without_a_load_it_is_a_random_product(kappa):
    found = at_cosine(0, kappa, 48)
    assert found.theta == found.overlap == 0 and abs(found.cosine) < 5 / 48 / math.sqrt(300)
    assert fourth(found) == pytest.approx(1 + 2 * kappa, rel=0.01)
    assert kolmogorov(found.singular_values.ravel(), initial_factored(kappa).nonzero()) < 0.01


@pytest.mark.parametrize("kappa", [1, 0.5, 0.25])
def test_near_capacity_it_is_a_part_of_the_quarter_circle(kappa):
    end, law = math.sqrt(2 * capacity(kappa)), at_capacity(kappa).nonzero()
    near, nearer = (at_cosine(share * end, kappa, 40) for share in (0.97, 0.99))
    assert kolmogorov(nearer.singular_values.ravel(), law) < 0.05
    # What is left falls with the distance from the end, of which a third is left.
    values = np.asarray(law.quantile((np.arange(4000) + 0.5) / 4000))
    expected = (values**4).mean() / (values**2).mean() ** 2
    assert fourth(near) - expected > 2 * (fourth(nearer) - expected)
    assert fourth(nearer) - (fourth(near) - fourth(nearer)) / 2 == pytest.approx(expected, rel=0.004)
    # All kappa (2 - kappa) d^2 directions in which a matrix of this rank can move cost the same.
    assert nearer.theta * (end - nearer.cosine) == pytest.approx(kappa * (2 - kappa) / 2, rel=0.03)
    assert nearer.overlap > 0.97 and nearer.load() == pytest.approx(0.99**2 * capacity(kappa), rel=0.005)


def test_cosine_field_and_free_entropy_are_those_of_the_determinant():
    exact = Exact(8, 4)
    (low, _, before), (high, theta, after) = (exact.at(field) for field in (1.0, 4.0))
    # At the same size theta differs by the fluctuations of the cosine, of order 1/d^2.
    found = at_cosine(high, 0.5, 8, 2000)
    assert found.theta / theta == pytest.approx(1 + 2.5 * (found.cosine - high) / high, rel=0.02)
    entropies = [low_rank_free_entropy(cosine**2 / 2, 0.5, 16) for cosine in (low, high)]
    assert entropies[1] - entropies[0] == pytest.approx(after - before, rel=0.05)


def test_the_free_entropy_lies_below_the_annealed_value():
    # Its slope is -1 / (1-t), and two solutions have nothing in common where there is no load.
    assert -0.054 < low_rank_free_entropy(0.05, 0.5, 24) < -0.049
    assert low_rank_free_entropy(0.3, 0.5, 20) < -0.3
    assert low_rank_free_entropy(0.45, 0.5, 20) == -math.inf


def test_real_and_complex_factors_have_one_limit():
    limit = at_cosine(0.8, 0.5, 48)
    real = at_cosine(0.8, 0.5, 96, 100, real=True)
    assert fourth(real) == pytest.approx(fourth(limit), rel=3 / 96)
    assert real.overlap == pytest.approx(limit.overlap, rel=3 / 96)


@pytest.mark.parametrize("p", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_at_finite_p_a_gaussian_memory_has_the_overlap_of_its_functional(p):
    # A Gaussian W with cosine c is c Z and an independent Gaussian matrix: t = c^2 and theta = c / (1 - c^2).
    load = 0.4
    q = float(finite_free_entropy(load, p).q)
    gaussian = Typical(1, math.sqrt(q), math.sqrt(q) / (1 - q), np.ones((1, 1)))
    assert gaussian.overlap == pytest.approx(q) and gaussian.load(p) == pytest.approx(load, rel=0.01)


def test_a_load_in_the_limit_and_at_finite_p():
    found = typical(0.2, 0.5, 30, 100)
    assert found.load() == pytest.approx(0.2, rel=0.02) and found.singular_values.shape == (100, 15)
    assert (found.singular_values**2).mean(axis=1) == pytest.approx(1)
    # The same cosine is reached at a larger load if p is finite, as the capacity is.
    assert found.load() < found.load(2)
    with pytest.raises(ValueError, match="load is 0.5, but must be below the capacity 0.446865 of kappa = 0.5"):
        typical(0.5, 0.5)
    with pytest.raises(ValueError, match="cosine is 0.97, but must be in"):
        at_cosine(0.97, 0.5)


def quarter_turn(normals, x, random):
    """Follow x cos t + v sin t for a quarter of a circle, v drawn, and reflect v wherever normals @ x becomes zero."""
    v, left = random.standard_normal(x.shape), math.pi / 2
    while True:
        angles = np.arctan2(-(normals @ x), normals @ v)
        angles[angles <= 1e-10] += math.pi
        wall = angles.argmin()
        if angles[wall] >= left:
            return x * math.cos(left) + v * math.sin(left)
        angle = angles[wall] * (1 - 1e-9)
        x, v = x * math.cos(angle) + v * math.sin(angle), v * math.cos(angle) - x * math.sin(angle)
        normal, left = normals[wall], left - angle
        v = v - 2 * (normal @ v) / (normal @ normal) * normal


def sampled_solutions(d, m, p, seed, sweeps):
    """Directions of Q R^T, Gaussian factors drawn in turn, that put score Tr X_1^T W above those of p - 1 rivals, for p
    associations with Gaussian matrices X of their own: what the decoupled problem is equivalent to for large d."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((p, p, d, d))
    walls = (x[:, :1] - x[:, 1:]).reshape(-1, d, d)

    def loss(factors):
        q, r = factors.reshape(2, d, m)
        margins = np.einsum("kij,ij->k", walls, q @ r.T)
        pull = np.einsum("kij,k->ij", walls, -expit(-margins))
        return np.logaddexp(0, -margins).sum(), np.stack([pull @ r, pull.T @ q]).ravel()

    def stored(factors):
        q, r = factors.reshape(2, d, m)
        return np.einsum("kij,ij->k", walls, q @ r.T).min() > 0

    factors = random.standard_normal(2 * d * m)
    while not stored(factors):
        factors = minimize(loss, factors, jac=True, method="L-BFGS-B", options={"maxiter": 10}).x
    (q, r), found = factors.reshape(2, d, m) * math.sqrt(2 * d * m) / np.linalg.norm(factors), []
    for _ in range(sweeps):
        q = quarter_turn((walls @ r).reshape(len(walls), -1), q.ravel(), random).reshape(d, m)
        r = quarter_turn((walls.swapaxes(1, 2) @ q).reshape(len(walls), -1), r.ravel(), random).reshape(d, m)
        found.append(q @ r.T / np.linalg.norm(q @ r.T))
    return np.array(found[sweeps // 4 :])


@pytest.mark.soak
def test_sampled_solutions_of_low_rank_are_as_predicted():
    d, m, p = 12, 6, 18
    seen = []
    for seed in range(12):
        found = sampled_solutions(d, m, p, seed, 300)
        halves = found[: len(found) // 2].mean(axis=0), found[len(found) // 2 :].mean(axis=0)
        squares = np.linalg.svd(found, compute_uv=False)[:, :m] ** 2
        seen.append(((halves[0] * halves[1]).sum(), ((squares**2).mean(axis=1) / squares.mean(axis=1) ** 2).mean()))
    measured, errors = np.mean(seen, axis=0), np.std(seen, axis=0, ddof=1) / math.sqrt(len(seen))
    load, points = p * math.log(p) / d**2, []
    for cosine in (0.55, 0.65, 0.75):
        drawn = [at_cosine(cosine, 0.5, d, seed=seed, real=True) for seed in range(8)]
        points.append(np.mean([(one.load(p), one.overlap, fourth(one)) for one in drawn], axis=0))
    loads, overlaps, fourths = np.transpose(points)
    predicted = np.array([np.interp(load, loads, overlaps), np.interp(load, loads, fourths)])
    # The prediction is for large d: 5 % more for corrections of order 1/m^2.
    assert (np.abs(measured - predicted) < 3 * errors + 0.05 * predicted).all()
    # That of no load is far off.
    assert fourth(at_cosine(0, 0.5, d, 1000, real=True)) - measured[1] > 4 * errors[1]
