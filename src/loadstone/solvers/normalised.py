"""Normalised gradient descent with momentum: every step has the same length.

Once most associations are stored the gradient is tiny, and plain descent all but stands still. What is recalled does
not depend on the length of W, so steps of one length turn W less and less as it grows, without any schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree

from loadstone.arguments import positive, refuse, set_as
from loadstone.solvers.search import Scalar
from loadstone.solvers.solver import Iterative


@dataclass(frozen=True)
class Normalised(Iterative):
    """Steps of one length along a running mean of the directions of the gradient.

    learning_rate: the length of a step.
    momentum: the share of the last mean that is kept, in [0, 1).
    """

    learning_rate: float = 0.3
    momentum: float = 0.9

    def __post_init__(self) -> None:
        set_as(self, "learning_rate", positive("learning_rate", self.learning_rate))
        if isinstance(self.momentum, bool) or not isinstance(self.momentum, int | float) or not 0 <= self.momentum < 1:
            raise refuse("momentum", self.momentum, "a number in [0, 1)")
        set_as(self, "momentum", float(self.momentum))

    def start(self, parameters: PyTree) -> PyTree:
        return jax.tree.map(jnp.zeros_like, parameters)

    def move(self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: PyTree) -> tuple[PyTree, PyTree]:
        kept = self.momentum
        direction = _unit(gradient)
        mean = jax.tree.map(lambda old, new: kept * old + (1 - kept) * new, state, direction)
        step = _unit(mean)
        return jax.tree.map(lambda old, new: old - self.learning_rate * new, parameters, step), mean


def _unit(tree: PyTree) -> PyTree:
    """The tree divided by its length; zero if its length is zero."""
    length = optax.tree.norm(tree)
    return jax.tree.map(lambda leaf: jnp.where(length > 0, leaf / jnp.where(length > 0, length, 1), 0), tree)
