"""Exact verdicts: is there any W that stores the instance? A proof either way, by Newton's method on the cross-entropy.

At full rank the question is a system of linear inequalities in W, and the cross-entropy answers it. If the system has
a solution, minimising drives W towards one, and some iterate has every margin positive: a witness. If it has none, the
Newton step V becomes small, and with S and dS the scores of W and of V the numbers

    lambda_{mu rho} = P_{mu rho} (1 + dS_{mu rho} - sum_sigma P_{mu sigma} dS_{mu sigma}),   P = softmax(S),

satisfy sum lambda (u_rho - u_target) e_mu^T = gradient + Hessian V = 0. Once none of them is negative they are a
certificate (Gordan): a positive combination of the inequalities that says 0 > 0. Every claim is checked by rounding.py;
the iteration is not trusted.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from loadstone.arguments import refuse, set_as, whole
from loadstone.problems.arrays import Arrays, exact_floats
from loadstone.problems.budget import Budget
from loadstone.problems.exact import ExactPass, Numbers
from loadstone.problems.problem import Problem
from loadstone.proofs.rounding import certain_tie, certifies, least_margin, margin_bound, scaled, stores
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.solvers.hessian import Hessian, Matrix, dense_bytes
from loadstone.solvers.threads import all_threads, one_thread

#: Relative residuals of the linear system: for ordinary steps, and when a certificate seems close.
_LOOSE, _TIGHT = 1e-2, 1e-12
#: Share of multipliers below zero that may be cut off, and how often the rest is made to fit again.
_CUT_OFF, _POLISHING_ROUNDS = 0.01, 6
_LONGEST_STEP = 2.0**20
#: Root mean square score of a start.
_MODERATE_SCORE = 3.0

Progress = Callable[[int, float, float], None]
Scores = Float64[Numbers, "n m"]


@dataclass(frozen=True)
class ProofLimits:
    """When to give up.

    steps: most Newton steps.
    budget: memory for the dense Hessian; None: half of the free memory of the device.
    """

    steps: int = 200
    budget: Budget | None = None

    def __post_init__(self) -> None:
        set_as(self, "steps", whole("steps", self.steps, 1))
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise refuse("budget", self.budget, "None or a Budget, such as Budget.parse('8GiB')")


DEFAULT_LIMITS = ProofLimits()


def decide(
    instance: Problem | Arrays,
    limits: ProofLimits = DEFAULT_LIMITS,
    start: Float64[np.ndarray, "d d"] | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Decide whether any W stores the instance.

    `start` is the W from which the search starts, such as `last` in the verdict of a neighbouring instance; its scale
    hardly matters. `progress` is called with (Newton steps, mean loss, smallest margin).
    """
    arrays = _arrays(instance)
    if not isinstance(limits, ProofLimits):
        raise refuse("limits", limits, "a ProofLimits, such as ProofLimits(steps=200)")
    start = None if start is None else _start(start, arrays.inputs.shape[1])
    if jax.default_backend() == "cpu":
        with one_thread():
            return _Search(arrays, np, limits, start, progress).run()
    with jax.enable_x64(True):
        return _Search(arrays, jax.numpy, limits, start, progress).run()


def _arrays(instance: Problem | Arrays) -> Arrays:
    if isinstance(instance, Arrays):
        return instance
    make = None if isinstance(instance, type) else getattr(instance, "arrays", None)
    arrays = make() if callable(make) else None
    if not isinstance(arrays, Arrays):
        raise refuse("instance", f"a {type(instance).__name__}", "a problem, such as facts(...), or Arrays")
    return arrays


def _start(start: ArrayLike, d: int) -> Float64[np.ndarray, "d d"]:
    floats = exact_floats("start", start)
    if floats.shape != (d, d):
        raise refuse("start.shape", floats.shape, f"({d}, {d}), the shape of W")
    return floats.astype(np.float64)


class _UndecidedError(Exception):
    """The search cannot go on; its message says why."""


class _Search:
    def __init__(
        self,
        arrays: Arrays,
        xp: ModuleType,
        limits: ProofLimits,
        start: Float64[np.ndarray, "d d"] | None,
        progress: Progress | None,
    ) -> None:
        self.arrays, self.xp, self.limits, self.progress = arrays, xp, limits, progress
        # The lengths of inputs, and the scale or a common shift of the outputs, do not change storability, but they do
        # change rounding errors.
        inputs, exponents = scaled(arrays.inputs, axis=1)
        lengths = np.linalg.norm(inputs, axis=1, keepdims=True)
        inputs /= np.where(lengths > 0, lengths, 1.0)
        # Divisors that turn multipliers for inputs of unit length into those of the given inputs, up to a common factor
        # that keeps them within range.
        middle = (exponents.min() + exponents.max()) // 2
        with np.errstate(over="ignore"):
            self.lengths = np.ldexp(lengths, (exponents - middle)[:, None])
        self.exact = ExactPass(Arrays(inputs, _centred(arrays.outputs), arrays.targets), xp)
        n, d = arrays.inputs.shape
        self.weights = xp.zeros((d, d)) if start is None else self._moderate(xp.asarray(start, dtype=xp.float64))
        # So many products of conjugate gradients cost as much as half a dense solve.
        self.most_products = int(max(50, (n * d**4 / 2 + d**6 / 3) / (6 * n * d**2) / 2))
        self.may_be_dense = (limits.budget or Budget()).allows(dense_bytes(n, d, xp))
        self.stalled = False
        self.steps = self.products = self.dense_solves = 0
        self.began = time.perf_counter()

    def _moderate(self, weights: Matrix) -> Matrix:
        """A start scaled down to scores of moderate size: at large scores the softmax ignores all rivals but one."""
        with np.errstate(over="ignore"):
            size = float(self.xp.sqrt((self.exact.scores(weights) ** 2).mean()))
        return weights * min(1.0, _MODERATE_SCORE / size) if size > 0 else weights

    def run(self) -> Verdict:
        if (tie := certain_tie(self.arrays)) is not None:
            certificate = np.zeros((len(self.arrays.targets), self.arrays.outputs.shape[-2]))
            certificate[tie] = 1.0
            return self._verdict(Outcome.NOT_STORABLE, certificate=certificate, bound=0.0, share=0.0)
        try:
            with contextlib.suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
                for _ in range(self.limits.steps):
                    if (verdict := self._step()) is not None:
                        return verdict
                raise _UndecidedError(f"{self.limits.steps} Newton steps were not enough: raise the limit")
            raise _UndecidedError("the Hessian is singular to working precision")
        except _UndecidedError as end:
            return self._verdict(Outcome.UNDECIDED, reason=f"{end}.")

    def _step(self) -> Verdict | None:
        """Look for a witness and for a certificate at the present W, else move it."""
        xp, exact = self.xp, self.exact
        scores = exact.scores(self.weights)
        if (verdict := self._witness(self.weights, scores)) is not None:
            return verdict
        softmax, losses = _softmax(scores, exact, xp)
        if self.progress:
            self.progress(self.steps, float(losses.mean()), float(exact.margins(scores).min()))
        pull = exact.mean(softmax)
        gradient = (pull - exact.target_outputs).T @ exact.inputs
        with all_threads(len(gradient), xp):
            hessian = Hessian(exact.inputs, exact.covariances(softmax, pull), xp)
        step, change, verdict = self._newton(hessian, gradient, softmax)
        if verdict is not None:
            return verdict
        length = _line_search(scores, change, exact, xp)
        if not np.isfinite(length) or length <= 0:
            raise _UndecidedError("no step lowers the loss any more, because of rounding errors")
        self.weights = self.weights + length * step
        self.steps += 1
        return None

    def _newton(self, hessian: Hessian, gradient: Matrix, softmax: Scores) -> tuple[Matrix, Scores, Verdict | None]:
        """The Newton step, its scores, and a verdict if the step yields one."""
        step = self._solve(hessian, -gradient, _LOOSE)
        change = self.exact.scores(step)
        if (verdict := self._witness(step, change)) is not None:
            return step, change, verdict
        mean = (softmax * change).sum(axis=1, keepdims=True)
        multipliers = self.xp.where(self.exact.is_target, 0.0, softmax * (1.0 + change - mean))
        return step, change, self._certificate(multipliers)

    def _certificate(self, multipliers: Scores) -> Verdict | None:
        """A certificate from multipliers of which at most a small part is negative.

        That part is cut off, which leaves a residual. Multipliers lambda (1 + <u_rho - u_target, Y e_mu>) have none if
        Y solves the system of the Hessian with lambda in place of the softmax; while these are positive, or nearly,
        the residual falls by orders of magnitude with each round.
        """
        xp, exact = self.xp, self.exact
        for _ in range(_POLISHING_ROUNDS):
            kept = xp.maximum(multipliers, 0.0)
            total = float(kept.sum())
            if not total > 0 or float((kept - multipliers).sum()) > _CUT_OFF * total:
                return None
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                certificate = np.asarray(kept) / self.lengths
            bound = margin_bound(self.arrays, certificate)
            if certifies(bound, self.arrays):
                proof = {"certificate": certificate, "bound": bound.margin, "share": bound.share}
                return self._verdict(Outcome.NOT_STORABLE, **proof)
            sums = exact.mean(kept)
            residual = (sums - kept.sum(axis=1)[:, None] * exact.target_outputs).T @ exact.inputs
            hessian = Hessian(exact.inputs, exact.spreads(kept, sums), xp)
            change = exact.scores(self._solve(hessian, -residual, _TIGHT))
            target = xp.take_along_axis(change, exact.targets[:, None], axis=1)
            multipliers = kept * (1.0 + change - target)
        return None

    def _solve(self, hessian: Hessian, target: Matrix, tolerance: float) -> Matrix:
        before = hessian.products
        try:
            return self._solution(hessian, target, tolerance)
        finally:
            self.products += hessian.products - before

    def _solution(self, hessian: Hessian, target: Matrix, tolerance: float) -> Matrix:
        if not self.stalled:
            step, reached = hessian.conjugate_gradients(target, tolerance, self.most_products)
            if reached:
                return step
            self.stalled = self.may_be_dense
            if not self.may_be_dense:
                return step  # not converged, but still a descent direction
        self.dense_solves += 1
        return hessian.dense(target)

    def _witness(self, weights: Matrix, scores: Scores) -> Verdict | None:
        if float(self.exact.margins(scores).min()) <= 0:
            return None
        witness = np.asarray(weights, np.float64)
        witness = witness / np.abs(witness).max()
        witness = witness / np.linalg.norm(witness)
        bound = least_margin(self.arrays, witness)
        if not stores(bound, self.arrays):
            return None
        return self._verdict(Outcome.STORABLE, witness=witness, margin=bound.margin, share=bound.share)

    def _verdict(self, verdict: Outcome, **proof: Any) -> Verdict:
        seconds = time.perf_counter() - self.began
        counts = (self.steps, self.products, self.dense_solves, seconds)
        return Verdict(verdict, *counts, **proof, last=np.asarray(self.weights))


def _centred(outputs: np.ndarray) -> Float64[np.ndarray, "*n m d"]:
    """Outputs of moderate size about their mean, up to rounding."""
    outputs, _ = scaled(outputs)
    outputs -= outputs.mean(axis=-2, keepdims=True)
    return outputs


def _softmax(scores: Scores, exact: ExactPass, xp: ModuleType) -> tuple[Scores, Float64[Numbers, "n"]]:
    """Weights of the outputs, and the loss of each association."""
    top = scores.max(axis=1, keepdims=True)
    weights = xp.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    target = xp.take_along_axis(scores, exact.targets[:, None], axis=1)
    return weights / total, (top + xp.log(total) - target)[:, 0]


def _line_search(scores: Scores, change: Scores, exact: ExactPass, xp: ModuleType) -> float:
    """The step length at which the loss is least, to 10 %; the slope along the step is monotone."""

    def slope(length: float) -> float:
        softmax, _ = _softmax(scores + length * change, exact, xp)
        target = xp.take_along_axis(change, exact.targets[:, None], axis=1)[:, 0]
        return float(((softmax * change).sum(axis=1) - target).sum())

    low, high = 0.0, 1.0
    while slope(high) < 0:
        low, high = high, 2 * high
        if high > _LONGEST_STEP:
            return low
    if low == 0.0:  # rarely needed: the full step overshoots
        while slope(high / 2) > 0:
            high /= 2
            if high < 1e-12:
                return np.nan
        low = high / 2
    for _ in range(4):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low
