"""Recall from a short list: the target must beat the mean of its k best rivals, not every one of them.

A target that scores above the mean of its k best rivals is among the first k: this is the tail-average margin of
Barnfield, Kim, Nichani, Lee and Lu (2026), and k = 1 is recall by the largest score. The mean of the k largest scores
is the largest value of sum w s over weights 0 <= w <= 1/k that sum to one. Its smooth version, with a temperature of
one, gives the rivals the weights of k fermions on the levels s:

    w = 1 / (k (1 + exp(t - s))),   t such that the weights sum to one,   F = t + sum log(1 + exp(s - t)) / k.

The loss of an association is log(1 + exp(F - target)). It is convex in the memory, and small only if the target beats
the mean, since F lies above it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from loadstone.arguments import refuse, whole
from loadstone.compiling import one_program
from loadstone.kernels.recall import Recall, Slope, target_and_rival, without_padding
from loadstone.kernels.shared_xla import over_blocks
from loadstone.problems.arrays import Arrays
from loadstone.problems.padded import Padded
from loadstone.problems.problem import Problem, check_problem
from loadstone.problems.wrapper import SameOutputs
from loadstone.trees import tree

#: How many scores are in memory at a time.
_SCORES = 4_000_000
#: Halvings of the interval in which t lies: enough for float32.
_HALVINGS = 40


@tree(data=["plain"], meta=["rivals"])
@dataclass(frozen=True)
class Listwise(SameOutputs):
    """The associations of another problem, each stored if its target beats the mean of its best rivals.

    In its recall, `rival` is that mean, so margins and stop rules mean the list.

    plain: the problem in which every rival must be beaten.
    rivals: how many of the best rivals the mean is taken over.
    """

    plain: Problem
    rivals: int

    @property
    def _wrapped(self) -> Problem:
        return self.plain

    @property
    def description(self) -> str:
        return f"{self.plain.description}; against the mean of the {self.rivals} best rivals"

    def slopes(self, queries: Float[Array, "n d"], precision: str = "float32") -> tuple[Recall, Slope]:
        """Products are those of `scores`, in float32 at least, whatever the precision asked for."""
        n, d = queries.shape
        outputs = self.plain.scores(queries[:1], jnp.zeros(1, jnp.int32)).shape[1]
        block = max(1, _SCORES // outputs)
        recall = over_blocks(lambda start, rows: self._rows(queries, start, rows), n, d, queries.dtype, block)
        slope = recall.pull - self.target_outputs
        if isinstance(self.plain, Padded):
            return without_padding(recall, slope, self.plain.count, self.target_outputs)
        return recall, slope

    def _rows(self, queries: Float[Array, "n d"], start: Int[Array, ""] | int, rows: int) -> Recall:
        indices = start + jnp.arange(rows)
        of_rows = lax.dynamic_slice_in_dim(queries, start, rows)
        scores, back = jax.vjp(lambda some: self.plain.scores(some, indices), of_rows)
        targets = lax.dynamic_slice_in_dim(self.targets, start, rows)
        target, _ = target_and_rival(scores, targets, axis=1)
        others = jnp.where(jnp.arange(scores.shape[1])[None, :] == targets[:, None], -jnp.inf, scores)
        level, weights, mean = smooth_mean_of_best(others, self.rivals)
        wrong = jax.nn.sigmoid(level - target)[:, None]
        # Scores are linear in the query: pulled back, the weights become the weighted mean of the outputs.
        (rival_output,) = back(weights.astype(scores.dtype))
        own = lax.dynamic_slice_in_dim(self.target_outputs, start, rows)
        return Recall(target, mean, jnp.logaddexp(level, target), own + wrong * (rival_output - own))

    def arrays(self) -> Arrays:
        raise ValueError("A proof is about every rival, not about the mean of the best: give the plain problem.")

    def in_float32(self) -> Listwise:
        return replace(self, plain=self.plain.in_float32())

    def in_float64(self) -> Listwise | None:
        plain = self.plain.in_float64()
        return None if plain is None else replace(self, plain=plain)


def listwise(problem: Problem, rivals: int) -> Listwise:
    """The same associations, each stored if its target beats the mean of its `rivals` best rivals.

    Example:
        >>> from loadstone.problems.listwise import listwise
        >>> problem = listwise(loadstone.original(loadstone.Stream(0, 4), 10), 3)
        >>> loadstone.measure(problem, loadstone.train(problem).memory).violations
        0
    """
    check_problem(problem)
    if problem.competitors < 3:
        raise refuse("problem", f"one with {problem.competitors} outputs", "one with at least three")
    return Listwise(problem, whole("rivals", rivals, 1, problem.competitors - 2))


@partial(one_program, static_argnames="k")
def smooth_mean_of_best(
    scores: Float[Array, "b m"], k: int
) -> tuple[Float[Array, "b"], Float[Array, "b m"], Float[Array, "b"]]:
    """F, the weights w, and the mean of the k largest scores itself; k is below the number of finite scores."""
    best = lax.top_k(scores, k + 1)[0]
    # At the lower end k + 1 levels are filled to k / (k + 1) at least; at the upper end all of them hold less than one.
    low, high = best[:, k] - jnp.log(float(k)), best[:, 0] + jnp.log(float(scores.shape[1]))

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        too_many = jax.nn.sigmoid(scores - middle[:, None]).sum(axis=1) > k
        return jnp.where(too_many, middle, low), jnp.where(too_many, high, middle)

    low, high = lax.fori_loop(0, _HALVINGS, halve, (low, high))
    t = (low + high) / 2
    filled = jax.nn.sigmoid(scores - t[:, None])
    level = t + jax.nn.softplus(scores - t[:, None]).sum(axis=1) / k
    # F is smallest at t, so it has these derivatives whatever t is to rounding; they sum to one exactly.
    return level, filled / filled.sum(axis=1, keepdims=True), best[:, :k].mean(axis=1)
