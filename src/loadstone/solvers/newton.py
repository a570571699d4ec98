"""Exact verdicts: is there any W that stores the instance? A proof either way, by Newton's method on the cross-entropy.

Among all W, or those of a linear family, the question is a system of linear inequalities, and the cross-entropy answers
it. If the system has a solution, minimising drives W towards one, and some iterate has every margin positive: a
witness. If it has none, the Newton step V becomes small, and with S and dS the scores of W and of V the numbers

    lambda_{mu rho} = P_{mu rho} (1 + dS_{mu rho} - sum_sigma P_{mu sigma} dS_{mu sigma}),   P = softmax(S),

satisfy sum lambda (u_rho - u_target) e_mu^T = gradient + Hessian V = 0. Once none of them is negative they are a
certificate (Gordan): a positive combination of the inequalities that says 0 > 0. In a family gradient, Hessian and that
sum are projected onto it. Every claim is proved in proofs/; the iteration is not trusted.
"""

from __future__ import annotations

import contextlib
from types import ModuleType

import numpy as np
from jaxtyping import Float64

from loadstone.deadline import Deadline
from loadstone.problems.budget import Budget
from loadstone.problems.numpy_pass import ExactPass, Numbers
from loadstone.progress import Progress, silent
from loadstone.proofs.conditioned import Conditioned, Proof
from loadstone.proofs.strict import TooLargeError
from loadstone.solvers.clock import Clock, OutOfTimeError
from loadstone.solvers.hessian import Hessian, Matrix, StreamedHessian, dense_bytes, matrices_bytes
from loadstone.solvers.restricted import RestrictedHessian, restricted_bytes, restricted_work
from loadstone.threads import all_threads

#: Shares of the speed of a plain product that making covariances and a dense solve reach, before one was measured.
_SPEED_OF_SPREADS, _SPEED_OF_SOLVES = 0.25, 0.4
#: Relative residuals of the linear system: for ordinary steps, and when a certificate seems close.
_LOOSE, _TIGHT = 1e-2, 1e-12
#: Share of multipliers below zero that may be cut off, and how often the rest is made to fit again.
_CUT_OFF, _POLISHING_ROUNDS = 0.01, 6
#: A sum that is smaller than this, relative to its terms, is zero but for rounding.
_ROUNDING = 1e-13
#: In so many steps multipliers may be found whose sum is zero but for rounding, but which are not a proof.
_MOST_DOUBTS = 10
_LONGEST_STEP = 2.0**20
_NEARLY_NONE = "no W has margins above rounding errors"
OUT_OF_TIME = "time is up: allow more seconds"

Scores = Float64[Numbers, "n m"]


class Undecided(Exception):  # noqa: N818
    """The search cannot go on; its message says why."""


class NewtonSearch:
    """Newton's method on a conditioned instance, from a given W.

    instance: what is to be decided.
    exact: its pass in float64.
    weights: the latest W of the search.
    steps, products, dense_solves: what it took so far.
    """

    def __init__(
        self,
        instance: Conditioned,
        xp: ModuleType,
        start: Float64[np.ndarray, "d d"],
        most_steps: int = 200,
        budget: Budget | None = None,
        deadline: Deadline | None = None,
        progress: Progress = silent,
    ) -> None:
        self.instance, self.xp, self.most_steps, self.progress = instance, xp, most_steps, progress
        self.clock = Clock(deadline or Deadline(), xp)
        self.exact = ExactPass(instance.arrays, xp)
        self.weights = instance.inside(xp.asarray(start, dtype=xp.float64), xp)
        n, d = instance.arrays.inputs.shape
        allowed, subspace = budget or Budget(), instance.subspace
        if subspace is None:
            self.work, needed = n * d**4 / 2 + d**6 / 3, dense_bytes(n, d, xp)
        else:
            k = subspace.dimension(d)
            self.work, needed = restricted_work(n, d, k), restricted_bytes(n, d, k, xp)
        # This many products of conjugate gradients cost as much as half a dense solve.
        self.most_products = int(max(50, self.work / (6 * n * d**2) / 2))
        self.has_matrices = allowed.allows(matrices_bytes(n, instance.arrays.outputs.shape[-2], d))
        self.may_be_dense = self.has_matrices and allowed.allows(needed)
        self.most_bytes, self.doubts, self.stalled = allowed.bytes, 0, False
        self.steps = self.products = self.dense_solves = 0

    def run(self) -> Proof:
        """A proof either way; raises Undecided if none is found."""
        with contextlib.suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.most_steps):
                try:
                    if (proof := self._step()) is not None:
                        return proof
                    self.clock.look()
                except OutOfTimeError:
                    raise Undecided(OUT_OF_TIME) from None
            raise Undecided(f"{self.most_steps} Newton steps were not enough: raise the limit")
        raise Undecided("the Hessian is singular to working precision")

    def _step(self) -> Proof | None:
        """Look for a witness and for a certificate at the present W, else move it."""
        xp, exact = self.xp, self.exact
        scores = exact.scores(self.weights)
        if (proof := self._witness(self.weights, scores)) is not None:
            return proof
        softmax, losses = _softmax(scores, exact, xp)
        self.progress(self.steps, in_words(float(losses.mean()), float(exact.margins(scores).min())))
        pull = exact.mean(softmax)
        gradient = self.instance.inside((pull - exact.target_outputs).T @ exact.inputs, xp)
        step = self._solve(self._hessian(softmax, pull, pull), -gradient, _LOOSE)
        change = exact.scores(step)
        if (proof := self._witness(step, change)) is not None:
            return proof
        mean = (softmax * change).sum(axis=1, keepdims=True)
        if (proof := self._certificate(xp.where(exact.is_target, 0.0, softmax * (1.0 + change - mean)))) is not None:
            return proof
        length = _line_search(scores, change, exact, xp)
        if not np.isfinite(length) or length <= 0:
            raise Undecided("no step lowers the loss any more, because of rounding errors")
        self.weights = self.weights + length * step
        self.steps += 1
        return None

    def _hessian(self, weights: Scores, sums: Float64[Numbers, "n d"], centres: Float64[Numbers, "n d"]) -> Hessian:
        """The Hessian of these weights about these centres, with the matrices C_mu if there is memory for them."""
        exact, subspace, d = self.exact, self.instance.subspace, sums.shape[1]
        if self.has_matrices:
            make = lambda: exact.spreads(weights, sums, centres)  # noqa: E731
            with all_threads(d, self.xp):
                covariances = self.clock.timed("covariances", weights.size * d**2, _SPEED_OF_SPREADS, make)
            hessian = Hessian(exact.inputs, covariances, self.xp)
        else:
            hessian = StreamedHessian(exact, weights, sums, centres)
        return hessian if subspace is None else RestrictedHessian(hessian, subspace)

    def _certificate(self, multipliers: Scores) -> Proof | None:
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
            sums, totals = exact.mean(kept), kept.sum(axis=1)[:, None]
            residual = self.instance.inside((sums - totals * exact.target_outputs).T @ exact.inputs, xp)
            # Inputs have length one, so this is about the sum of the lengths of what is added up.
            size = xp.linalg.norm(sums, axis=1).sum() + (totals * xp.abs(exact.target_outputs)).sum()
            if float(xp.linalg.norm(residual)) <= _ROUNDING * float(size):
                return self._proof(np.asarray(kept))
            self.clock.look()
            hessian = self._hessian(kept, sums, exact.target_outputs)
            change = exact.scores(self._solve(hessian, -residual, _TIGHT))
            multipliers = kept * (1.0 + change - _of_targets(change, exact, xp)[:, None])
        return None

    def _proof(self, multipliers: Float64[np.ndarray, "n m"]) -> Proof | None:
        """Multipliers whose sum is zero but for rounding as a certificate."""
        try:
            if (proof := self.instance.certificate(multipliers, self.most_bytes)) is not None:
                return proof
            why = "whether smaller ones are possible is open"
        except TooLargeError as error:
            self.doubts, why = _MOST_DOUBTS, str(error)
        self.doubts += 1
        if self.doubts > _MOST_DOUBTS:
            raise Undecided(f"{_NEARLY_NONE}, but {why}")
        return None

    def _solve(self, hessian: Hessian, target: Matrix, tolerance: float) -> Matrix:
        before = hessian.products
        try:
            if not self.stalled:
                step, reached = hessian.conjugate_gradients(target, tolerance, self.most_products, self.clock.look)
                if reached or not self.may_be_dense:
                    return step  # if it has not converged, it is still a descent direction
                self.stalled = True
            step = self.clock.timed("dense solve", self.work, _SPEED_OF_SOLVES, lambda: hessian.dense(target))
            self.dense_solves += 1
            return step
        finally:
            self.products += hessian.products - before

    def _witness(self, weights: Matrix, scores: Scores) -> Proof | None:
        if float(self.exact.margins(scores).min()) <= 0:
            return None
        return self.instance.witness(np.asarray(weights, np.float64))


def in_words(loss: float, margin: float) -> str:
    """The state of the search in words, for progress."""
    return f"loss {loss:.4g}, smallest margin {margin:.3g}"


def _softmax(scores: Scores, exact: ExactPass, xp: ModuleType) -> tuple[Scores, Float64[Numbers, "n"]]:
    """Weights of the outputs, and the loss of each association."""
    top = scores.max(axis=1, keepdims=True)
    weights = xp.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, (top + xp.log(total))[:, 0] - _of_targets(scores, exact, xp)


def _of_targets(scores: Scores, exact: ExactPass, xp: ModuleType) -> Float64[Numbers, "n"]:
    """The scores of the targets alone."""
    return xp.take_along_axis(scores, exact.targets[:, None], axis=1)[:, 0]


def _line_search(scores: Scores, change: Scores, exact: ExactPass, xp: ModuleType) -> float:
    """The step length at which the loss is least, to 10 %; the slope along the step is monotone."""

    def slope(length: float) -> float:
        softmax, _ = _softmax(scores + length * change, exact, xp)
        return float(((softmax * change).sum(axis=1) - _of_targets(change, exact, xp)).sum())

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
