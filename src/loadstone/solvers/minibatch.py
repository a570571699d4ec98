"""Stochastic gradient descent: a step after every minibatch, in a new random order each round."""

from __future__ import annotations

from dataclasses import dataclass

import jax
from jaxtyping import Array, Float, PyTree

from loadstone.arguments import positive, set_as, whole
from loadstone.solvers.blocks import InBlocks


@dataclass(frozen=True)
class Minibatch(InBlocks):
    """Plain steps against the gradient of one minibatch after the other.

    batch: how many associations a minibatch has; the default takes all of them if there are fewer.
    learning_rate: the same at every step.
    """

    batch: int = 16
    learning_rate: float = 0.2

    def __post_init__(self) -> None:
        set_as(self, "batch", whole("batch", self.batch, 1, 2**31 - 1))
        set_as(self, "learning_rate", positive("learning_rate", self.learning_rate))

    def move(
        self, parameters: PyTree, loss: Float[Array, ""], gradient: PyTree, state: PyTree
    ) -> tuple[PyTree, PyTree]:
        return jax.tree.map(lambda old, slope: old - self.learning_rate * slope, parameters, gradient), state
