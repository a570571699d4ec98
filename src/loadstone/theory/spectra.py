"""Laws of the singular values of the d x d memory W, scaled so that their upper edge is 2. Limit of large d.

A full Gaussian W follows the quarter circle; a memory at capacity keeps the upper share kappa of it; a factored
Gaussian W = Q R^T follows a free product of two Wishart laws. At rank kappa d a share 1 - kappa of the values is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from loadstone.arguments import rank_fraction, refuse, whole
from loadstone.readable import readable
from loadstone.theory.checks import at_least, checked, scalar

#: NumPy turns an array without axes into a number as soon as it computes with it.
Numbers = np.ndarray | float
ComplexNumbers = np.ndarray | complex


@dataclass(frozen=True)
class QuarterCircle:
    """rho(s) = sqrt(4 - s^2) / pi on [0, 2]. With s = 2 sin(theta) the mass up to s is (2 theta + sin 2 theta) / pi."""

    def density(self, s: Numbers) -> Numbers:
        return np.sqrt((2 - s) * (2 + s)) / np.pi

    def cdf(self, s: Numbers) -> Numbers:
        return _quarter_mass(np.arcsin(s / 2))

    def quantile(self, u: Numbers) -> Numbers:
        return 2 * np.sin(_inverse(_quarter_mass, u, np.pi / 2))


@dataclass(frozen=True)
class GaussianProduct:
    """The non-zero singular values of Q R^T, both factors d x m with i.i.d. Gaussian entries, m = kappa d.

    For their squares x, scaled to mean 1, y = x g(x) - 1 (g the Stieltjes transform) obeys

        x = (1+y) (1 + kappa y)^2 / y,   g dx = dH,   H = 2 y - 2 (1-kappa)/kappa log(1 + kappa y) - log y.

    With y = -e^(-i angle) / q, the angle running from 0 (lower edge) to pi (upper edge), Im x = 0 says

        q^3 - kappa (2 + kappa) q + 2 kappa^2 cos(angle) = 0,

    of whose three real roots the largest is right: arg(1+y) + 2 arg(1 + kappa y) = arg y, whose left side grows with
    |y| from 0. So x, the density Im y / (pi x) and the mass above x, Im(H(upper edge) - H(y)) / pi, are explicit in the
    angle, and no root of the cubic in y has to be picked (docs/theory/initial_spectrum.md).
    """

    kappa: float

    def density(self, s: Numbers) -> Numbers:
        # x = x_max s^2 / 4, so the density in s is Im y / (pi x) dx/ds = 2 Im y / (pi s). At kappa = 1 it goes as
        # s^(-1/3); there the lower edge is s = 0.
        mass = 2 / np.pi * self._y(self._angle(s)).imag
        return np.divide(mass, s, out=np.full_like(s, np.inf), where=s > 0)

    def cdf(self, s: Numbers) -> Numbers:
        return self._mass(self._angle(s))

    def quantile(self, u: Numbers) -> Numbers:
        return self.value(_inverse(self._mass, u, np.pi))

    def value(self, angle: Numbers) -> Numbers:
        """s = 2 sqrt(x / x_max), growing with the angle; dx/dy = 0 at the edges, that is 2 kappa y^2 + kappa y = 1."""
        top = 2 / (self.kappa + np.sqrt(self.kappa**2 + 8 * self.kappa))
        return 2 * np.sqrt(self._x(self._y(angle)) / self._x(top))

    def _angle(self, s: Numbers) -> Numbers:
        return _inverse(self.value, s, np.pi)

    def _x(self, y: ComplexNumbers) -> Numbers:
        # Moduli only: x is real, and the factors' arguments cancel exactly.
        return np.abs(1 + y) * np.abs(1 + self.kappa * y) ** 2 / np.abs(y)

    def _y(self, angle: Numbers) -> ComplexNumbers:
        kappa, cos, sin = self.kappa, np.cos(angle), np.sin(angle)
        # q = 2 sqrt(kappa (2+kappa) / 3) cos(third), 3 third = arccos(-c cos(angle)), c^2 = 27 kappa / (2+kappa)^3.
        # That arccos would lose half its digits at the lower edge near kappa = 1: hence arctan2, and 1 - c^2 factored.
        c, remainder = np.sqrt(27 * kappa / (2 + kappa) ** 3), (1 - kappa) * np.sqrt((8 + kappa) / (2 + kappa) ** 3)
        third = np.arctan2(np.hypot(sin, remainder * cos), -c * cos) / 3
        return (-cos + 1j * sin) / (2 * np.sqrt(kappa * (2 + kappa) / 3) * np.cos(third))

    def _mass(self, angle: Numbers) -> Numbers:
        """1 - Im(H(upper edge) - H(y)) / pi, with arg y = pi - angle."""
        y = self._y(angle)
        z = self.kappa * y
        if self.kappa > 1e-3:
            bent = 2 * y.imag - 2 * (1 - self.kappa) / self.kappa * np.angle(1 + z)
        else:
            # The same as 2 (z - log(1+z)) / kappa + 2 log(1+z), the first by its series: no small difference of large
            # numbers. |z| is near sqrt(kappa / 2).
            series = sum((-z) ** n / (n + 2) for n in range(11))
            bent = (2 * z * y * series + 2 * np.log1p(z)).imag
        return (angle + bent) / np.pi


@dataclass(frozen=True)
class Spectrum:
    """A law of singular values: a share of them follows the part of a `parent` law in [lower, 2], the rest are zero."""

    #: Share of the singular values that are not zero.
    share: float
    #: The smallest value that is not zero; the largest is 2 by the scale.
    lower: float
    #: The law on [0, 2] of which this is a part.
    parent: QuarterCircle | GaussianProduct
    #: The parent's mass in [lower, 2].
    kept: float = 1.0

    __repr__ = readable

    upper: ClassVar[float] = 2.0

    @property
    def atom(self) -> float:
        """Mass at zero."""
        return 1 - self.share

    def density(self, s: ArrayLike) -> np.ndarray | float:
        """Density at s >= 0 of the values that are not zero; its integral is 1 - atom."""
        s = at_least("s", s, 0)
        inside = (s >= self.lower) & (s < self.upper)
        return scalar(np.where(inside, self._weight * self.parent.density(self._clip(s)), 0.0))

    def cdf(self, s: ArrayLike) -> np.ndarray | float:
        """Share of all singular values, zeros included, that are at most s >= 0."""
        s = at_least("s", s, 0)
        rising = self.atom + self._weight * (self.parent.cdf(self._clip(s)) - (1 - self.kept))
        return scalar(np.select([s >= self.upper, s <= self.lower], [1.0, self.atom], np.clip(rising, self.atom, 1)))

    def quantile(self, u: ArrayLike) -> np.ndarray | float:
        """The least s with cdf(s) >= u, for u in [0, 1]; at u = 0 the least singular value. Accurate to 1e-10."""
        levels = checked("u", u, "in [0, 1]", lambda array: (array >= 0) & (array <= 1))
        inner = np.clip(1 - self.kept + np.maximum(0, levels - self.atom) / self._weight, None, 1)
        bottom = 0.0 if self.atom > 0 else self.lower
        conditions = [levels == 1, levels <= self.atom]
        return scalar(np.select(conditions, [self.upper, bottom], self.parent.quantile(inner)))

    def sample(self, count: int, random: np.random.Generator) -> np.ndarray:
        """`count` independent values of this law. (Those of one matrix are not independent: they repel each other.)"""
        count = whole("count", count, 1, 10**9)
        if not isinstance(random, np.random.Generator):
            raise refuse("random", random, "a numpy.random.Generator")
        return np.asarray(self.quantile(random.random(count)))

    def nonzero(self) -> Spectrum:
        """The law of the non-zero values alone."""
        return replace(self, share=1.0)

    @property
    def _weight(self) -> float:
        return self.share / self.kept

    def _clip(self, s: Numbers) -> Numbers:
        return np.clip(s, self.lower, self.upper)


def quarter_circle() -> Spectrum:
    """The quarter-circle law, rho(s) = sqrt(4 - s^2) / pi on [0, 2].

    Example:
        >>> from loadstone.theory.spectra import quarter_circle
        >>> round(quarter_circle().quantile(0.5), 4)
        0.8079
    """
    return Spectrum(1.0, 0.0, QuarterCircle())


def at_capacity(kappa: float = 1.0) -> Spectrum:
    """The law of a W of rank kappa d at capacity: zeros, and the upper share kappa of the quarter circle rho.

    (1-kappa) delta_0 + rho(s) 1[X(1-kappa) <= s <= 2], X the quantile function of rho. Paper, claim 2, without the
    factor kappa before rho, which is a misprint: the mass must be 1. Replica-symmetric for kappa < 1. Ten digits for
    kappa above 1e-6.

    Example:
        >>> from loadstone.theory.spectra import at_capacity
        >>> law = at_capacity(0.5)
        >>> round(law.atom, 4), round(law.lower, 4)
        (0.5, 0.8079)
    """
    kappa = rank_fraction("kappa", kappa)
    lower = float(QuarterCircle().quantile(np.asarray(1 - kappa)))
    return Spectrum(kappa, lower, QuarterCircle(), kept=max(kappa, 1e-100))  # so that 1 / kept stays finite


def initial_full() -> Spectrum:
    """The law of a W with i.i.d. Gaussian entries: the quarter circle.

    Example:
        >>> from loadstone.theory.spectra import initial_full
        >>> round(initial_full().cdf(1), 4)
        0.609
    """
    return quarter_circle()


def initial_factored(kappa: float = 1.0) -> Spectrum:
    """The law of W = Q R^T with i.i.d. Gaussian entries in the d x (kappa d) factors.

    It is not the quarter circle, even for kappa = 1.

    The paper's cubic is the law of the non-zero values alone; here a share 1 - kappa at zero is added.

    Example:
        >>> from loadstone.theory.spectra import initial_factored
        >>> round(initial_factored(0.5).quantile(0.9), 4)
        1.2741
    """
    law = GaussianProduct(rank_fraction("kappa", kappa))
    lower = float(law.value(np.asarray(0.0))) if law.kappa < 1 else 0.0
    return Spectrum(law.kappa, lower, law)


def _quarter_mass(theta: Numbers) -> Numbers:
    return (2 * theta + np.sin(2 * theta)) / np.pi


def _inverse(rising: Callable[[Numbers], Numbers], value: Numbers, end: float) -> np.ndarray:
    """The angle in [0, end] at which `rising` reaches `value`. By bisection: at the ends it is too flat for Newton."""
    low, high = np.zeros(np.shape(value)), np.full(np.shape(value), end)
    for _ in range(80):  # down to end / 2^80, so that small singular values keep their leading digits
        middle = (low + high) / 2
        before = rising(middle) < value
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return low
