"""Solvers that follow the gradient: the paper's protocol, and any optimiser of optax."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import optax
import optax.contrib
from jaxtyping import Array, Int, PyTree

from loadstone.arguments import choice, positive, set_as, whole
from loadstone.solvers.search import Scalar
from loadstone.solvers.solver import Iterative

#: The optimisers of optax that need a gradient and a learning rate, and nothing else.
OPTIMISERS = (
    "adabelief", "adagrad", "adam", "adamax", "adamw", "adan", "amsgrad", "lamb", "lion", "muon", "nadam", "novograd",
    "radam", "rmsprop", "rprop", "sgd", "sign_sgd", "sm3", "yogi",
)  # fmt: skip


class Optimiser(Iterative):
    """A solver that steps by a transformation of gradients (optax)."""

    @abc.abstractmethod
    def transformation(self) -> optax.GradientTransformation:
        """The transformation that turns gradients into steps."""

    def start(self, parameters: PyTree) -> PyTree:
        return self.transformation().init(parameters)

    def move(self, parameters: PyTree, loss: Scalar, gradient: PyTree, state: PyTree) -> tuple[PyTree, PyTree]:
        updates, state = self.transformation().update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state


@dataclass(frozen=True)
class Paper(Optimiser):
    """The paper's protocol: Adam, linear warm-up, then cosine decay. The paper leaves the length of the warm-up open.

    learning_rate: the highest learning rate of the schedule.
    steps: most steps; the schedule ends there.
    warmup: how many of the steps the learning rate takes to rise.
    """

    learning_rate: float = 1e-2
    steps: int = 512
    warmup: int = 32

    def __post_init__(self) -> None:
        set_as(self, "learning_rate", positive("learning_rate", self.learning_rate))
        set_as(self, "steps", whole("steps", self.steps, 1, 10**9))
        set_as(self, "warmup", whole("warmup", self.warmup, 0, self.steps - 1))

    def rate(self, step: Int[Array, ""]) -> Scalar:
        """Linear from learning_rate / (warmup + 1) to learning_rate over the warm-up, then a half cosine to 0."""
        low, high = self.learning_rate / (self.warmup + 1), self.learning_rate
        return optax.warmup_cosine_decay_schedule(low, high, self.warmup, self.steps)(step)

    def transformation(self) -> optax.GradientTransformation:
        return optax.adam(self.rate)

    def stop(self) -> str:
        return "paper"

    def schedule(self) -> int:
        return self.steps + 1  # the memory is measured before each step and after the last


@dataclass(frozen=True)
class Optax(Optimiser):
    """An optimiser of optax, with its other settings at optax's defaults; `optimiser(name)` is its class.

    learning_rate: the same at every step.
    """

    learning_rate: float = 1e-2
    name: ClassVar[str]

    def __post_init__(self) -> None:
        set_as(self, "learning_rate", positive("learning_rate", self.learning_rate))

    def transformation(self) -> optax.GradientTransformation:
        # Newer optimisers are in optax.contrib until their interface is stable.
        make = getattr(optax, self.name, None) or getattr(optax.contrib, self.name)
        return make(self.learning_rate)


@cache
def optimiser(name: str) -> type[Optax]:
    """The class of solvers for one name of OPTIMISERS."""
    return type(name, (Optax,), {"name": choice("name", name, OPTIMISERS)})


@dataclass(frozen=True)
class Given(Optimiser):
    """Any transformation of gradients, such as optax.chain(...). It is compared by identity, so make it only once.

    chain: the transformation.
    """

    chain: Any

    def transformation(self) -> optax.GradientTransformation:
        return self.chain
