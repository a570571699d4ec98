"""The original problem: all inputs compete for one shared set of outputs."""

from __future__ import annotations

import jax.numpy as jnp

from loadstone.arguments import whole
from loadstone.problems.budget import Budget
from loadstone.problems.facts import Facts, block_rows
from loadstone.problems.stream import Stream


def original(stream: Stream, p: int, budget: Budget | None = None, block: int | None = None) -> Facts:
    """The first p associations of a stream; input mu has output mu as its target."""
    p = whole("p", p, 2)
    block = block_rows(p, p) if block is None else whole("block", block, 1)
    (budget or Budget()).require(original_bytes(p, stream.d, block), "the original problem")
    targets = jnp.arange(p, dtype=jnp.int32)
    parts = stream.inputs(p), stream.outputs(p), targets, block, "original, outputs shared"
    return Facts(*parts, isotropic=stream.isotropic)


def original_bytes(p: int, d: int, block: int | None = None) -> int:
    """Bytes that the problem takes, its pass included: inputs, outputs, queries, pull and two more arrays of that size;
    scores and weights of one block."""
    return 4 * (6 * p * d + 3 * (block or block_rows(p, p)) * p)
