"""Laws of singular values against quadrature, SciPy's semicircle, the paper's cubic, free moments, random matrices."""

import math
from dataclasses import FrozenInstanceError

import mpmath
import numpy as np
import pytest
from scipy.integrate import fixed_quad, quad
from scipy.optimize import brentq
from scipy.stats import semicircular

from loadstone.theory.spectra import Spectrum, at_capacity, initial_factored, initial_full, quarter_circle

CAPACITY = {0.1: 0.156784, 0.25: 0.311456, 0.5: 0.446865, 0.75: 0.493524, 1: 0.5}
KAPPAS = [0.01, 0.1, 0.25, 0.5, 0.9, 1]
LAWS = [quarter_circle()] + [law(kappa) for law in (at_capacity, initial_factored) for kappa in KAPPAS]


def integral(function, low, high=2.0):
    """Gauss-Legendre in t, s = low + (high-low) sin^3 t, which leaves neither s^(-1/3) at 0 nor a square root at 2."""

    def smooth(t):
        return function(low + (high - low) * np.sin(t) ** 3) * 3 * (high - low) * np.sin(t) ** 2 * np.cos(t)

    return fixed_quad(smooth, 0, math.pi / 2, n=200)[0]


def paper_cubic(x, kappa):
    """Coefficients of the paper's cubic in G."""
    return [kappa**2 * x**2, 2 * kappa * (1 - kappa) * x, (1 - kappa) ** 2 - x, 1]


def edge(kappa, low, high):
    """A zero in x of the cubic's discriminant: where its three real roots become one."""

    def discriminant(x):
        a, b, c, d = paper_cubic(x, kappa)
        return 18 * a * b * c * d - 4 * b**3 * d + b**2 * c**2 - 4 * a * c**3 - 27 * a**2 * d**2

    return brentq(discriminant, low, high, xtol=1e-14)


def upper_edge(kappa):
    return edge(kappa, 1, 8)


def distance(values, law):
    """Kolmogorov-Smirnov: the largest gap between the share of `values` up to s and the law's; zeros are one step."""
    positive = np.sort(values[values > 1e-9])
    zeros = len(values) - len(positive)
    steps = (zeros + np.arange(len(positive) + 1)) / len(values)
    theory = law.cdf(positive)
    return max(np.abs(theory - steps[1:]).max(), np.abs(theory - steps[:-1]).max(), abs(law.cdf(0.0) - steps[0]))


def test_integrable_singularity_by_adaptive_quadrature():
    # At kappa = 1 the density goes as s^(-1/3), so it is smooth in t = s^(2/3).
    law = initial_factored(1)
    mass, error = quad(lambda t: law.density(t**1.5) * 1.5 * t**0.5, 0, 1, epsabs=1e-10)
    assert error < 1e-9
    assert law.cdf(1.0) == pytest.approx(mass, abs=1e-9)
    # The cubic at small x: G^3 = -1/x^2, so the density of x is sqrt(3)/(2 pi) x^(-2/3); x = (27/16) s^2.
    s = np.array([1e-12, 1e-9])
    np.testing.assert_allclose(law.density(s), math.sqrt(3) / math.pi * (27 / 16 / s) ** (1 / 3), rtol=1e-4)
    assert law.density(0.0) == math.inf


@pytest.mark.parametrize("law", LAWS)
def test_cdf_is_the_integrated_density(law):
    for s in law.lower + (2 - law.lower) * np.array([0.02, 0.3, 0.7, 0.99]):
        assert 1 - law.cdf(s) == pytest.approx(integral(law.density, s), abs=1e-9)
        assert 1 - law.nonzero().cdf(s) == pytest.approx(integral(law.density, s) / (1 - law.atom), abs=1e-8)
    assert (law.cdf(law.lower / 2), law.cdf(0), law.cdf(2), law.cdf(9)) == (law.atom, law.atom, 1, 1)
    assert (law.density(law.lower * 0.99) if law.lower else 0, law.density(2), law.density(2.1)) == (0, 0, 0)


@pytest.mark.parametrize("law", LAWS + [law.nonzero() for law in LAWS])
def test_quantile_inverts_cdf(law):
    u = law.atom + (1 - law.atom) * np.linspace(1e-6, 1, 101)
    s = law.quantile(u)
    assert np.all(np.diff(s) > 0)
    np.testing.assert_allclose(law.cdf(s), u, atol=1e-12)
    inside = np.linspace(law.lower, 2, 101)
    np.testing.assert_allclose(law.quantile(law.cdf(inside))[1:], inside[1:], atol=1e-10)
    assert law.quantile(1) == 2
    assert law.quantile(0) == (0 if law.atom else law.lower)
    assert np.all(law.quantile(law.atom * np.array([0.3, 1.0])) == (0 if law.atom else law.lower))


@pytest.mark.parametrize("law", LAWS + [law.nonzero() for law in LAWS])
def test_rounding_never_leaves_the_range(law):
    tiny = np.geomspace(1e-16, 1e-6, 200)
    s = law.quantile(np.concatenate([law.atom + (1 - law.atom) * tiny, 1 - (1 - law.atom) * tiny]))
    assert np.all((s >= law.lower) & (s <= 2) | (s == 0) & (law.atom > 0))
    u = law.cdf(np.concatenate([law.lower + tiny, 2 - tiny]))
    assert np.all((u >= law.atom) & (u <= 1))


def test_quarter_circle_is_half_of_the_semicircle():
    s, u = np.linspace(0, 2, 41), np.linspace(0, 1, 41)
    for law in (quarter_circle(), initial_full(), at_capacity(1)):
        np.testing.assert_allclose(law.density(s), semicircular.pdf(s / 2), atol=1e-14)
        np.testing.assert_allclose(law.cdf(s), 2 * semicircular.cdf(s / 2) - 1, atol=1e-14)
        np.testing.assert_allclose(law.quantile(u), 2 * semicircular.ppf((1 + u) / 2), atol=1e-9)


@pytest.mark.parametrize("kappa, known", CAPACITY.items())
def test_capacity_is_half_the_second_moment(kappa, known):
    law = at_capacity(kappa)
    assert 0.5 * integral(lambda s: law.density(s) * s**2, law.lower) == pytest.approx(known, abs=6e-7)
    assert law.lower == pytest.approx(brentq(lambda x: 2 * semicircular.cdf(x / 2) - 2 + kappa, 0, 2), abs=1e-11)
    assert law.atom == pytest.approx(1 - kappa)


@pytest.mark.parametrize("k", range(1, 8))
def test_fuss_catalan_moments(k):
    law = initial_factored(1)
    moment = integral(lambda s: law.density(s) * (27 / 16 * s**2) ** k, 0)
    assert moment == pytest.approx(math.comb(3 * k, k) / (2 * k + 1), rel=1e-9)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_papers_cubic(kappa):
    law, scale = initial_factored(kappa).nonzero(), upper_edge(kappa) / 4
    # Off the support: the Stieltjes transform, integrated from the density, is a root.
    for x in (-1.0, 1.1 * upper_edge(kappa), 30.0, 1 + 1j):
        kernel = lambda s, x=x: law.density(s) / (x - scale * s**2)  # noqa: E731
        transform = integral(kernel, law.lower)
        a, b, c, d = paper_cubic(x, kappa)
        assert abs(a * transform**3 + b * transform**2 + c * transform + d) < 1e-7
    # On it: the density is the imaginary part of the complex root, over pi.
    s = np.linspace(law.lower, 2, 13)[1:-1]
    roots = [np.abs(np.roots(paper_cubic(scale * value**2, kappa)).imag).max() for value in s]
    np.testing.assert_allclose(law.density(s), np.array(roots) / math.pi * 2 * scale * s, rtol=1e-8)


def test_factored_law_of_small_rank_is_a_semicircle():
    # lambda - 1 has variance 2 kappa; the third cumulant and what follows are of relative order sqrt(kappa).
    kappa, u = 1e-6, np.linspace(0, 1, 21)
    values = upper_edge(kappa) / 4 * initial_factored(kappa).nonzero().quantile(u) ** 2
    np.testing.assert_allclose((values - 1) / math.sqrt(2 * kappa), 2 * semicircular.ppf(u), atol=5 * math.sqrt(kappa))


# Singular values of one matrix are rigid: the number below s varies by sqrt(log d) / pi < 1 around its mean, which is
# within O(1) of the limit law. Six values leave room for the maximum over s; 400 independent draws would be off by 17.
RIGID = 6


@pytest.mark.parametrize("kappa", [0.25, 0.5, 1])
def test_random_factored_matrices(kappa):
    d, random = 400, np.random.default_rng(1)
    Q, R = random.standard_normal((2, d, int(kappa * d)))
    values = np.linalg.svd(Q @ R.T / d, compute_uv=False) * 2 / math.sqrt(upper_edge(kappa))
    assert distance(values, initial_factored(kappa)) < RIGID / d
    assert distance(values[: int(kappa * d)], initial_factored(kappa).nonzero()) < RIGID / (kappa * d)


@pytest.mark.parametrize("kappa", [0.25, 0.5, 1])
def test_truncated_random_matrices(kappa):
    # The law at capacity is that of the best approximation, of rank kappa d, to a full Gaussian matrix.
    d, m = 400, int(kappa * 400)
    values = np.linalg.svd(np.random.default_rng(2).standard_normal((d, d)) / math.sqrt(d), compute_uv=False)
    assert distance(values, initial_full()) < RIGID / d
    values[m:] = 0
    assert distance(values, at_capacity(kappa)) < RIGID / d
    assert distance(values[:m], at_capacity(kappa).nonzero()) < RIGID / m


@pytest.mark.parametrize("law", [quarter_circle(), at_capacity(0.3), initial_factored(0.3), initial_factored(1)])
def test_samples(law):
    # Dvoretzky-Kiefer-Wolfowitz: the distance exceeds t with probability below 2 exp(-2 n t^2), here 1e-6.
    count = 20_000
    values = law.sample(count, np.random.default_rng(3))
    assert values.shape == (count,)
    assert distance(values, law) < math.sqrt(math.log(2e6) / (2 * count))
    np.testing.assert_array_equal(values, law.sample(count, np.random.default_rng(3)))


def test_numbers_for_numbers_arrays_for_arrays():
    for law in LAWS:
        for method in (law.density, law.cdf, law.quantile):
            assert isinstance(method(1), float)
            assert method([[0.2, 0.5, 1.0]]).shape == (1, 3)
            assert method([[0.2, 0.5, 1.0]])[0, 1] == pytest.approx(method(0.5), rel=1e-12)


def test_laws_are_immutable_values():
    law = at_capacity(0.5)
    assert law == at_capacity(0.5) != at_capacity(0.6)
    assert at_capacity(1) == quarter_circle() == initial_full() != initial_factored(1) == initial_factored()
    assert law.nonzero().nonzero() == law.nonzero() != law
    with pytest.raises(FrozenInstanceError):
        law.lower = 0.0


RANDOM = np.random.default_rng(0)
BAD: list[tuple] = [
    (Spectrum.quantile, (-1e-9,), r"u is -1e-09, but must be in \[0, 1\]"),
    (Spectrum.quantile, ([0.5, 1.1],), r"u is \[0.5, 1.1\], but must be in \[0, 1\]"),
    (Spectrum.quantile, (math.nan,), r"u is nan, but must be in \[0, 1\]"),
    (Spectrum.quantile, ("a",), r"u is 'a', but must be in \[0, 1\]"),
    (Spectrum.density, (math.nan,), "s is nan, but must be at least 0 and at most 1e.100"),
    (Spectrum.cdf, (-0.1,), "s is -0.1, but must be at least 0 and at most 1e.100"),
    (Spectrum.sample, (0, RANDOM), "count is 0, but must be a whole number of at least 1"),
    (Spectrum.sample, (2.0, RANDOM), "count is 2.0, but must be a whole number of at least 1"),
    (Spectrum.sample, (2, 0), "random is 0, but must be a numpy.random.Generator"),
]


@pytest.mark.parametrize("method, arguments, sentence", BAD)
def test_bad_arguments_are_refused_by_name(method, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        method(initial_factored(0.5), *arguments)


@pytest.mark.parametrize("kappa", [1e-12, 1e-9, 1e-5, 9.9e-4, 1.01e-3, 0.5])
def test_small_rank_fractions_keep_their_digits(kappa):
    """The mass in its closed form, in 60 digits; in float64 it is the difference of two numbers near kappa^-1/2."""
    law = initial_factored(kappa).parent
    for angle in (0.01, 1.0, 2.5, 3.1):
        with mpmath.workdps(60):
            share = mpmath.mpf(kappa)
            cosine = mpmath.cos(angle)
            # The largest root of q^3 - kappa (2 + kappa) q + 2 kappa^2 cos(angle).
            roots = mpmath.polyroots([1, 0, -share * (2 + share), 2 * share**2 * cosine], maxsteps=500, extraprec=400)
            y = -mpmath.expj(-angle) / max(mpmath.re(root) for root in roots)
            bent = 2 * y.imag - 2 * (1 - share) / share * mpmath.arg(1 + share * y)
            exact = float((angle + bent) / mpmath.pi)
        assert float(law._mass(np.asarray(angle))) == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize("make", [at_capacity, initial_factored])
@pytest.mark.parametrize("kappa", [1e-320, 1e-100, 1e-30])
def test_laws_of_hardly_any_rank_are_finite(make, kappa):
    law, s, u = make(kappa), np.linspace(0.1, 3, 30), np.linspace(0, 1, 11)
    for found in (law.density(s), law.cdf(s), law.quantile(u), law.nonzero().quantile(u), law.nonzero().cdf(s)):
        assert np.all(np.isfinite(found))
    assert law.nonzero().quantile(0.5) == pytest.approx(2) and law.nonzero().cdf(2.0) == 1 and law.quantile(0.5) == 0
