"""Memories of low rank below capacity: singular values of a typical one, overlap of two, and the free entropy.

The paper's formula (eq. variational) is a saddle point over the law of singular values, with an HCIZ integral inside.
Read before the integral over rotations is done, it says that a typical W = Q R^T, Q and R Gaussian, has the law

    P(dW) exp(d^2 theta cos(W, Z)),   cos(W, Z) = Tr Z^T W / (|Z| |W|),

where Z is a Gaussian matrix that has nothing to do with the rest (docs/theory/typical.md): of all memories of this rank
a typical solution is a random one, but for its cosine c with a random matrix. This cosine is set by the load, and with
it come the overlap t of two solutions and the free entropy phi,

    c^2 = 2 alpha,   1 - t = c / theta,   phi = -integral of theta from 0 to c.

At finite p it is c^2 = 2 alpha r_p(t) with r_p(t) = -(1-t)^2 G_p'(t), which tends to 1. No matrix of rank kappa d has a
cosine above sqrt(2 alpha_c(kappa)), and the only one that has it is Z cut to its largest singular values: that is the
capacity, and the spectrum there.

The exponent is Gaussian in either factor given the other, so both are drawn in turn: no integral over rotations is
needed. Complex entries have the same limit as real ones, and come within 1/d^2 of it instead of 1/d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Inexact
from scipy.interpolate import CubicSpline

from loadstone.arguments import rank_fraction, refuse
from loadstone.readable import readable
from loadstone.theory.capacity import capacity
from loadstone.theory.checks import in_half_open, positives, single, whole_number
from loadstone.theory.codimension import codimension
from loadstone.theory.entropy import MOST_SAMPLED, energetic
from loadstone.theory.spectra import quarter_circle

#: Dimension at which the limit is computed, and how often both factors are drawn; errors are about a thousandth.
DIMENSION, SWEEPS = 60, 300
#: Draws of both factors in the search for theta, and how many come before it first changes. Field and stiffness are
#: averaged over the second half.
_SOUGHT, _SETTLING = 200, 20
#: Points of the integral over theta.
_POINTS = 6
#: Samples of the energetic term at finite p.
_SAMPLES = 400

_Factor = Inexact[np.ndarray, "d m"]


@dataclass(frozen=True)
class Typical:
    """Random memories of one rank whose mean cosine with a Gaussian matrix is given.

    kappa: rank over dimension.
    cosine, theta: the mean cosine, and the field that it takes.
    singular_values: of each memory drawn those that are not zero, falling, in units of their root mean square.
    """

    kappa: float
    cosine: float
    theta: float
    singular_values: Float[np.ndarray, "sweeps m"]

    __repr__ = readable

    @property
    def overlap(self) -> float:
        """Mean cosine of two solutions."""
        return 1 - self.cosine / self.theta if self.theta > 0 else 0.0

    def load(self, p: int | None = None) -> float:
        """The load at which solutions have this cosine: in the limit of large p, or for p associations."""
        return self.cosine**2 / (2 if p is None else 2 * _response(p)(max(0.0, self.overlap)))


def typical(load: float, kappa: float = 1.0, d: int = DIMENSION, sweeps: int = SWEEPS, seed: int = 0) -> Typical:
    """A typical solution at a load below alpha_c(kappa), in the limit of large p and d."""
    load, kappa = float(positives("load", single("load", load))), rank_fraction("kappa", kappa)
    if load >= capacity(kappa):
        raise refuse("load", load, f"below the capacity {capacity(kappa):.6g} of kappa = {kappa:g}")
    return at_cosine(np.sqrt(2 * load), kappa, d, sweeps, seed)


def at_cosine(
    cosine: float, kappa: float = 1.0, d: int = DIMENSION, sweeps: int = SWEEPS, seed: int = 0, real: bool = False
) -> Typical:
    """Random Q R^T of rank kappa d that have this mean cosine with a Gaussian matrix.

    By default Z has the singular values of the limit and entries are complex, which is closest to the limit. With
    `real` both are those of d x d memories: Z is drawn, and what comes out has the fluctuations of size d.
    """
    kappa, d = rank_fraction("kappa", kappa), whole_number("d", d, 2, 10**4)
    sweeps, seed = whole_number("sweeps", sweeps, 1, 10**7), whole_number("seed", seed, 0, 2**32 - 1)
    random, rank = np.random.default_rng(seed), max(1, round(kappa * d))
    if real:
        z = np.linalg.svd(random.standard_normal((d, d)), compute_uv=False)
    else:
        z = np.asarray(quarter_circle().quantile((d - np.arange(d) - 0.5) / d))
    z = z / np.linalg.norm(z)
    end = float(np.linalg.norm(z[:rank]))
    cosine = float(in_half_open("cosine", single("cosine", cosine), 0, end))
    chain, guess, sought = Chain(z, rank, random, real), _guess(end, rank / d), []
    chain.theta = guess(cosine)
    for count in range(_SOUGHT):
        chain.sweep()
        if cosine > 0 and count >= _SETTLING:
            gain = (1 + (count - _SETTLING) / 10) ** -0.6  # the sum of all diverges, that of their squares does not
            chain.theta = max(0.0, chain.theta + gain * (guess(cosine) - guess(chain.cosine)))
        chain.balance()
        sought.append((chain.field, chain.stiffness))
    chain.field, chain.stiffness = np.mean(sought[_SOUGHT // 2 :], axis=0)
    seen, values = [], []
    for _ in range(sweeps):
        chain.sweep()
        seen.append((chain.cosine, chain.field * chain.norm / d**2))
        values.append(chain.singular_values())
    mean_cosine, theta = np.mean(seen, axis=0)
    return Typical(rank / d, float(mean_cosine), float(theta), np.array(values))


class Chain:
    """Factors that are drawn in turn from exp(-|Q|^2 / 2 - |R|^2 / 2 - stiffness |W|^2 / 2 + field Tr Z^T W), W = Q R^T
    and Z diagonal of unit norm; for complex factors from its square.

    Where the stiffness balances the field, Tr Z^T W field = stiffness |W|^2, the exponent does not change with the
    scale of W to first order. Then it stands for d^2 theta cos(W, Z), with theta = field |W| / d^2.
    """

    def __init__(self, z: Float[np.ndarray, "d"], rank: int, random: np.random.Generator, real: bool) -> None:
        self.z, self.random, self.real = z, random, real
        self.q, self.r = self._drawn(rank), self._drawn(rank)
        self.theta = self.field = self.stiffness = 0.0

    def sweep(self) -> None:
        """Draw both factors."""
        self.q = self._given(self.r)
        self.r = self._given(self.q)
        self._grams = self.q.conj().T @ self.q, self.r.conj().T @ self.r
        self.norm = float(np.sqrt((self._grams[0] * self._grams[1].T).sum().real))
        self.cosine = float((self.z[:, None] * self.q * self.r.conj()).sum().real) / self.norm

    def balance(self) -> None:
        """Set field and stiffness to theta, at the present W."""
        self.field = self.theta * len(self.z) ** 2 / self.norm
        self.stiffness = max(0.0, self.field * self.cosine / self.norm)

    def singular_values(self) -> Float[np.ndarray, "m"]:
        """The non-zero singular values of Q R^T: their squares are the eigenvalues of (Q^T Q)(R^T R)."""
        root = np.linalg.cholesky(self._grams[0])
        squares = np.linalg.eigvalsh(root.conj().T @ self._grams[1] @ root)[::-1]
        return np.sqrt(np.maximum(0, squares) / squares.mean())

    def _given(self, other: _Factor) -> _Factor:
        """One factor given the other, the same for both since Z is diagonal."""
        precision = np.eye(other.shape[1]) + self.stiffness * (other.conj().T @ other)
        root = np.linalg.cholesky(precision)
        pull = self.field * (self.z[:, None] * other)
        # With precision = L L^*, rows (pull L^-* + noise) L^-1 have mean pull precision^-1 and that covariance.
        half = np.linalg.solve(root, pull.conj().T) + self._drawn(other.shape[1]).conj().T
        return np.linalg.solve(root.conj().T, half).conj().T

    def _drawn(self, rank: int) -> _Factor:
        shape = (len(self.z), rank)
        if self.real:
            return self.random.standard_normal(shape)
        return (self.random.standard_normal(shape) + 1j * self.random.standard_normal(shape)) / np.sqrt(2)


def _guess(end: float, kappa: float) -> Callable[[float], float]:
    """A rough theta for a cosine c: as c for small c, and kappa (2 - kappa) / (2 (end - c)) near the end, since there
    each of the kappa (2 - kappa) d^2 directions in which W can move costs the same."""
    bend = kappa * (2 - kappa) / (2 * end**2) - 1
    return lambda cosine: cosine * (1 + bend * cosine / end) / max(1 - cosine / end, 1e-12)


@cache
def _response(p: int) -> Callable[[float], float]:
    """r_p(t) = -(1-t)^2 G_p'(t). With y = -log(1-t) and g = (1-t) G_p, which is smooth in y, it is -(g + dg/dy)."""
    p = whole_number("p", p, 2, MOST_SAMPLED)
    t = -np.expm1(-np.linspace(0, 8, 25))
    g = np.append((1 - t) * np.asarray(energetic(t, p, _SAMPLES).value), -codimension(p) / (2 * np.log(p)))
    spline = CubicSpline(np.append(-np.log1p(-t), 12.0), g, bc_type="natural")
    return lambda t: float(-(spline(-np.log1p(-t)) + spline(-np.log1p(-t), 1)))
