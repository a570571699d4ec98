"""The original problem: all inputs compete for one shared set of outputs."""

from __future__ import annotations

import jax
import numpy as np

from loadstone.arguments import whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.problems.budget import MOST_FACTS, Budget, budget_of
from loadstone.problems.facts import Facts, block_rows
from loadstone.streams.stream import Stream, stream_of


def original(
    stream: Stream,
    p: int,
    *,
    budget: Budget | None = None,
    block: int | None = None,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> Facts:
    """The first p associations of a stream; input mu has output mu as its target.

    answers: how many outputs there are. If given, targets are drawn with `frequencies` (frequencies.py), and
    several inputs may have the same one.

    Example:
        >>> problem = loadstone.original(loadstone.Stream(0, 4), 6)
        >>> problem.arrays().outputs.shape, problem.targets.tolist()
        ((6, 4), [0, 1, 2, 3, 4, 5])
    """
    stream, p = stream_of(stream), whole("p", p, 2, MOST_FACTS)
    answers, frequencies = check_answers(answers, frequencies)
    m = p if answers is None else answers
    block = block_rows(p, m) if block is None else min(p, whole("block", block, 1))
    budget_of(budget).require(original_bytes(p, stream.d, block, m), "the original problem")
    # Put on the device as they are: `jnp` would compile a program for each p.
    targets = jax.device_put(np.arange(p, dtype=np.int32) if answers is None else stream.targets(p, m, frequencies))
    words = "original, outputs shared" + ("" if answers is None else f", {m} answers")
    return Facts(stream.inputs(p), stream.outputs(m), targets, block, words, isotropic=stream.isotropic)


def original_bytes(p: int, d: int, block: int | None = None, answers: int | None = None) -> int:
    """Bytes that the problem takes, its pass included: inputs, queries, pull and two more arrays of that size; outputs;
    scores and weights of one block."""
    m = p if answers is None else answers
    return 4 * (5 * p * d + m * d + 3 * (block or block_rows(p, m)) * m)
