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

from loadstone.arguments import refuse, true_or_false
from loadstone.kernels.recall import Recall, Slope, without_padding
from loadstone.kernels.shared_ring import ring_pass
from loadstone.problems.arrays import Arrays
from loadstone.problems.decoupled import Regenerated, Stored
from loadstone.problems.facts import Facts, block_rows, facts
from loadstone.problems.loss import is_real, queries_of
from loadstone.problems.mesh import AXIS, ROWS, WHOLE, made_on_devices, mesh_of, numbers_here, placed, rows_each
from loadstone.problems.problem import MemoryStep, Problem
from loadstone.problems.separate import Separate
from loadstone.problems.wrapper import Wrapper
from loadstone.streams.embeddings import decoupled_vectors
from loadstone.trees import tree

#: Arrays that are not cut; the outputs of Facts are, if they are passed round.
_NOT_CUT = ("outputs", "key")
#: Stored outputs are split into arrays of at most this many numbers a device: see problems/decoupled.py.
_NUMBERS = 2**30
#: Where the parts of a recall are: scores on every device, pulls with their associations.
_RECALL: Any = Recall(WHOLE, WHOLE, WHOLE, ROWS)  # type: ignore[arg-type]

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
        ring = ", outputs passed round" if self.ring else ""
        number = f"{self.mesh.size} device{'s' if self.mesh.size > 1 else ''}"
        return f"{self.pieces.description}{ring}, over {number}"

    @property
    def associations(self) -> int:
        return self.count

    @property
    def competitors(self) -> int:
        return self.outputs

    def slopes(self, queries: Float[Array, "rows d"], precision: str = "float32") -> tuple[Recall, Slope]:
        def here(pieces: Pieces, queries: Float[Array, "part d"]) -> tuple[Recall, Slope]:
            recall, slope = self._pass(pieces, queries, precision)
            return _scores_everywhere(recall), slope

        return self._on_devices(here, (self._specs(), ROWS), (_RECALL, ROWS))(self.pieces, queries)

    def memory_step(self, precision: str = "float32") -> MemoryStep:
        """Each device does the queries of its inputs, their pass, and its part of the gradient."""

        def here(pieces: Pieces, memory: Any) -> tuple[Float[Array, ""], Recall, list[Array]]:
            leaves, structure = jax.tree.flatten(memory)

            def queries_of_real(real: list[Array]) -> Float[Array, "part d"]:
                given = iter(real)
                whole = jax.tree.unflatten(structure, [next(given) if is_real(leaf) else leaf for leaf in leaves])
                return queries_of(whole, pieces.inputs, precision)

            queries, back = jax.vjp(queries_of_real, [leaf for leaf in leaves if is_real(leaf)])
            recall, slope = self._pass(pieces, queries, precision)
            shares = jnp.ones_like(recall.loss) if pieces.shares is None else pieces.shares.astype(recall.loss.dtype)
            (gradient,) = back(shares[:, None] * slope)
            total, gradient = lax.psum(((shares * recall.loss).sum(), gradient), AXIS)
            return total, _scores_everywhere(recall), gradient

        step = self._on_devices(here, (self._specs(), WHOLE), (WHOLE, _RECALL, WHOLE))
        return lambda memory: step(self.pieces, memory)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        # Of several stored arrays each device has some rows, so they are not in the order of the associations.
        pieces = self.pieces
        if isinstance(pieces, Stored) and len(pieces.parts) > 1:
            pieces = pieces.source
        return pieces.scores(queries, rows)[:, : self.outputs]

    def arrays(self) -> Arrays:
        n, pieces = self.count, self.pieces
        if isinstance(pieces, Regenerated | Stored):
            changes: dict[str, Any] = {"inputs": pieces.inputs[:n], "target_outputs": pieces.target_outputs[:n]}
            if isinstance(pieces, Stored) and pieces.parts is pieces.rounded:
                pieces = pieces.source
            if isinstance(pieces, Stored):
                in_order = _in_order(pieces.parts, self.mesh.size)[:n]
                changes |= {"parts": (in_order,), "source": replace(pieces.source, **changes)}
            return replace(pieces, **changes).arrays()
        if isinstance(pieces, Separate):
            return Separate(pieces.inputs[:n], pieces.outputs[:n], pieces.targets[:n]).arrays()
        inputs, outputs, targets = pieces.inputs[:n], pieces.outputs[: self.outputs], pieces.targets[:n]
        return replace(pieces, inputs=inputs, outputs=outputs, targets=targets).arrays()

    def in_float32(self) -> Spread:
        return replace(self, pieces=self.pieces.in_float32())

    def in_float64(self) -> Spread:
        if isinstance(self.pieces, Facts) and self.pieces.given is not None:
            return laid_out(self.together(), self.mesh, self.ring)
        return replace(self, pieces=self.pieces.in_float64())

    def together(self) -> Facts:
        """Facts in one place again, with every digit that was given."""
        assert isinstance(self.pieces, Facts)
        arrays = self.arrays()
        shares = None if self.shares is None else np.asarray(self.shares)[: self.count]
        problem = facts(arrays.inputs, arrays.outputs, targets=arrays.targets, shares=shares)
        return replace(problem, description=self.pieces.description, isotropic=self.pieces.isotropic)

    def _on_devices(self, here: Callable, of_arguments: tuple, of_results: Any) -> Callable:
        # JAX cannot see what a fused kernel does to the axes of a mesh, so its check is switched off.
        return jax.shard_map(here, mesh=self.mesh, in_specs=of_arguments, out_specs=of_results, check_vma=False)

    def _specs(self) -> Any:
        """How each array of the pieces is cut."""

        def cut(path: tuple, leaf: Any) -> PartitionSpec:
            whole = getattr(path[-1], "name", "") in _NOT_CUT and isinstance(self.pieces, Facts | Regenerated | Stored)
            return WHOLE if whole and not (self.ring and path[-1].name == "outputs") else ROWS

        return jax.tree_util.tree_map_with_path(cut, self.pieces)

    def _pass(self, pieces: Pieces, queries: Float[Array, "part d"], precision: str) -> tuple[Recall, Slope]:
        """The pass of one device over its associations."""
        rows = pieces.inputs.shape[0]
        first = lax.axis_index(AXIS).astype(jnp.int32) * rows
        if isinstance(pieces, Facts) and self.ring:
            recall, slope = ring_pass(queries, pieces.shared_outputs(), precision, self.outputs, AXIS)
        else:
            recall, slope = _numbered(pieces, first).slopes(queries, precision)
        count = jnp.clip(self.count - first, 0, rows)
        return without_padding(recall, slope, count, recall.pull)


def _numbered(pieces: Pieces, first: Int[Array, ""]) -> Pieces:
    """A part of a problem that knows the number of its first association."""
    if isinstance(pieces, Regenerated):
        return replace(pieces, first=first)
    if isinstance(pieces, Stored):
        return replace(pieces, source=replace(pieces.source, first=first))
    return pieces


def _in_order(parts: tuple[Array, ...], devices: int) -> Float[np.ndarray, "n d m"]:
    """Stored outputs in the order of their associations: every device has some rows of each part."""
    by_device = [np.asarray(part).reshape(devices, -1, *part.shape[1:]) for part in parts]
    return np.concatenate(by_device, axis=1).reshape(-1, *parts[0].shape[1:])


def _scores_everywhere(recall: Recall) -> Recall:
    """Scores of all associations on every device, so that each can count them."""
    target, rival, logsumexp = (lax.all_gather(part, AXIS, tiled=True) for part in recall[:3])
    return Recall(target, rival, logsumexp, recall.pull)


def spread(problem: Problem, devices: int, *, ring: bool = False) -> Spread:
    """A problem over several devices. Any memory and any solver can store it as before.

    devices: how many.
    ring: whether shared outputs are cut, too, and passed round, instead of being held by every device.

    Example:
        >>> from loadstone.problems.spread import spread
        >>> spread(loadstone.original(loadstone.Stream(0, 4), 6), 1).description
        'original, outputs shared, over 1 device'
    """
    if not isinstance(problem, Facts | Regenerated | Stored | Separate):
        raise refuse("problem", type(problem).__name__, "one that can be cut: facts, original or decoupled, not padded")
    if true_or_false("ring", ring) and not isinstance(problem, Facts):
        raise refuse("ring", ring, "False for a decoupled problem, whose outputs are cut with its inputs")
    return laid_out(problem, mesh_of(devices), ring)


def laid_out(problem: Pieces, mesh: Mesh, ring: bool = False) -> Spread:
    """A problem in one place, spread over the devices of a mesh."""
    n, m = problem.inputs.shape[0], problem.competitors
    rows = rows_each(n, mesh) * mesh.size
    cut = lambda array: None if array is None else placed(array, mesh, ROWS, rows)  # noqa: E731
    changes: dict[str, Any] = {"inputs": cut(problem.inputs), "shares": cut(problem.shares)}
    if isinstance(problem, Facts):
        cut_outputs = (ROWS, rows_each(m, mesh) * mesh.size) if ring else (WHOLE,)
        changes["outputs"] = placed(problem.outputs, mesh, *cut_outputs)
        changes["targets"] = placed(problem.targets, mesh, WHOLE, rows)
        changes["block"] = block_rows(rows // mesh.size, m)
    elif isinstance(problem, Separate):
        changes |= {"outputs": cut(problem.outputs), "targets": cut(problem.targets)}
    else:
        changes["target_outputs"] = cut(problem.target_outputs)
        source = problem.source if isinstance(problem, Stored) else problem
        regenerated = replace(source, **changes, key=placed(source.key, mesh, WHOLE), outputs_each=m)
        if isinstance(problem, Stored):
            return Spread(stored_on_devices(regenerated, mesh, str(problem.parts[0].dtype)), mesh, n, m)
        return Spread(regenerated, mesh, n, m)
    return Spread(replace(problem, **changes), mesh, n, m, ring)


def stored_on_devices(source: Regenerated, mesh: Mesh, dtype: str) -> Stored:
    """The outputs of a problem that is spread, stored where they are needed."""
    m, d = source.competitors, source.inputs.shape[1]
    each = source.inputs.shape[0] // mesh.size
    rows = -(-each // -(-each // max(1, _NUMBERS // (m * d))))

    def part(after: int, count: int) -> Float[Array, "count d m"]:
        numbers = lambda: numbers_here(count, after, each)  # noqa: E731
        make = lambda key: decoupled_vectors(key, numbers(), m, d, source.law).astype(dtype)  # noqa: E731
        return made_on_devices(make, mesh, ROWS, source.key)

    parts = tuple(part(after, min(rows, each - after)) for after in range(0, each, rows))
    description = f"decoupled, outputs stored in {dtype}"
    rounded = None if dtype == "float32" else parts
    return Stored(source.inputs, source.target_outputs, parts, source, description, source.shares, rounded)
