"""One problem over several devices: every device has some of the associations, and does their part of the pass.

Of the original problem each device has its inputs, and all outputs, or a part of them that is passed round
(kernels/shared_ring.py). Of the decoupled problem each device has its associations with their outputs. Only three
numbers an association, and sums, go from device to device: the loss, and its gradient with respect to the memory, which
every device holds whole. A solver sees none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int

from loadstone.kernels.recall import Recall, Slope, without_padding
from loadstone.kernels.shared_ring import ring_pass
from loadstone.problems.arrays import Arrays
from loadstone.problems.decoupled import Regenerated, Stored
from loadstone.problems.facts import Facts, facts
from loadstone.problems.loss import is_real, queries_of
from loadstone.problems.problem import MemoryStep
from loadstone.problems.separate import Separate
from loadstone.problems.wrapper import Wrapper
from loadstone.trees import tree

#: The axis of the mesh. Arrays are cut along their rows, or are the same on every device.
AXIS = "devices"
ROWS, WHOLE = PartitionSpec(AXIS), PartitionSpec()
#: Arrays that are not cut; the outputs of Facts are, if they are passed round.
_NOT_CUT = ("outputs", "key")
#: Where the parts of a recall are: scores on every device, pulls with their associations.
_RECALL: Any = WHOLE, WHOLE, WHOLE, ROWS

Pieces = Facts | Regenerated | Stored | Separate


@tree(data=["pieces"], meta=["mesh", "count", "outputs", "ring"])
@dataclass(frozen=True)
class Spread(Wrapper):
    """A problem whose rows are spread over the devices of a mesh.

    pieces: the problem, with as many rows of padding at its end as are needed for devices to have equally many.
    mesh: the devices.
    count: the number of true associations.
    outputs: how many outputs compete for each.
    ring: whether shared outputs are spread, too, and passed round.
    """

    pieces: Pieces
    mesh: Mesh
    count: int
    outputs: int
    ring: bool = False

    @property
    def _wrapped(self) -> Pieces:
        return self.pieces

    @property
    def description(self) -> str:
        held = ", outputs passed round" if self.ring else ""
        number = f"{self.mesh.size} device{'s' if self.mesh.size > 1 else ''}"
        return f"{self.pieces.description}{held}, over {number}"

    @property
    def associations(self) -> int:
        return self.count

    @property
    def competitors(self) -> int:
        return self.outputs

    def recall(self, queries: Float[Array, "rows d"], precision: str = "float32") -> Recall:
        return self.slopes(queries, precision)[0]

    def slopes(self, queries: Float[Array, "rows d"], precision: str = "float32") -> tuple[Recall, Slope]:
        def here(pieces: Pieces, queries: Float[Array, "part d"]) -> tuple[Recall, Slope]:
            recall, slope = self._here(pieces, queries, precision)
            return _scores_everywhere(recall), slope

        found = Recall(*_RECALL), ROWS
        return self._everywhere(here, (self._specs(), ROWS), found)(self.pieces, queries)

    def memory_step(self, precision: str = "float32") -> MemoryStep:
        """Each device does the queries of its inputs, their pass, and its part of the gradient."""

        def here(pieces: Pieces, memory: Any) -> tuple[Float[Array, ""], Recall, list[Array]]:
            leaves, structure = jax.tree.flatten(memory)

            def made(real: list[Array]) -> Float[Array, "part d"]:
                given = iter(real)
                whole = jax.tree.unflatten(structure, [next(given) if is_real(leaf) else leaf for leaf in leaves])
                return queries_of(whole, pieces.inputs, precision)

            queries, back = jax.vjp(made, [leaf for leaf in leaves if is_real(leaf)])
            recall, slope = self._here(pieces, queries, precision)
            shares = jnp.ones_like(recall.loss) if pieces.shares is None else pieces.shares.astype(recall.loss.dtype)
            (gradient,) = back(shares[:, None] * slope)
            total, gradient = lax.psum(((shares * recall.loss).sum(), gradient), AXIS)
            return total, _scores_everywhere(recall), gradient

        found = WHOLE, Recall(*_RECALL), WHOLE
        step = self._everywhere(here, (self._specs(), WHOLE), found)
        return lambda memory: step(self.pieces, memory)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        return self.pieces.scores(queries, rows)[:, : self.outputs]

    def arrays(self) -> Arrays:
        n, pieces = self.count, self.pieces.source if isinstance(self.pieces, Stored) else self.pieces
        if isinstance(pieces, Regenerated):
            return replace(pieces, inputs=pieces.inputs[:n], target_outputs=pieces.target_outputs[:n]).arrays()
        if isinstance(pieces, Separate):
            parts = pieces.inputs[:n], pieces.outputs[:n], pieces.targets[:n]
            return Separate(*parts).arrays()
        whole = pieces.inputs[:n], pieces.outputs[: self.outputs], pieces.targets[:n]
        return pieces.given.arrays or Arrays(*(np.asarray(part) for part in whole))

    def in_float32(self) -> Spread:
        return replace(self, pieces=self.pieces.in_float32())

    def in_float64(self) -> Spread:
        if isinstance(self.pieces, Facts) and self.pieces.given.arrays is not None:
            from loadstone.problems.spreading import laid_out  # here, because it imports this class

            return laid_out(self.together(), self.mesh, self.ring)
        return replace(self, pieces=self.pieces.in_float64())

    def together(self) -> Facts:
        """Facts in one place again, with every digit that was given."""
        assert isinstance(self.pieces, Facts)
        arrays = self.arrays()
        shares = None if self.shares is None else np.asarray(self.shares)[: self.count]
        made = facts(arrays.inputs, arrays.outputs, arrays.targets, shares)
        return replace(made, description=self.pieces.description, isotropic=self.pieces.isotropic)

    def _everywhere(self, here: Callable, of_arguments: tuple, of_results: Any) -> Callable:
        # JAX cannot see what a fused kernel does to the axes of a mesh, so it is told not to look.
        return jax.shard_map(here, mesh=self.mesh, in_specs=of_arguments, out_specs=of_results, check_vma=False)

    def _specs(self) -> Any:
        """How each array of the pieces is cut."""

        def cut(path: tuple, leaf: Any) -> PartitionSpec:
            whole = getattr(path[-1], "name", "") in _NOT_CUT and isinstance(self.pieces, Facts | Regenerated | Stored)
            return WHOLE if whole and not (self.ring and path[-1].name == "outputs") else ROWS

        return jax.tree_util.tree_map_with_path(cut, self.pieces)

    def _here(self, pieces: Pieces, queries: Float[Array, "part d"], precision: str) -> tuple[Recall, Slope]:
        """The pass of one device over its associations."""
        rows = pieces.inputs.shape[0]
        first = lax.axis_index(AXIS).astype(jnp.int32) * rows
        if isinstance(pieces, Facts) and self.ring:
            recall, slope = ring_pass(queries, pieces.shared_outputs(), precision, self.outputs, AXIS)
        else:
            recall, slope = _from(pieces, first).slopes(queries, precision)
        count = jnp.clip(self.count - first, 0, rows)
        return without_padding(recall, slope, count, recall.pull)


def _from(pieces: Pieces, first: Int[Array, ""]) -> Pieces:
    """A part of a problem that knows the number of its first association."""
    if isinstance(pieces, Regenerated):
        return replace(pieces, first=first)
    if isinstance(pieces, Stored):
        return replace(pieces, source=replace(pieces.source, first=first))
    return pieces


def _scores_everywhere(recall: Recall) -> Recall:
    """Scores of all associations on every device, so that each can count them."""
    target, rival, logsumexp = (lax.all_gather(part, AXIS, tiled=True) for part in recall[:3])
    return Recall(target, rival, logsumexp, recall.pull)
