"""What the Hebbian rule W = (1/d) sum u e^T recalls, under the paper's heuristic of independent Gaussian scores.

In units of the rivals' deviation a rival's score is N(0, 1) and the target's is N(mu, 1) with mu = sqrt(log p / alpha),
which is d / sqrt(p) at alpha = p log p / d^2. One association fails with probability

    epsilon = E[1 - Phi(z + mu)^(p-1)],  z ~ N(0, 1),

and all p succeed with probability (1 - epsilon)^p: in the limit 1 below load 1/8 and 0 above.

At finite size lengths matter: a long output is recalled more easily, and so is the output of a long input.
`finite_failure` takes the lengths into account and has no free parameter either.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal
from scipy.special import log_ndtr, ndtr

from loadstone.arguments import whole
from loadstone.theory.checks import at_least, positives, scalar
from loadstone.theory.cone import MOST

#: Grid of z. The trapezium rule converges exponentially: the integrand is analytic in a strip of width pi / (2 z).
_Z = np.arange(-12.0, 12.001, 0.02)
_WEIGHT = 0.02 * np.exp(-(_Z**2) / 2) / np.sqrt(2 * np.pi)


def target_mean(p: ArrayLike, load: ArrayLike) -> np.ndarray | float:
    """The mean of the target's score in units of the rivals' deviation, mu = sqrt(log p / alpha)."""
    return scalar(np.sqrt(np.log(_associations(p)) / positives("load", load)))


def score_moments(p: int, d: int) -> tuple[float, float, float]:
    """Exact variance of a rival's score under the Hebbian rule, and mean and deviation of the target's in its units.

    For scores u_mu^T W e_rho / d, Gaussian embeddings and any size; rivals are off the diagonal, targets on it.

    Off the diagonal the terms of mu and rho contribute (d+2)/d^2 each and the other p - 2 terms 1/d^2 each; on it the
    association's own term |u|^2 |e|^2 / d^2 has mean 1 and variance 4 (d+1) / d^2. The paper's p / d^2 is the limit
    p >> d.
    """
    p, d = _size(p, d)
    off, own = (p + 2 * d + 2) / d**2, (p + 4 * d + 3) / d**2
    return off, off**-0.5, (own / off) ** 0.5


def failure(p: ArrayLike, load: ArrayLike) -> np.ndarray | float:
    """The probability epsilon that one association is not recalled; small values keep their digits."""
    p, mean = np.broadcast_arrays(_associations(p), target_mean(p, load))
    log_all_below = (p[..., None] - 1) * log_ndtr(_Z + mean[..., None])
    return scalar(np.minimum(1, -np.expm1(log_all_below) @ _WEIGHT))  # the weights add up to 1 but for rounding


def accuracy(p: ArrayLike, load: ArrayLike) -> np.ndarray | float:
    """Expected share of the p associations that are recalled. Any p >= 2 (tried up to 10^12), any load > 0."""
    return scalar(1 - np.asarray(failure(p, load)))


#: Nodes for the lengths of output and input, for those of the sums, for the weight of a rival, and the grid of z.
_LENGTHS, _SUMS, _RIVALS, _COARSE_Z = 8, 3, 12, np.arange(-9.0, 9.01, 0.2)


def finite_failure(p: int, d: int) -> float:
    """The probability that the Hebbian rule does not recall an association, for Gaussian embeddings of any size.

    With a = |e_mu|^2 and b = |u_mu|^2 the target scores sqrt(a b) r, r = sqrt(a b) + sqrt(S) z, and the query has the
    length sqrt(a (r^2 + S c)): z is normal, c and S are chi-square of d - 1 and p - 1 degrees of freedom. A rival is
    part of the query, with a weight t sqrt(S), t being a component of a random unit vector of p - 1 dimensions. This is
    exact for one rival; several are taken as independent given the query (docs/theory/hebbian.md).
    """
    return _finite_failure(*_size(p, d))


@lru_cache(maxsize=4096)
def _finite_failure(p: int, d: int) -> float:
    lengths, normal = chi_square_nodes(d, _LENGTHS), np.exp(-(_COARSE_Z**2) / 2) / np.sqrt(2 * np.pi)
    nodes = [lengths, lengths, chi_square_nodes(d - 1, _SUMS), chi_square_nodes(p - 1, _SUMS)]
    nodes.append((_COARSE_Z, (_COARSE_Z[1] - _COARSE_Z[0]) * normal))
    a, b, c, s, z = np.meshgrid(*(values for values, _ in nodes), indexing="ij", sparse=True)
    r = np.sqrt(a * b) + np.sqrt(s) * z
    length = np.sqrt(r * r + s * c)
    target, along = np.sqrt(b) * r / length, (np.sqrt(a * b) * z + np.sqrt(s) * (z * z + c)) / length
    beaten, below = np.zeros_like(length), np.zeros_like(length)
    for t, weight in zip(*component_nodes(p - 1, _RIVALS)):
        ahead = (target - t * along) / np.sqrt(max(1 - t * t, 1e-30))
        beaten, below = beaten + weight * ndtr(-ahead), below + weight * ndtr(ahead)
    with np.errstate(divide="ignore"):  # a rival that always wins: log 0
        log_below = np.where(below < 0.5, np.log(below), np.log1p(-np.minimum(beaten, 0.5)))
    failed = -np.expm1((p - 1) * log_below)
    total = np.einsum("ijklm,i,j,k,l,m->", failed, *(weight for _, weight in nodes), optimize=True)
    return min(1.0, float(total))  # the weights add up to 1 but for rounding


def finite_accuracy(p: int, d: int) -> float:
    """Expected share of p associations that the Hebbian rule recalls, to 0.005 in dimensions d >= 20.

    For p < d, where few are lost, the share that is lost is known to 7 %.
    """
    return 1 - finite_failure(p, d)


def finite_probability_all_stored(p: int, d: int) -> float:
    """The probability that the Hebbian rule recalls all: (1 - epsilon)^p, failures being taken as independent."""
    with np.errstate(divide="ignore"):  # a sure failure: log 0
        return float(np.exp(p * np.log1p(-finite_failure(p, d))))


def chi_square_nodes(dof: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss quadrature for a mean over the chi-square law.

    By the eigenvalues of its Jacobi matrix (Golub and Welsch); without a degree of freedom the law is all at 0.
    """
    if dof == 0:
        return np.zeros(1), np.ones(1)
    shape, k = dof / 2 - 1, np.arange(1, count)
    values, vectors = eigh_tridiagonal(2 * np.arange(count) + shape + 1, np.sqrt(k * (k + shape)))
    return 2 * values, vectors[0] ** 2


def component_nodes(dimensions: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss quadrature for a mean over one component of a random unit vector.

    Its density is (1 - t^2)^((dimensions - 3) / 2), so the polynomials are Gegenbauer's.
    """
    if dimensions == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    shape, k = dimensions / 2 - 1, np.arange(1, count)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = k * (k + 2 * shape - 1) / (4 * (k + shape) * (k + shape - 1))
    squares[0] = 1 / (2 * (1 + shape))  # 0 / 0 in two dimensions
    values, vectors = eigh_tridiagonal(np.zeros(count), np.sqrt(squares))
    return values, vectors[0] ** 2


def _size(p: int, d: int) -> tuple[int, int]:
    return whole("p", p, 2, MOST), whole("d", d, 1, 10**9)


def _associations(p: ArrayLike) -> np.ndarray:
    return at_least("p", p, 2)
