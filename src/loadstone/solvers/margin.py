"""The memory of largest margin: among all W of unit norm the one whose smallest margin is largest, and a proof of it.

Equivalently: minimise |W|^2 / 2 while every margin is at least 1. Few rivals of an input matter, those whose margin is
the smallest there is; W is the sum over them of lambda (u_target - u_rho) e^T with multipliers lambda > 0.

The search is the method of multipliers. For a stiffness C, minimise

    |W|^2 / 2 + sum over all pairs of (lambda + C (1 - margin))_+^2 / (2 C),

which is a smooth problem without constraints; then put lambda = (lambda + C (1 - margin))_+, make C larger, and repeat.
The minimum is found by Newton's method with an exact line search. A step needs one pass, and one linear system with an
unknown for each pair that is active. In the code each pair is divided by |u_target - u_rho| |e|, so that all are alike.

Any W bounds the largest margin from below, and any lambda >= 0 from above, by |sum lambda (u_target - u_rho) e^T| / sum
lambda. Both are computed with their rounding errors (proofs/rounding.py); the search ends when they nearly agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from loadstone.arguments import positive, whole
from loadstone.deadline import Deadline
from loadstone.memories.full import Full
from loadstone.problems.arrays import Arrays, HasArrays, arrays_of
from loadstone.problems.numpy_pass import ExactPass
from loadstone.proofs.rounding import least_margin, margin_bound
from loadstone.proofs.scaling import scaled
from loadstone.proofs.verdict import Outcome
from loadstone.readable import readable
from loadstone.solvers.decide import decide
from loadstone.threads import one_thread

#: The first stiffness, and the factor to the next. Started stiffer, Newton's method takes ten times longer.
_FIRST, _STIFFER = 100.0, 10.0
_MOST_STIFFNESS = 1e12
#: Newton steps at one stiffness, and the gradient, relative to W, at which they end.
_STEPS, _FLAT = 50, 1e-8
_HALVINGS = 30


class NoMarginError(ValueError):
    """There is no largest margin, or none was searched for: the outcome says whether the instance is not storable or
    undecided."""

    def __init__(self, outcome: Outcome, sentence: str) -> None:
        super().__init__(sentence)
        self.outcome = outcome


@dataclass(frozen=True)
class MaximumMargin:
    """The memory of largest margin, and how close to the largest it is proved to be.

    memory: W, of unit norm.
    margin: all margins of the memory are proved to be above this.
    upper_bound: no W of unit norm has all margins above this, which the multipliers prove.
    gap: (upper_bound - margin) / upper_bound.
    multipliers: for each input and output the weight lambda of its margin; zero but for the active rivals.
    passes: how often all margins were computed, not counting those of the search for a first W that stores everything.
    seconds: time of the search.
    """

    memory: Full
    margin: float
    upper_bound: float
    gap: float
    multipliers: Float64[np.ndarray, "n m"]
    passes: int
    seconds: float

    __repr__ = readable


def maximum_margin(instance: HasArrays, tolerance: float = 1e-6, *, passes: int = 1000) -> MaximumMargin:
    """The W of unit norm whose smallest margin is largest, to a relative gap of `tolerance` or until `passes` are done.

    An instance that is not storable, or that cannot be decided, is refused.

    Example:
        >>> fact = loadstone.facts([[3.0, 4.0]], [[1.0, 0.0], [1.0, 2.0]], targets=[0])
        >>> round(loadstone.maximum_margin(fact).margin, 3)  # |u_target - u_rival| |e|
        10.0
    """
    clock = Deadline()
    arrays = arrays_of(instance)
    tolerance, passes = positive("tolerance", tolerance), whole("passes", passes, 1)
    verdict = decide(arrays)
    if verdict.witness is None:
        undecided = "The instance was not proved storable, so no margin was searched for:"
        impossible = "The instance is not storable, so it has no largest margin."
        sentence = undecided if verdict.verdict == Outcome.UNDECIDED else impossible
        raise NoMarginError(verdict.verdict, f"{sentence} {verdict.reason}")
    search = _Search(arrays, verdict.witness, passes)
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        search.run(tolerance / 2)
    weights = search.best / np.linalg.norm(search.best)
    margin, upper = least_margin(arrays, weights), margin_bound(arrays, search.multipliers).margin
    gap = (upper - margin) / upper
    return MaximumMargin(Full(weights), margin, upper, gap, search.multipliers, search.passes, clock.taken)


class _Search:
    """best: the W of largest margin so far. multipliers: those of the lowest upper bound so far."""

    def __init__(self, arrays: Arrays, witness: Float64[np.ndarray, "d d"], passes: int) -> None:
        # One scale for all inputs and one for all outputs: other changes of length would change which W is best.
        self.arrays = Arrays(scaled(arrays.inputs)[0], scaled(arrays.outputs)[0], arrays.targets)
        self.all_scores = ExactPass(self.arrays)
        self.lengths = _lengths(self.arrays, self.all_scores.is_target)
        self.most, self.passes = passes, 0
        self.best, self.lower = witness, 0.0
        self.multipliers, self.upper = np.where(self.all_scores.is_target, 0.0, 1.0), np.inf
        self.shares = self._shares(witness)
        self.weights = witness / np.linalg.norm(witness)
        self._update_lower(witness, self.shares)
        # Twice the first margin: more than this W has, so that some rival is active, and not so much that |W| is huge.
        self.wanted = np.where(self.all_scores.is_target, -1.0, 2 * self.lower / self.lengths)
        self.forces = np.zeros_like(self.shares)

    def run(self, tolerance: float) -> None:
        stiffness = _FIRST
        try:
            while stiffness <= _MOST_STIFFNESS and self.lower < (1 - tolerance) * self.upper:
                forces = self._relaxed(stiffness, tolerance)
                if forces is None:
                    return
                self.forces, stiffness = forces, stiffness * _STIFFER
        except LinAlgError:  # singular to rounding: the best so far stands
            return

    def _relaxed(self, stiffness: float, tolerance: float) -> Float64[np.ndarray, "n m"] | None:
        """The forces (lambda + C (1 - margin))_+ at the minimum for this stiffness; None if the search is over."""
        for step in range(_STEPS):
            forces = np.maximum(0.0, self.forces + stiffness * (self.wanted - self.shares))
            rows, columns = np.nonzero(forces)
            pull = self._summed(rows, columns, forces[rows, columns])
            self._update_upper(forces, pull)
            if self.passes >= self.most or self.lower >= (1 - tolerance) * self.upper:
                return None
            if step and np.linalg.norm(self.weights - pull) < _FLAT * np.linalg.norm(self.weights):
                break
            self._step(rows, columns, stiffness)
        return forces

    def _step(self, rows: Int[np.ndarray, "k"], columns: Int[np.ndarray, "k"], stiffness: float) -> None:
        """Newton's step: the forces that these pairs would have at the minimum if they stayed the active ones."""
        directions, inputs = self._directions(rows, columns), self.arrays.inputs[rows]
        compliance = (directions @ directions.T) * (inputs @ inputs.T)
        compliance[np.diag_indices(len(rows))] += 1 / stiffness
        wanted = self.forces[rows, columns] / stiffness + self.wanted[rows, columns]
        aim = self._summed(rows, columns, cho_solve(cho_factor(compliance), wanted))
        shares = self._shares(aim)
        self._update_lower(aim, shares)
        move, change = aim - self.weights, shares - self.shares
        share = self._reach(move, change, stiffness)
        self.weights, self.shares = self.weights + share * move, self.shares + share * change

    def _reach(self, move: Float64[np.ndarray, "d d"], change: Float64[np.ndarray, "n m"], stiffness: float) -> float:
        """How far along a step the minimum lies: at most 1, and where the slope, which only grows, is zero."""
        first, second = float((self.weights * move).sum()), float((move * move).sum())

        def slope(share: float) -> float:
            forces = np.maximum(0.0, self.forces + stiffness * (self.wanted - self.shares - share * change))
            return first + share * second - float((forces * change).sum())

        if slope(1.0) <= 1e-9 * second:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        return (low + high) / 2

    def _shares(self, weights: Float64[np.ndarray, "d d"]) -> Float64[np.ndarray, "n m"]:
        """Every margin divided by the largest that it can be at unit norm; zero for the target itself."""
        self.passes += 1
        scores = self.all_scores.scores(weights)
        targets = np.take_along_axis(scores, self.arrays.targets[:, None], axis=1)
        return (targets - scores) / self.lengths

    def _update_lower(self, weights: Float64[np.ndarray, "d d"], shares: Float64[np.ndarray, "n m"]) -> None:
        margins = np.where(self.all_scores.is_target, np.inf, shares) * self.lengths
        lower = float(margins.min() / np.linalg.norm(weights))
        if lower > self.lower:
            self.best, self.lower = weights, lower

    def _update_upper(self, forces: Float64[np.ndarray, "n m"], pull: Float64[np.ndarray, "d d"]) -> None:
        multipliers = forces / self.lengths
        upper = float(np.linalg.norm(pull) / multipliers.sum())
        if upper < self.upper:
            self.multipliers, self.upper = multipliers, upper

    def _directions(self, rows: Int[np.ndarray, "k"], columns: Int[np.ndarray, "k"]) -> Float64[np.ndarray, "k d"]:
        """(u_target - u_rho) / (|u_target - u_rho| |e|) of these pairs."""
        outputs = self.arrays.outputs
        rivals = outputs[rows, columns] if self.arrays.decoupled else outputs[columns]
        return (self.all_scores.target_outputs[rows] - rivals) / self.lengths[rows, columns][:, None]

    def _summed(
        self, rows: Int[np.ndarray, "k"], columns: Int[np.ndarray, "k"], forces: Float64[np.ndarray, "k"]
    ) -> Float64[np.ndarray, "d d"]:
        return (self._directions(rows, columns) * forces[:, None]).T @ self.arrays.inputs[rows]


def _lengths(arrays: Arrays, is_target: Bool[np.ndarray, "n m"]) -> Float64[np.ndarray, "n m"]:
    """|u_target - u_rho| |e|, and 1 for the target itself."""
    inputs = np.linalg.norm(arrays.inputs, axis=1)
    lengths = np.empty(is_target.shape)
    for row, target in enumerate(arrays.target_outputs):
        rivals = arrays.outputs[row] if arrays.decoupled else arrays.outputs
        lengths[row] = np.linalg.norm(target - rivals, axis=1) * inputs[row]
    return np.where(is_target, 1.0, lengths)
