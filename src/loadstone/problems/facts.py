"""Associations with shared outputs: N inputs and M outputs; several inputs may have the same target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from loadstone.arguments import refuse, whole
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.recall import Recall, Slope, rows_of
from loadstone.kernels.shared_xla import shared_scores
from loadstone.kernels.table import Case, is_split_faster, kernel, shared_case, shared_pass
from loadstone.problems.arrays import Arrays, exact_floats
from loadstone.problems.prepared import prepared
from loadstone.problems.problem import LinearStep, PassWithSlopes, Problem
from loadstone.trees import tree

#: How many scores are in memory at a time, by platform: on a CPU a block of them should fit into the last cache.
_SCORES_PER_BLOCK = {"cpu": 3_000_000, "gpu": 200_000_000}


@dataclass(frozen=True, eq=False)
class Given:
    """An instance as it was given. Compiled programs do not use it, so all instances compare equal for JAX. A compiled
    function must not return a problem for that reason: every call would return the instance of the first.

    arrays: the instance; None if the problem's own arrays hold it exactly.
    """

    arrays: Arrays | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given)

    def __hash__(self) -> int:
        return 0


@tree(data=["inputs", "outputs", "targets", "shares"], meta=["block", "description", "given", "isotropic"])
@dataclass(frozen=True)
class Facts(PassWithSlopes):
    """Input n has the output `targets[n]` as its target, and every other output competes.

    outputs: the outputs, one a row, shared by all inputs.
    inputs, targets, description, shares: see Problem.
    block: how many inputs a pass in XLA takes at a time.
    given: the instance as it was given, if its numbers have more digits than these arrays.
    isotropic: whether no direction of the inputs or outputs is special, so that no coordinates are better than these.
    """

    inputs: Float[Array, "n d"]
    outputs: Float[Array, "m d"]
    targets: Int[Array, "n"]
    block: int
    description: str = "outputs shared"
    shares: Float[Array, "n"] | None = None
    given: Given = field(default_factory=Given)
    isotropic: bool = False

    def __post_init__(self) -> None:
        parts = self.inputs, self.outputs, self.targets
        if not all(hasattr(part, "shape") for part in parts):  # JAX also builds problems with placeholders
            return
        inputs, outputs, targets = (part.shape for part in parts)
        if len(inputs) < 2 or 0 in inputs or 0 in outputs or outputs[-1:] != inputs[-1:]:
            raise refuse("inputs and outputs", f"of shapes {inputs} and {outputs}", "of shapes (n, d) and (m, d)")
        if targets != inputs[:-1] or not jnp.issubdtype(self.targets.dtype, jnp.integer):
            raise refuse("targets", f"{self.targets.dtype}{targets}", f"whole numbers of shape {inputs[:-1]}")
        whole("block", self.block, 1)

    @property
    def target_outputs(self) -> Float[Array, "n d"]:
        return rows_of(self.outputs, self.targets)

    @property
    def competitors(self) -> int:
        return self.outputs.shape[-2]

    def slopes(
        self, queries: Float[Array, "n d"], precision: str = "float32", count: Int[Array, ""] | None = None
    ) -> tuple[Recall, Slope]:
        """Recall and slopes. Of a padded problem only the first `count` inputs and outputs count."""
        return shared_pass(queries, self.shared_outputs(count), precision)

    def linear_step(self, precision: str = "float32") -> LinearStep | None:
        step = kernel("linear_step", self._case(precision))
        return step and (lambda weights: step(weights, self.inputs, self.shared_outputs()))

    def prepared(self, precision: str) -> Problem:
        return prepared(self, self, None, precision)

    def gains_from_split(self) -> bool:
        return is_split_faster(self._case("split"))

    def shared_outputs(self, count: Int[Array, ""] | None = None) -> SharedOutputs:
        """The outputs as a pass takes them; if `count` is given, only the first `count` inputs and outputs count."""
        return SharedOutputs(self.outputs, self.targets, self.block, count)

    def _case(self, precision: str) -> Case:
        return shared_case(self.inputs, self.shared_outputs(), precision)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        return shared_scores(queries, self.outputs, "float32")

    def part(self, rows: Int[Array, "b"], counted: Bool[Array, "b"]) -> Facts:
        weights = jnp.ones(self.inputs.shape[-2], self.inputs.dtype) if self.shares is None else self.shares
        shares = jnp.where(counted, weights[rows], 0)
        return replace(self, inputs=self.inputs[rows], targets=self.targets[rows], shares=shares)

    def in_float32(self) -> Facts:
        return self

    def in_float64(self) -> Facts:
        arrays = self.given.arrays
        inputs, outputs = (self.inputs, self.outputs) if arrays is None else (arrays.inputs, arrays.outputs)
        return replace(self, inputs=_double(inputs), outputs=_double(outputs))

    def arrays(self) -> Arrays:
        return self.given.arrays or Arrays(*(np.asarray(part) for part in (self.inputs, self.outputs, self.targets)))


def facts(
    inputs: ArrayLike,
    outputs: ArrayLike,
    *,
    targets: ArrayLike | None = None,
    shares: ArrayLike | None = None,
    block: int | None = None,
) -> Facts:
    """The problem of storing given facts: input n must recall output `targets[n]` (default: output n).

    `shares` are the weights of the facts in the loss. Passes are done in float32 (in float64 where JAX has it switched
    on); numbers with more digits are kept for proofs, and the problem's description says that they were rounded.

    Example:
        >>> problem = loadstone.facts([[1, 0], [0, 1], [1, 1]], [[2, 0], [0, 2]], targets=[0, 1, 1])
        >>> problem.description, problem.competitors, loadstone.decide(problem).verdict.value
        ('outputs shared', 2, 'storable')
    """
    inputs, outputs = _matrix("inputs", inputs), _matrix("outputs", outputs)
    n, m = inputs.shape[0], outputs.shape[0]
    if targets is None and n != m:
        raise refuse("targets", None, f"given, because {n} inputs and {m} outputs do not pair one to one")
    given = Arrays(inputs, outputs, np.arange(n) if targets is None else np.asarray(targets))
    with np.errstate(over="ignore"):  # what is too large is refused below
        kind = np.float64 if jax.config.read("jax_enable_x64") else np.float32
        single = [part.astype(kind) for part in (inputs, outputs)]
    for name, part in zip(("inputs", "outputs"), single):
        if not np.isfinite(part).all():
            raise refuse(name, "beyond 3.4e38 in size", "within the range of float32: divide all of them by one number")
    exact = all((part == whole).all() for part, whole in zip(single, (inputs, outputs)))
    description = "outputs shared" if exact else f"outputs shared, float64 rounded to {single[0].dtype}"
    # Put on the device as they are: `jnp.asarray` would compile a program for each shape.
    vectors, indices = [jax.device_put(part) for part in single], jax.device_put(given.targets.astype(np.int32))
    kept = Given(None if exact else given)
    problem = Facts(vectors[0], vectors[1], indices, block or block_rows(n, m), description, given=kept)
    return problem if shares is None else problem.weighted(shares)


def facts_of(arrays: Arrays, isotropic: bool = False) -> Facts:
    """The problem of an instance with shared outputs; isotropic: as in `Facts`."""
    return replace(facts(arrays.inputs, arrays.outputs, targets=arrays.targets), isotropic=isotropic)


def _double(array: Array | np.ndarray) -> Float[Array, "..."]:
    return jnp.asarray(array, jnp.float64)


def _matrix(name: str, value: ArrayLike) -> np.ndarray:
    array = exact_floats(name, value)
    if array.ndim != 2 or 0 in array.shape:
        raise refuse(f"{name}.shape", array.shape, "two sizes of at least 1, one embedding a row")
    return array


def block_rows(n: int, m: int) -> int:
    """How many of n inputs a pass over m outputs takes at a time on the present device."""
    scores = _SCORES_PER_BLOCK["cpu" if jax.default_backend() == "cpu" else "gpu"]
    return max(1, min(n, max(128, scores // m)))
