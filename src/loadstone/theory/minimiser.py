"""Loss and accuracy of the memory that cross-entropy training converges to above capacity: no free parameter.

With h = sqrt(Q) eta, eta ~ N(0, I_p), the scores of one association (its target's is the first) weigh loss against
distance from h, s = argmin [logsumexp(s) - s_1 + |s - h|^2 / (2 chi)], and

    p E|s - h|^2 = d^2 Q,    p E sum_rho (1 - ds_rho / dh_rho) = d^2                                  (F1, F2)

fix chi and Q = |W|_F^2. This holds for full rank, the decoupled problem, inputs and outputs N(0, I_d), under Gaussian
equivalence and for large d. A solution exists exactly when p D(p) > d^2 (cone.py); otherwise everything is stored, and
the loss vanishes only in the limit of large W. With N facts that have M answers each, and memories from a linear
subspace of delta dimensions, eta has M components, N stands for the p in front of the means, and delta for d^2.

With pi = softmax(s), s = h + chi (e_1 - pi). Three exact consequences are used:
- the target wins exactly when h_1 + chi exceeds the rivals' h. So accuracy = E Phi(eta_1 + r)^(p-1), r = chi / sqrt(Q),
  that of a Hebbian memory whose target stands out by r deviations;
- by Stein's lemma the left of F2 is p r E[pi . eta - eta_1]. With F1 this says E[s_1 - pi . s] = 0: scaling W gains
  nothing. It is far less noisy near capacity, where derivatives of s jump, and noisier far from it;
- as Q and r grow, s / sqrt(Q) tends to the projection of eta onto K_p, and F1 and F2 both to p D(p) = d^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtri, wrightomega

from loadstone.readable import readable
from loadstone.theory import hebbian
from loadstone.theory.checks import positives, single, whole_number
from loadstone.theory.codimension import codimension
from loadstone.theory.cone import MOST, project

Array = np.ndarray
ABOVE, STORABLE, FAILED = "above capacity", "storable: no finite minimiser", "not converged"

#: Samples of one group, each in its own stratum of eta_1. Groups are independent: their scatter gives the error bars.
_GROUP = 128
#: Up to this p a sample holds every rival; beyond it, the _TOP best and quadrature nodes for the others.
_WHOLE, _TOP = 256, 128
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
#: Residual of F1 and F2 that counts as a root, far below their noise; step in log norm and log r for derivatives.
_TOLERANCE, _STEP = 1e-8, 1e-3
#: Everything is stored if p D(p) / d^2 - 1 is at most this. It covers the rounding of D(p): p = 2, d = 1 should give 0.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Minimiser:
    """What theory says about the minimiser of the cross-entropy. Every `_error` is that of a Monte Carlo mean.

    If no root was found (status 'not converged'), the results are NaN.
    """

    #: Number of associations.
    p: int
    #: Dimension of the embeddings.
    d: int
    #: Load p log p / d^2.
    load: float
    #: Mean cross-entropy of an association; 0 if everything is stored.
    loss: float
    #: Share of the associations whose target has the highest score.
    accuracy: float
    #: |W|_F = sqrt(Q); infinite if everything is stored, because the loss then falls as W grows.
    norm: float
    #: How far a score can be pulled by the loss: s = h + chi (e_1 - pi).
    chi: float
    #: Standard error of the loss.
    loss_error: float
    #: Standard error of the accuracy.
    accuracy_error: float
    #: Standard error of the norm.
    norm_error: float
    #: Standard error of chi.
    chi_error: float
    #: 'above capacity', 'storable: no finite minimiser' or 'not converged'.
    status: str
    #: Left side over right side, minus 1, of F1 and of F2 on the sample. A storable p has no equations to solve; there
    #: the residuals are the limit for large W, p D(p) / d^2 - 1 <= 0.
    residuals: tuple[float, float]
    #: Number of answers that compete for each association; p if none was given.
    answers: int
    #: Dimension of the space of memories; d^2 if none was given.
    delta: float

    __repr__ = readable


def minimiser(
    p: int, d: int, *, samples: int = 4096, seed: int = 0, answers: int | None = None, delta: float | None = None
) -> Minimiser:
    """Loss and accuracy of the memory that minimises the cross-entropy of p associations in d dimensions.

    For whole p in 2..10^15 and whole d >= 1, from `samples` (rounded up to groups of 128) of eta.

    answers: how many outputs compete for each association (default: p).
    delta: dimension of the linear space of memories, as seen through the outputs (default: d^2; `families.py` knows
    others). Outputs that are shared and fewer than d + 1 show d (answers - 1) of the d^2, and W only where it is seen.

    With the default the loss has an error of 0.2 % or less and takes some seconds. If p D(p) is within 0.1 % of d^2,
    rare samples dominate: take more of them. The theory ends there anyway, since such instances are storable or not by
    chance (storable.py).

    Example:
        >>> from loadstone.theory.minimiser import minimiser
        >>> theory = minimiser(20, 4, samples=1024)
        >>> round(theory.loss, 2), round(theory.accuracy, 2)
        (2.58, 0.21)
    """
    p, d = whole_number("p", p, 2, MOST), whole_number("d", d, 1, 10**9)
    m = p if answers is None else whole_number("answers", answers, 2, MOST)
    room = d**2 if delta is None else float(positives("delta", single("delta", delta)))
    groups = -(-whole_number("samples", samples, 8 * _GROUP, 10**7) // _GROUP)
    seed = whole_number("seed", seed, 0, 2**32 - 1)
    load, excess = float(p * np.log(m) / d**2), float(p * codimension(m) / room - 1)
    if excess <= _ROUNDING:
        no_errors = (0.0,) * 4
        return Minimiser(p, d, load, 0.0, 1.0, np.inf, np.inf, *no_errors, STORABLE, (excess, excess), m, room)
    sample = _Sample(p, m, room, groups, seed)
    point, rows, slopes = _newton(sample, _coarse_root(_Sample(p, m, room, 1, seed)))
    first, second = rows[:2] @ sample.weights
    residuals = float(first), float(second)
    if not max(map(abs, residuals)) < _TOLERANCE:
        return Minimiser(p, d, load, *(np.nan,) * 8, FAILED, residuals, m, room)
    loss, norm, chi = float(rows[2] @ sample.weights), float(np.exp(point[0])), float(np.exp(point.sum()))
    low, accuracy, high = (_accuracy(m, np.exp(point[1] + step)) for step in (-_STEP, 0, _STEP))

    # If the means of F1 and F2 over a group are off by F_g, the root of that group alone is shifted by -J^-1 F_g.
    off = sample.group_residuals(rows[:3])
    moved = -np.linalg.solve(slopes[:2], off[:2])
    recall = (high - low) / (2 * _STEP) * moved[1]
    influences = off[2] + slopes[2] @ moved, recall, norm * moved[0], chi * moved.sum(axis=0)
    of_loss, of_accuracy, of_norm, of_chi = (float(np.std(one, ddof=1) / np.sqrt(groups)) for one in influences)
    errors = of_loss, of_accuracy, of_norm, of_chi
    return Minimiser(p, d, load, loss, accuracy, norm, chi, *errors, ABOVE, residuals, m, room)


class _Sample:
    """Groups of samples of eta, drawn again from their seeds at each evaluation, so that only one group is in memory.

    The same eta are used for every (Q, chi), so that F1 and F2 are smooth. They are weighted so that the means of
    dist^2(eta, K_p), of the number k of merged rivals, of eta_1 and of its square are exactly D(p), D(p), 0 and 1
    (control variates with coefficients by regression). So F1 and F2 have the right limits on the sample too: it has a
    root whenever there is one, and near capacity, where |s - h|^2 / Q is nearly dist^2, hardly any noise is left.
    """

    def __init__(self, facts: int, answers: int, delta: float, groups: int, seed: int):
        self.facts, self.delta, self.groups = facts, delta, groups
        self.draw = lambda group: _draw(answers, np.random.default_rng([seed, group]))
        # Up to twice the capacity F2 by Stein's lemma has less noise than by derivatives.
        self.by_parts = facts * codimension(answers) < 2 * delta
        controls = np.concatenate([_controls(self.draw(group)[0]) for group in range(groups)], axis=1)
        centre, count = controls.mean(axis=1), controls.shape[1]
        self.controls = controls - centre[:, None]
        self.inverse = np.linalg.pinv(self.controls @ self.controls.T / count)
        missing = np.array([codimension(answers), codimension(answers), 0.0, 1.0]) - centre
        self.weights = (1 + missing @ self.inverse @ self.controls) / count

    def rows(self, point: Array, levels: Array | None = None) -> Array:
        """F1, F2, loss and logsumexp(s) of every sample at (log norm, log r). `levels`: logsumexp(s) nearby."""
        norm, chi, groups = np.exp(point[0]), np.exp(point.sum()), []
        for group in range(self.groups):
            level = None if levels is None else levels[group * _GROUP : (group + 1) * _GROUP]
            distance, by_derivatives, by_parts, loss, level = _observe(*self.draw(group), norm, chi, level)
            parts = np.stack([distance / norm**2, by_parts if self.by_parts else by_derivatives])
            groups.append([*(self.facts / self.delta * parts - 1), loss, level])
        return np.concatenate(groups, axis=1)

    def group_residuals(self, rows: Array) -> Array:
        """Means of each group, minus the overall mean and the part that the control variates explain."""
        explained = (rows @ self.controls.T / rows.shape[1]) @ self.inverse @ self.controls
        left = rows - rows.mean(axis=1, keepdims=True) - explained
        return left.reshape(len(rows), self.groups, _GROUP).mean(axis=2)


def _draw(p: int, random: np.random.Generator) -> tuple[Array, Array]:
    """A group of eta, target first, and how many rivals each column stands for.

    If there are more than _WHOLE rivals, the best _TOP are exact order statistics (of uniform numbers, through
    exponential spacings). The others are independent normal numbers below the last of these, and none of them is pulled
    much. So they enter only through sums of smooth functions, which are replaced by their means, taken by quadrature:
    the results change by 1e-4 or less.
    """
    target = ndtri((np.arange(_GROUP) + random.random(_GROUP)) / _GROUP)[:, None]
    if p <= _WHOLE:
        return np.concatenate([target, random.standard_normal((_GROUP, p - 1))], axis=1), np.ones((1, p))
    spacings = random.standard_exponential((_GROUP, _TOP)) / (p - 1 - np.arange(_TOP))
    best = -ndtri(-np.expm1(-np.cumsum(spacings, axis=1)))
    others = best[:, -1:] - (best[:, -1:] + 8) * (1 + _NODES) / 2  # between -8 and the lowest of the best
    counts = np.exp(-(others**2) / 2) * _NODE_WEIGHTS
    counts *= (p - 1 - _TOP) / counts.sum(axis=1, keepdims=True)
    return np.concatenate([target, best, others], axis=1), np.concatenate([np.ones((_GROUP, 1 + _TOP)), counts], axis=1)


def _controls(eta: Array) -> Array:
    """Quantities with known means: dist^2(eta, K_p), k, eta_1, eta_1^2. Quadrature nodes lie too low to be merged."""
    projection, merged = project(eta)
    return np.stack([((eta - projection) ** 2).sum(axis=1), merged, eta[:, 0], eta[:, 0] ** 2])


def _prox(eta: Array, counts: Array, norm: float, chi: float, level: Array | None = None) -> tuple[Array, Array]:
    """chi pi, for each column of each sample, and level = logsumexp(s).

    s + chi pi = h + chi e_1 and pi = exp(s - level), so chi pi = omega(h + chi e_1 + log chi - level), with Wright's
    omega + log omega = x. At the level they add up to chi; their sum falls, convex, its logarithm no steeper than -1.
    """
    x = norm * eta
    x[:, 0] += chi
    highest = logsumexp(x, axis=1, b=counts)  # omega(x) < exp(x): the level lies below
    x += np.log(chi)
    level = highest if level is None else np.minimum(level, highest)
    for _ in range(200):
        pull = wrightomega(x - level[:, None])
        counted = counts * pull
        total, slope = counted.sum(axis=1), (counted / (1 + pull)).sum(axis=1)
        gap = np.log(total / chi)
        if np.abs(gap).max() < 1e-11:
            break
        # Below the root neither step overshoots, so it is reached from any start; above, Newton in the logarithm.
        level = level + np.where(gap < 0, gap * total / slope, np.maximum(gap, (total - chi) / slope))
    return pull, level


def _observe(eta: Array, counts: Array, norm: float, chi: float, level: Array | None = None) -> tuple[Array, ...]:
    """For every sample |s - h|^2, the sum in F2 by derivatives and by parts, the loss, and logsumexp(s)."""
    pull, level = _prox(eta, counts, norm, chi, level)
    counted = counts * pull
    rivals = counted[:, 1:].sum(axis=1)  # chi (1 - pi_1), without cancellation
    distance = rivals**2 + (counted[:, 1:] * pull[:, 1:]).sum(axis=1)
    # ds/dh = (I + chi C)^-1, C the covariance of the softmax: a diagonal less one dyad, inverted by Sherman-Morrison.
    share = pull / (1 + pull)
    first, second = (counts * share).sum(axis=1), (counts * share**2).sum(axis=1)
    by_parts = ((counted[:, 1:] * eta[:, 1:]).sum(axis=1) - rivals * eta[:, 0]) / norm
    return distance, first - second / first, by_parts, level - norm * eta[:, 0] - rivals, level


def _accuracy(p: int, ratio: float) -> float:
    """E Phi(eta_1 + ratio)^(p-1): that of the Hebbian rule at the load where its target stands out as much."""
    return float(hebbian.accuracy(p, np.log(p) / ratio**2))


def _coarse_root(sample: _Sample) -> Array:
    """(log norm, log r) on a small sample: at each norm F1, rising in r, gives r; then F2 rises through 0 with norm."""
    means = lambda norm, ratio: sample.rows(np.array([norm, ratio]))[:2] @ sample.weights  # noqa: E731
    least = 0.5 * np.log(sample.delta / (2 * sample.facts))  # |s - h|^2 < 2 chi^2

    def ratio(norm: float) -> float:
        high = least + 0.5
        while means(norm, high)[0] < 0:
            high += 0.5
        return brentq(lambda value: means(norm, value)[0], least, high, xtol=1e-3)

    residual = lambda norm: means(norm, ratio(norm))[1]  # noqa: E731
    low = 0.5 * np.log(sample.delta / sample.facts) - 0.5  # far above capacity norm and r tend to d / sqrt(p)
    while residual(low) > 0:
        low -= 1
    high = low + 1
    while residual(high) < 0 and high < 20:
        low, high = high, high + 1
    norm = brentq(residual, low, high, xtol=2e-2) if high < 20 else high
    return np.array([norm, ratio(norm)])


def _newton(sample: _Sample, point: Array) -> tuple[Array, Array, Array]:
    """The root near `point`, the rows there, and the slopes of F1, F2 and loss in log norm and log r."""
    rows, steps = sample.rows(point), 0
    while True:
        nearby = [sample.rows(point + step, rows[3]) for step in _STEP * np.eye(2)]
        slopes = np.stack([(other - rows)[:3] @ sample.weights / _STEP for other in nearby], axis=1)
        means = rows[:2] @ sample.weights
        if np.abs(means).max() < _TOLERANCE or steps >= 40:
            return point, rows, slopes
        for _ in range(4):  # several steps with the same slopes
            step = -np.linalg.pinv(slopes[:2]) @ means
            point, steps = point + step * min(1, 0.7 / np.abs(step).max()), steps + 1
            rows = sample.rows(point, rows[3])
            means = rows[:2] @ sample.weights
            if np.abs(means).max() < _TOLERANCE:
                break  # the slopes, which the error bars need, are those of the starting point
