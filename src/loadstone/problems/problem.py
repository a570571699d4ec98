"""What a problem must have: a pass over the outputs that compete for each association. Everything else builds on it."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from loadstone.arguments import refuse
from loadstone.forks import check_not_forked
from loadstone.given_arrays import real_array
from loadstone.kernels.recall import Recall, Slope
from loadstone.trees import is_told_apart

if TYPE_CHECKING:
    from loadstone.problems.arrays import Arrays

#: From W to the recall of the queries W e, and the gradient of the summed loss with respect to W.
LinearStep = Callable[[Float[Array, "d d"]], tuple[Recall, Float[Array, "d d"]]]
#: From any memory to the loss, summed with the shares as weights, the recall of its queries, and the gradient of this
#: sum with respect to the memory's arrays of real numbers.
MemoryStep = Callable[[Any], tuple[Float[Array, ""], Recall, list[Array]]]


class Problem(abc.ABC):
    """n associations to be stored in a memory of dimension d.

    Problems are immutable pytrees: they cross `jit`, and problems of equal shape may be stacked and mapped over.
    Solvers know a problem only through the fields below and its pass, which `problems/loss.py` makes differentiable.

    inputs: the inputs e, one a row.
    target_outputs: for each association, its target.
    targets: for each association, the index of its target among its competing outputs.
    description: in words, how outputs are held and in which precision.
    shares: the weight of each association in the loss; None: all weigh the same.
    """

    # A subclass may have these as fields or as properties.
    if TYPE_CHECKING:

        @property
        def inputs(self) -> Float[Array, "n d"]: ...
        @property
        def target_outputs(self) -> Float[Array, "n d"]: ...
        @property
        def targets(self) -> Int[Array, "n"]: ...
        @property
        def description(self) -> str: ...
        @property
        def shares(self) -> Float[Array, "n"] | None: ...

    @abc.abstractmethod
    def recall(self, queries: Float[Array, "n d"], precision: str = "float32") -> Recall:
        """One pass: what each query finds among the outputs of the association in the same row."""

    @abc.abstractmethod
    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        """All scores of a few associations, given by their rows. The target of row mu is at `targets[mu]`."""

    @abc.abstractmethod
    def arrays(self) -> Arrays:
        """The instance as plain arrays with all outputs: what a proof is about."""

    @property
    @abc.abstractmethod
    def competitors(self) -> int:
        """How many outputs compete for each association, its target among them."""

    @property
    def associations(self) -> Int[Array, ""] | int:
        return self.inputs.shape[-2]

    def slopes(self, queries: Float[Array, "n d"], precision: str = "float32") -> tuple[Recall, Slope]:
        """A pass, and the derivative of each loss with respect to its query: the pull minus the target.

        Passes that round their outputs override this and round the target in the same way, so that a perfect memory has
        slopes of exactly zero.
        """
        recall = self.recall(queries, precision)
        return recall, recall.pull - self.target_outputs

    def linear_step(self, precision: str = "float32") -> LinearStep | None:
        """A program that does, from W, a pass with the queries W e and the gradient of the summed loss in one go; None
        if there is no such program here."""
        return None

    def memory_step(self, precision: str = "float32") -> MemoryStep | None:
        """Like `linear_step`, from any memory: for problems whose pass JAX does not differentiate as it stands."""
        return None

    def prepared(self, precision: str) -> Problem:
        """The same problem for many passes in this precision: what each of them would do again is done once."""
        return self

    def gains_from_split(self) -> bool:
        """Whether passes with split numbers can be expected to take less time than passes in float32, which have more
        digits."""
        return False

    def part(self, rows: Int[Array, "b"], counted: Bool[Array, "b"]) -> Problem | None:
        """Some of the associations, given by their rows, with every output still competing; those that are not
        `counted` have no weight in the loss. None if the problem has no parts."""
        return None

    def in_float16(self) -> Problem:
        """The same instance for passes in float16, with outputs rounded where that makes reading them faster."""
        return self

    def in_float32(self) -> Problem:
        """The same instance with no output rounded below float32, for final measurements."""
        return self

    def in_float64(self) -> Problem | None:
        """The same instance for passes in float64, with every digit that was given; None if there is none. Called
        only while JAX has float64 switched on."""
        return None

    def weighted(self, shares: ArrayLike) -> Self:
        """The same problem, in which association mu has the weight `shares[mu]` in the loss."""
        n = self.inputs.shape[0]
        with np.errstate(over="ignore"):  # what is too large is refused below
            array = real_array("shares", shares, f"{n} numbers, one share for each association").astype(np.float32)
        if array.shape != (n,):
            raise refuse("shares.shape", array.shape, f"({n},), one share for each association")
        if not np.isfinite(array).all() or (array < 0).any() or not array.any():
            raise refuse("shares", f"in {array.min()}..{array.max()}", "finite, none negative, and not all zero")
        return replace(self, shares=jnp.asarray(array))  # type: ignore[type-var]


class PassWithSlopes(Problem):
    """A problem whose pass makes the slopes as well: a subclass defines `slopes`, and the recall is a part of it."""

    @abc.abstractmethod
    def slopes(self, queries: Float[Array, "n d"], precision: str = "float32") -> tuple[Recall, Slope]: ...

    def recall(self, queries: Float[Array, "n d"], precision: str = "float32") -> Recall:
        return self.slopes(queries, precision)[0]


def require_problem(problem: object, name: str = "problem") -> Problem:
    """Refuse what is no problem at all, without a look at its arrays."""
    if not isinstance(problem, Problem):
        raise refuse(name, type(problem).__name__, "a Problem, such as facts(...) or original(...)")
    return problem


def check_problem(problem: object) -> Problem:
    """Refuse anything but a problem whose arrays fit together, and all in a process in which JAX cannot be used."""
    check_not_forked()
    problem = require_problem(problem)
    if not is_told_apart(type(problem)):
        why = "because JAX, in some versions, confuses classes that register_dataclass has registered"
        raise refuse("problem", type(problem).__name__, f"of a class registered with loadstone.trees.tree, {why}")
    if problem.inputs.ndim != 2 or 0 in problem.inputs.shape:
        raise refuse("inputs.shape", problem.inputs.shape, "(n, d) with n and d of at least 1")
    n = problem.inputs.shape[0]
    if problem.targets.shape != (n,):
        raise refuse("targets.shape", problem.targets.shape, f"({n},), one target for each input")
    targets = np.asarray(problem.targets)[: int(problem.associations)]
    if targets.min() < 0 or targets.max() >= problem.competitors:
        raise refuse("targets", f"in {targets.min()}..{targets.max()}", f"in 0..{problem.competitors - 1}")
    return problem
