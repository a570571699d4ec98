"""L-BFGS in NumPy, for facts of moderate number: it needs no compilation, which takes longer than such a search.

The rules are those of solvers/lbfgs.py. There a compiled loop goes through them pass by pass; here the line search is
an ordinary loop.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from loadstone.deadline import Deadline
from loadstone.memories.full import Full
from loadstone.memories.memory import Memory
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.problems.facts import Facts, facts_of
from loadstone.problems.numpy_pass import NumpyPass
from loadstone.problems.problem import Problem
from loadstone.progress import Progress, silent
from loadstone.solvers.coordinates import search_whitened
from loadstone.solvers.search import DEFAULT_PASSES, SearchOptions, in_words
from loadstone.solvers.solution import Solution, Status
from loadstone.solvers.stop import NO_LIMITS, Limits, met
from loadstone.solvers.wolfe import MOST_IDLE, MOST_TRIALS, rounding_noise, wolfe
from loadstone.threads import shared_out

#: Defaults of LBFGS: how many moves a direction is made of, and how flat the loss is at its minimum.
DEFAULT_PAIRS, DEFAULT_TOLERANCE = 20, 1e-5
#: With more products in all passes it pays to compile a search, which makes its products faster by this factor. As a
#: rule a search takes at most this many passes.
_MOST_PRODUCTS, _FASTER, _USUAL_PASSES = 8 * 10**10, 1.5, 400

Matrix = Float[np.ndarray, "d d"]


def is_plain(n: int, m: int, d: int, passes: int | None = None) -> bool:
    """Whether a search that stores n facts with m answers in at most `passes` passes is better not compiled here."""
    if jax.default_backend() != "cpu" or jax.process_count() > 1:
        return False
    # A compiled pass maps every input by W, a plain one the answers if these are fewer (problems/numpy_pass.py).
    products = n * m * d * min(passes or _USUAL_PASSES, _USUAL_PASSES)
    return products <= _MOST_PRODUCTS or _FASTER * (min(n, m) * d + n * m) < n * d + n * m


def can_be_plain(problem: Problem, memory: Any, options: SearchOptions) -> bool:
    """Whether `search` can do this, and in less time than compiling takes. Streams share their compiled programs."""
    if not isinstance(problem, Facts) or problem.isotropic or type(memory) not in (Full, Projected):
        return False
    if options.checkpoint is not None or not {*options.precisions} <= {"float32", "float64"}:
        return False
    (n, d), m = problem.inputs.shape, problem.competitors
    return problem.inputs.dtype == jnp.float32 and is_plain(n, m, d, options.limits.passes)


def search(
    problems: Sequence[Problem],
    memories: Sequence[Memory],
    options: SearchOptions,
    pairs: int = DEFAULT_PAIRS,
    tolerance: float = DEFAULT_TOLERANCE,
) -> list[Solution]:
    """Store the facts of one problem in a full memory or one of a linear family. The last two arguments are those of
    LBFGS."""
    (problem,), (memory,) = problems, memories
    assert isinstance(problem, Facts)
    clock, subspace = Deadline(), memory.subspace if isinstance(memory, Projected) else None
    run = _Search(options, np.asarray(memory.matrix()), pairs, tolerance)
    with shared_out() as each, np.errstate(over="ignore", invalid="ignore"):
        for precision in options.precisions:
            status = run.end_with(NumpyPass(problem, np.dtype(precision), each), subspace)
            if status != Status.OUT_OF_DIGITS or len(run.losses) >= run.most:
                break
    # JAX keeps float64 numbers only while it has them switched on, NumPy always.
    weights = run.point if run.point.dtype == np.float64 else jax.device_put(run.point.copy())
    stored = Full(weights) if subspace is None else Projected.made(weights, subspace)
    traces = np.array(run.losses), np.array(run.accuracies)
    return [Solution(stored, status, len(run.losses), *traces, clock.taken, problem.description)]


def store(
    arrays: Arrays,
    start: Matrix,
    limits: Limits = NO_LIMITS,
    subspace: Subspace | None = None,
    progress: Progress = silent,
    isotropic: bool = False,
) -> Solution:
    """Search for a W with every margin positive, full or in a subspace. The search is that of `solve` with L-BFGS, but
    nothing is compiled, and its memory is not measured: whether it stores the facts is for a proof to say."""
    options = SearchOptions("exact", limits, ("float32", "float64"), progress)
    memory = Full(start) if subspace is None else Projected.made(start, subspace)
    return search_whitened(search, [facts_of(arrays, isotropic)], [memory], options)[0]


class _Pair(NamedTuple):
    """A move, how the gradient changed along it, and 1 / (move . change)."""

    move: Matrix
    change: Matrix
    weight: float


class _Ended(Exception):  # noqa: N818
    """The search is over; its argument is the status."""


class _Search:
    """`point` is the W that the last pass measured."""

    def __init__(self, options: SearchOptions, start: Matrix, pairs: int, tolerance: float) -> None:
        self.options, self.point, self.tolerance = options, start, tolerance
        self.pairs: deque[_Pair] = deque(maxlen=pairs)
        self.most, self.deadline = options.limits.passes or DEFAULT_PASSES, Deadline(options.limits.seconds)
        self.losses: list[float] = []
        self.accuracies: list[float] = []

    def end_with(self, passes: NumpyPass, subspace: Subspace | None) -> Status:
        """Search with these passes. Returns why the search ended."""
        self.passes, kind = passes, passes.inputs.dtype
        self.point = self.point.astype(kind)
        lifted = [_Pair(move.astype(kind), change.astype(kind), weight) for move, change, weight in self.pairs]
        self.pairs = deque(lifted, self.pairs.maxlen)
        family = None if subspace is None else Projected.made(self.point, subspace).subspace
        self.inside = (lambda matrix: matrix) if family is None else family.projected
        try:
            self._go()
        except _Ended as ended:
            return ended.args[0]

    def _go(self) -> NoReturn:
        """From one point that meets the Wolfe conditions to the next."""
        loss, gradient = self._measured(self.point)
        shortest, idle = math.inf, 0
        while True:
            length = float(np.linalg.norm(gradient))
            if length == 0 or (self.pairs and length * float(np.linalg.norm(self.point)) <= self.tolerance * loss):
                raise _Ended(Status.MINIMUM)
            start, before, gradient_before = self.point, loss, gradient
            loss, gradient = self._along(self._direction(gradient, length), loss, gradient)
            self._learn(self.point - start, gradient - gradient_before)
            shortest, gained = min(shortest, length), loss < before - rounding_noise(before, start.dtype)
            idle = 0 if gained or float(np.linalg.norm(gradient)) < shortest else idle + 1
            if idle >= MOST_IDLE:
                raise _Ended(Status.OUT_OF_DIGITS)

    def _along(self, direction: Matrix, loss: float, gradient: Matrix) -> tuple[float, Matrix]:
        """Loss and gradient at a point along a direction that meets the Wolfe conditions."""
        start, slope = self.point, float(np.vdot(gradient, direction))
        low, high, step = 0.0, math.inf, 1.0
        for _ in range(MOST_TRIALS):
            trial_loss, gradient = self._measured(start + start.dtype.type(step) * direction)
            trial_slope = float(np.vdot(gradient, direction))
            low_enough, accepted = wolfe(loss, slope, step, trial_loss, trial_slope, rounding_noise(loss, start.dtype))
            if accepted:
                return trial_loss, gradient
            low, high = (step, high) if low_enough else (low, step)
            step = 2 * step if math.isinf(high) else (low + high) / 2
        raise _Ended(Status.OUT_OF_DIGITS)

    def _measured(self, point: Matrix) -> tuple[float, Matrix]:
        """A pass; raises _Ended if a rule or a limit ends the search."""
        self.point, seen, options = point, self.passes.at(point), self.options
        violations = int((~seen.stored).sum())
        self.losses.append(seen.loss)
        self.accuracies.append(1 - violations / len(seen.stored))
        options.progress(len(self.losses), in_words(self.losses[-1], self.accuracies[-1]))
        if not math.isfinite(seen.loss):
            raise _Ended(Status.DIVERGED)
        # 'exact' is a promise about W itself, so there only margins count that no rounding can have made.
        unsure = int((~seen.stored_beyond_rounding).sum()) if options.stop == "exact" else violations
        if met(options.stop, unsure, len(seen.stored)):
            raise _Ended(Status.STORED if options.stop == "exact" else Status.STOPPED)
        if len(self.losses) >= self.most:
            raise _Ended(Status.OUT_OF_PASSES)
        if self.deadline.is_over:
            raise _Ended(Status.OUT_OF_TIME)
        return seen.loss, self.inside(seen.gradient)

    def _learn(self, move: Matrix, change: Matrix) -> None:
        """Keep a pair if the loss curves upwards along it, as it does everywhere but for rounding."""
        product, lengths = float(np.vdot(move, change)), float(np.linalg.norm(move)) * float(np.linalg.norm(change))
        if product > np.finfo(move.dtype).eps * lengths:
            self.pairs.append(_Pair(move, change, 1 / product))

    def _direction(self, gradient: Matrix, length: float) -> Matrix:
        """Minus the inverse Hessian of the pairs times the gradient (Nocedal and Wright, algorithm 7.4)."""
        kind, direction, along = gradient.dtype.type, -gradient, []
        if not self.pairs:  # nothing is known of the curvature: a first step of length one
            return direction / kind(length)
        for pair in reversed(self.pairs):
            along.append(kind(pair.weight * np.vdot(pair.move, direction)))
            direction -= along[-1] * pair.change
        direction *= kind(1 / (self.pairs[-1].weight * np.vdot(self.pairs[-1].change, self.pairs[-1].change)))
        for pair, length in zip(self.pairs, reversed(along)):
            direction += (length - kind(pair.weight * np.vdot(pair.change, direction))) * pair.move
        return direction
