"""The original problem: all inputs compete for one shared set of outputs."""

from __future__ import annotations

import jax.numpy as jnp

from loadstone.arguments import whole
from loadstone.problems.budget import Budget
from loadstone.problems.facts import Facts, block_rows
from loadstone.problems.stream import Stream


def original(
    stream: Stream, p: int, budget: Budget | None = None, block: int | None = None, rows: int | None = None
) -> Facts:
    """The first p associations of a stream; input mu has output mu as its target.

    With `rows` above p, arrays are filled up with zeros to so many rows, and all such p share compiled programs.
    """
    p = whole("p", p, 2)
    n = p if rows is None else whole("rows", rows, p)
    block = block_rows(n, n) if block is None else whole("block", block, 1)
    (budget or Budget()).require(original_bytes(n, stream.d, block), "the original problem")
    places = jnp.arange(n, dtype=jnp.int32)
    vectors = stream.inputs(n), stream.outputs(n)
    count = None if rows is None else jnp.int32(p)
    if count is not None:
        vectors = tuple(jnp.where((places < count)[:, None], part, 0) for part in vectors)
    return Facts(*vectors, places, block, form="original, outputs shared", count=count)


def original_bytes(n: int, d: int, block: int | None = None) -> int:
    """What the problem takes, its pass included: inputs, outputs, queries, pull and two more of that size; scores and
    weights of one block."""
    return 4 * (6 * n * d + 3 * (block or block_rows(n, n)) * n)
