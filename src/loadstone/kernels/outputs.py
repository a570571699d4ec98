"""What a pass is given: queries, and the outputs that each of them is compared with, held in one of three ways.

Outputs are shared by all queries, stored for each query, or regenerated for each query whenever a pass needs them. A
kernel is a function of queries, outputs and a precision, one function for each way that it serves; `table.py` checks
what it is given and chooses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from loadstone.arguments import refuse
from loadstone.kernels.recall import Recall, Slope
from loadstone.streams.counters import Key
from loadstone.trees import tree

Outputs = TypeVar("Outputs", contravariant=True)


class Pass(Protocol[Outputs]):
    """A kernel: from queries to their recall, and the derivative of each loss with respect to its query."""

    def __call__(self, queries: Float[Array, "n d"], outputs: Outputs, precision: str) -> tuple[Recall, Slope]: ...


@tree(data=["array", "targets", "count"], meta=["block"])
@dataclass(frozen=True)
class SharedOutputs:
    """Outputs that every query is compared with.

    array: the outputs, one a row.
    targets: for each query, the row of its target.
    block: how many queries a pass in XLA takes at a time.
    count: how many queries and outputs count, the first ones; the rest is padding. None: all count.
    """

    array: Float[Array, "m d"]
    targets: Int[Array, "n"]
    block: int
    count: Int[Array, ""] | None = None


@tree(data=["array", "first", "target_outputs", "count"])
@dataclass(frozen=True)
class StoredOutputs:
    """Outputs of which each query has its own.

    array: for each query its outputs, as columns.
    first: row r belongs to association first + r, whose target is the output with that index.
    target_outputs: for each query its target, before it was rounded to the type of the array.
    count: how many associations and outputs count, the first ones; None: all.
    """

    array: Float[Array, "rows d m"]
    first: Int[Array, ""] | int
    target_outputs: Float[Array, "rows d"]
    count: Int[Array, ""] | None = None


@tree(data=["key", "target_outputs", "first", "count"], meta=["law", "competitors"])
@dataclass(frozen=True)
class RegeneratedOutputs:
    """Outputs of which each query has its own, made from their counters whenever a pass needs them.

    key: from which each association derives the stream of its outputs.
    law: of the outputs.
    competitors: how many outputs each query has.
    target_outputs: for each query its target.
    first: row r belongs to association first + r, whose target is the output with that index.
    count: how many associations and outputs count, the first ones; None: all.
    """

    key: Key
    law: str
    competitors: int
    target_outputs: Float[Array, "rows d"]
    first: Int[Array, ""] | int = 0
    count: Int[Array, ""] | None = None


def check_shared(queries: Array, outputs: SharedOutputs) -> None:
    """Queries (n, d), outputs (m, d) and targets (n,) of whole numbers, none of them empty."""
    _check_matrix("queries", queries)
    _check_matrix("outputs", outputs.array)
    (n, d), shape, targets = queries.shape, outputs.array.shape, outputs.targets
    if shape[1] != d:
        raise refuse("outputs.shape", shape, f"(m, {d}), to go with queries of shape {queries.shape}")
    if targets.shape != (n,) or not jnp.issubdtype(targets.dtype, jnp.integer):
        raise refuse("targets", f"{targets.dtype}{targets.shape}", f"{n} whole numbers, one for each query")


def check_stored(queries: Array, outputs: Array) -> None:
    """Queries (n, d) and outputs (n, d, m), none of them empty."""
    _check_matrix("queries", queries)
    n, d = queries.shape
    if outputs.ndim != 3 or outputs.shape[:2] != (n, d) or outputs.shape[2] == 0:
        raise refuse("outputs.shape", outputs.shape, f"({n}, {d}, m) with m of at least 1")
    if not jnp.issubdtype(outputs.dtype, jnp.floating):
        raise refuse("outputs.dtype", str(outputs.dtype), "a type of real numbers")


def check_queries(queries: Array, inputs: Array) -> None:
    """One query for each input, with the same number of components."""
    _check_matrix("queries", queries)
    if queries.shape != inputs.shape:
        raise refuse("queries.shape", queries.shape, f"{inputs.shape}, one query for each input")


def _check_matrix(name: str, array: Array) -> None:
    if array.ndim != 2 or 0 in array.shape:
        raise refuse(f"{name}.shape", array.shape, "two sizes of at least 1")
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise refuse(f"{name}.dtype", str(array.dtype), "a type of real numbers")
