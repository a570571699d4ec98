"""Between the original and the decoupled problem: groups of inputs, each of which shares a set of outputs."""

from __future__ import annotations

import jax.numpy as jnp

from loadstone.arguments import whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.problems.budget import MOST_FACTS, Budget, budget_of
from loadstone.problems.separate import Separate
from loadstone.streams.stream import Stream, stream_of


def grouped(
    stream: Stream,
    p: int,
    *,
    groups: int,
    budget: Budget | None = None,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> Separate:
    """The first p associations of a stream, input mu in group mu mod `groups`; each group has p outputs of its own, or
    as many as `answers` says.

    Output mu of its group is the target of input mu; of `answers` outputs one that is drawn with `frequencies`
    (frequencies.py). One group is the original problem; as many as associations are the decoupled one.

    Example:
        >>> from loadstone.problems.grouped import grouped
        >>> outputs = grouped(loadstone.Stream(0, 4), 6, groups=2).arrays().outputs
        >>> bool((outputs[0] == outputs[2]).all()), bool((outputs[0] == outputs[1]).all())
        (True, False)
    """
    stream, p, groups = stream_of(stream), whole("p", p, 2, MOST_FACTS), whole("groups", groups, 1, MOST_FACTS)
    answers, frequencies = check_answers(answers, frequencies)
    m = p if answers is None else answers
    budget_of(budget).require(4 * p * stream.d * (6 + m), f"the problem with {groups} groups, outputs stored")
    targets = jnp.arange(p, dtype=jnp.int32) if answers is None else jnp.asarray(stream.targets(p, m, frequencies))
    words = f"{min(groups, p)} groups, outputs stored in float32" + ("" if answers is None else f", {m} answers each")
    return Separate(stream.inputs(p), stream.grouped_outputs(p, groups, m), targets, words)
