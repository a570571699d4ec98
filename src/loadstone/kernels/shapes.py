"""Shapes and types that every pass checks before it hands its operands to compiled code."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from loadstone.arguments import refuse


def check_shared(queries: jax.Array, outputs: jax.Array, targets: jax.Array) -> None:
    """Queries (n, d), outputs (m, d) and targets (n,) of whole numbers, none of them empty."""
    _check_matrix("queries", queries)
    _check_matrix("outputs", outputs)
    n, d = queries.shape
    if outputs.shape[1] != d:
        raise refuse("outputs.shape", outputs.shape, f"(m, {d}), to go with queries of shape {queries.shape}")
    check_targets(targets, n)


def check_decoupled(queries: jax.Array, outputs: jax.Array, targets: jax.Array) -> None:
    """Queries (n, d), outputs (n, d, m) and targets (n,) of whole numbers, none of them empty."""
    _check_matrix("queries", queries)
    n, d = queries.shape
    if outputs.ndim != 3 or outputs.shape[:2] != (n, d) or outputs.shape[2] == 0:
        raise refuse("outputs.shape", outputs.shape, f"({n}, {d}, m) with m of at least 1")
    if not jnp.issubdtype(outputs.dtype, jnp.floating):
        raise refuse("outputs.dtype", str(outputs.dtype), "a type of real numbers")
    check_targets(targets, n)


def check_queries(queries: jax.Array, inputs: jax.Array) -> None:
    """One query for each input, with the same number of components."""
    _check_matrix("queries", queries)
    if queries.shape != inputs.shape:
        raise refuse("queries.shape", queries.shape, f"{inputs.shape}, one query for each input")


def check_targets(targets: jax.Array, n: int) -> None:
    if targets.shape != (n,) or not jnp.issubdtype(targets.dtype, jnp.integer):
        raise refuse("targets", f"{targets.dtype}{targets.shape}", f"{n} whole numbers, one for each query")


def _check_matrix(name: str, array: jax.Array) -> None:
    if array.ndim != 2 or 0 in array.shape:
        raise refuse(f"{name}.shape", array.shape, "two sizes of at least 1")
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise refuse(f"{name}.dtype", str(array.dtype), "a type of real numbers")
