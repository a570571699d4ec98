"""L-BFGS, which stores up to the capacity: each direction is made of the last moves and the changes of the gradient
along them, and each step meets the Wolfe conditions.

A solver here sees one pass at a time, so the line search lives between passes: a pass tries a step, and what it
measures decides about the next. Step 1 is tried first and normally taken: one pass an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PyTree

from loadstone.arguments import positive, refuse, set_as, whole
from loadstone.memories.foreign import class_name
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.projected import Projected
from loadstone.problems.problem import Problem
from loadstone.solvers import lbfgs_numpy
from loadstone.solvers.coordinates import search_whitened
from loadstone.solvers.inverse_hessian import Pairs, no_pairs, times_inverse_hessian, with_pair
from loadstone.solvers.lbfgs_numpy import DEFAULT_PAIRS, DEFAULT_TOLERANCE
from loadstone.solvers.search import PassInfo, Scalar, SearchOptions
from loadstone.solvers.segments import search
from loadstone.solvers.solution import Solution
from loadstone.solvers.solver import Iterative
from loadstone.solvers.wolfe import MOST_IDLE, MOST_TRIALS, rounding_noise, wolfe


class State(NamedTuple):
    """A line search from the last accepted point.

    start, loss, gradient: that point, and what was measured there. An infinite loss means that nothing was yet.
    direction, slope: along which the search goes, and the derivative of the loss along it.
    step: what the next pass tries.
    low, high: a step that is too short, and one that is too long.
    trials: how many steps were tried along this direction.
    shortest: the smallest length of a gradient.
    idle: how many directions in a row gained nothing.
    flat: whether the gradient says that nothing more can be gained.
    """

    pairs: Pairs
    start: Float[Array, "size"]
    loss: Scalar
    gradient: Float[Array, "size"]
    direction: Float[Array, "size"]
    slope: Scalar
    step: Scalar
    low: Scalar
    high: Scalar
    trials: Int[Array, ""]
    shortest: Scalar
    idle: Int[Array, ""]
    flat: Bool[Array, ""]


@dataclass(frozen=True)
class LBFGS(Iterative):
    """Limited-memory BFGS.

    pairs: how many moves a direction is made of.
    tolerance: the minimum is reached when the length of the gradient times that of W is below this share of the loss.
    whiten: whether to search in coordinates in which inputs and outputs have unit covariance (solvers/coordinates.py).
    margin: the search also ends, as if at the minimum, when the gradient shows that no memory has every margin above
        this share of its length |W|, in the coordinates of the search. That holds for memories that are linear in what
        is trained: a full W, or one of a linear family. For W = Q R^T the gradient speaks of small changes alone: no
        change of the factors by a small share s of their length raises every margin by more than margin s |W|. 0: the
        search does not end for that.
    """

    pairs: int = DEFAULT_PAIRS
    tolerance: float = DEFAULT_TOLERANCE
    whiten: bool = True
    margin: float = 0.0

    def __post_init__(self) -> None:
        set_as(self, "pairs", whole("pairs", self.pairs, 1, 1000))
        set_as(self, "tolerance", positive("tolerance", self.tolerance))
        if not isinstance(self.whiten, bool):
            raise refuse("whiten", self.whiten, "True or False")
        if self.margin != 0:
            set_as(self, "margin", positive("margin", self.margin))

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        run = partial(search, self)
        if self.margin > 0:
            for memory in memories:
                _check_bounded(memory)
        elif len(problems) == 1 and lbfgs_numpy.can_be_plain(problems[0], memories[0], options):
            # To compile a search would take longer than the search.
            run = partial(lbfgs_numpy.search, pairs=self.pairs, tolerance=self.tolerance)
        if self.whiten:
            return search_whitened(run, problems, memories, options)
        return run(problems, memories, options)

    def most_bytes(self, vectors: int, d: int, compiled: bool) -> int:
        """About the most bytes that a search for a full W takes, for facts whose vectors have `vectors` numbers in all.

        Whitening has these up to six times in float64: shifted, scaled, as a triangle is made of them, mapped, and in
        the problem itself. A pair has 2 d^2 numbers. NumPy has each pair once in float32, and once more in float64 if
        it takes these digits; a compiled pass has all of them four times in float64: as they were, as they would be
        after this pass or after another, and as they are chosen. (Measured: 5.6 vectors, 4.0 times the pairs.)
        """
        return 48 * vectors + (32 if compiled else 12) * self.pairs * 2 * d * d

    def start(self, parameters: PyTree) -> State:
        point, _ = ravel_pytree(parameters)
        zero, one = jnp.zeros((), point.dtype), jnp.ones((), point.dtype)
        still = jnp.zeros_like(point)
        line = (point, jnp.inf * one, still, still, zero, zero, zero, jnp.inf * one)
        return State(no_pairs(self.pairs, point), *line, jnp.int32(0), jnp.inf * one, jnp.int32(0), jnp.asarray(False))

    def resume(self, parameters: PyTree, state: State) -> State:
        fresh = self.start(parameters)
        return fresh._replace(pairs=state.pairs)

    def move(self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: State) -> tuple[PyTree, State]:
        point, unravel = ravel_pytree(parameters)
        flat_gradient, _ = ravel_pytree(gradient)
        slope = flat_gradient @ state.direction
        noise = rounding_noise(state.loss, point.dtype)
        low_enough, accepted = wolfe(state.loss, state.slope, state.step, loss, slope, noise)
        accepted |= jnp.isinf(state.loss)

        next_line = self._next_line(point, loss, flat_gradient, state)
        low = jnp.where(low_enough, state.step, state.low)
        high = jnp.where(low_enough, state.high, state.step)
        step = jnp.where(jnp.isinf(high), 2 * state.step, (low + high) / 2)
        retry = state._replace(low=low, high=high, step=step, trials=state.trials + 1)
        state = jax.tree.map(lambda new, old: jnp.where(accepted, new, old), next_line, retry)
        return unravel(state.start + state.step * state.direction), state

    def step(
        self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: State, info: PassInfo
    ) -> tuple[PyTree, State]:
        moved, state = self.move(parameters, loss, gradient, state)
        if self.margin == 0:
            return moved, state
        # In the direction W' all scores together change the loss by the mean, over facts and rivals, of weight times
        # minus the margin that W' has. So no W' of length one has all margins above the length of the gradient over
        # the mean weight of rivals. For W = Q R^T, changes are measured in units of |(Q, R)| and margins in units of
        # |W|; for a full W both are |W|.
        steepness, length = (jnp.linalg.norm(ravel_pytree(part)[0]) for part in (gradient, parameters))
        hopeless = steepness * length < self.margin * info.wrong * info.length()
        return moved, state._replace(flat=state.flat | hopeless)

    def _next_line(
        self, point: Float[Array, "size"], loss: Scalar, gradient: Float[Array, "size"], state: State
    ) -> State:
        """A new line search from a point that was accepted."""
        pairs = with_pair(state.pairs, point - state.start, gradient - state.gradient, ~jnp.isinf(state.loss))
        length = jnp.linalg.norm(gradient)
        # Before anything is known of the curvature, a first step of length one.
        unit = jnp.where(length > 0, 1 / length, 0)
        scale = jnp.where(pairs.kept > 0, pairs.scale, unit)
        direction = -times_inverse_hessian(pairs._replace(scale=scale), gradient)
        zero, one = jnp.zeros_like(loss), jnp.ones_like(loss)
        flat = (length == 0) | ((pairs.kept > 0) & (length * jnp.linalg.norm(point) <= self.tolerance * loss))
        line = (direction, gradient @ direction, one, zero, jnp.inf * one, jnp.int32(0))
        gained = (loss < state.loss - rounding_noise(state.loss, point.dtype)) | (length < state.shortest)
        idle = jnp.where(gained, 0, state.idle + 1)
        return State(pairs, point, loss, gradient, *line, jnp.minimum(length, state.shortest), idle, flat)

    def precisions(self) -> tuple[str, ...]:
        on_cpu = jax.default_backend() == "cpu"
        return ("float32", "float64") if on_cpu else ("float16", "split", "float32", "float64")

    def minimum(self, state: State) -> Bool[Array, ""]:
        return state.flat

    def out_of_digits(self, state: State) -> Bool[Array, ""]:
        return (state.trials >= MOST_TRIALS) | (state.idle >= MOST_IDLE)


def is_linear(memory: Any) -> bool:
    """Whether a memory is linear in what is trained, so that its gradient bounds the possible margins."""
    return isinstance(memory, (Full, Projected))


def _check_bounded(memory: Any) -> None:
    if not is_linear(memory) and not isinstance(memory, LowRank):
        allowed = f"left out for {class_name(memory)}: only a full W, one of a linear family or Q R^T can have it"
        raise refuse("margin", "given", allowed)
