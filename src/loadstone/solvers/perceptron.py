"""The perceptron rule: where a rival wins, W moves by (u_target - u_rival) e^T; where the target wins, it stays.

The rule is gradient descent at zero temperature. What is recalled does not depend on the length of W, but the softmax
does: at a W that is scaled up by 2^64 every difference between two scores that rounding leaves is beyond the range of
the exponential. The pull is then the winning output to the last digit (the mean of those that tie exactly), the slope
u_winner - u_target, which is zero for what is stored, and the loss 2^64 max(0, rival - target). A power of two only
changes exponents, so scores are rounded as they would be without it. The search is done with the scaled W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from loadstone.arguments import refuse
from loadstone.memories.foreign import class_name
from loadstone.problems.loss import is_real, queries_of
from loadstone.problems.problem import Problem
from loadstone.solvers.minibatch import InBlocks
from loadstone.solvers.search import Scalar, SearchOptions
from loadstone.solvers.solution import Solution

#: Between two float64 scores of order one there are at least 2^-53, times this 2048: exp(-2048) is zero.
_SCALE = 2.0**64
#: Numbers in these precisions reach to 3.4e38 at least.
_WIDE = ("float64", "float32", "split")


@dataclass(frozen=True)
class Perceptron(InBlocks):
    """The perceptron rule, for memories whose queries are proportional to their numbers. It has no learning rate: that
    would only scale W. In the trace the loss is the perceptron's, the mean of max(0, rival - target).

    batch: how many associations W moves for at once; 1 is Rosenblatt's rule, 0 takes all of them.
    """

    def move(self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: PyTree) -> tuple[PyTree, PyTree]:
        return jax.tree.map(lambda old, change: old - _SCALE * change, parameters, gradient), state

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        for precision in options.precisions:
            if precision not in _WIDE:
                raise refuse("precision", precision, f"one of {', '.join(_WIDE)} for the perceptron rule")
        for problem, memory in zip(problems, memories):
            _check_proportional(problem, memory)
        solutions = super().solve(problems, [_times(memory, _SCALE) for memory in memories], options)
        return [replace(one, memory=_times(one.memory, 1 / _SCALE), loss=one.loss / _SCALE) for one in solutions]

    def precisions(self) -> tuple[str, ...]:
        return ("float32",)


def _times(memory: Any, factor: float) -> Any:
    """A memory with all its real numbers multiplied, in the digits that they have."""
    return jax.tree.map(lambda leaf: leaf * np.asarray(factor, leaf.dtype) if is_real(leaf) else leaf, memory)


def _check_proportional(problem: Problem, memory: Any) -> None:
    """Refuse a memory of which twice the numbers do not make twice the queries."""
    inputs, memory = problem.inputs[:4], jax.tree.map(jnp.asarray, memory)
    once, twice = (np.asarray(queries_of(one, inputs)) for one in (memory, _times(memory, 2.0)))
    if not np.allclose(2 * once, twice, rtol=1e-5, atol=0):
        kind = class_name(memory)
        raise refuse("memory", f"a {kind}", "one whose queries are proportional to its numbers, such as a full W")
