"""Exact capacity of a stream: how many of its associations fit, with every step of the search proved.

A new association only adds inequalities. So along a stream storability is lost for good at some p, and bisection finds
the largest p whose first p associations are storable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.kinds import ORIGINAL, check_kind, sets_of_outputs
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.solvers.decide import DEFAULT_LIMITS, ProofLimits, decide
from loadstone.streams.stream import Stream

#: Stands for the smallest p that is not storable if none was found.
_NONE_FOUND = 2**31


@dataclass(frozen=True)
class InstanceCapacity:
    """The largest number of associations of a stream that can be stored, with the verdicts that prove it.

    p_c: the first p_c associations are storable and the first p_c + 1 are not; None if some verdict was undecided.
    storable: the largest p found storable, 1 if none was (one association has no rival).
    not_storable: the smallest p found not storable, 2^31 if none was.
    verdicts: every p that was tried, in order, with its verdict.
    seconds: time of all searches together.
    witness: a W of unit norm that stores the first `storable` associations; nearly the only one at p_c.
    """

    p_c: int | None
    storable: int
    not_storable: int
    verdicts: tuple[tuple[int, Outcome], ...]
    seconds: float
    witness: Float64[np.ndarray, "d d"] | None = None


class Prefixes:
    """The first p associations of a stream as arrays, made for the largest p asked for so far; smaller p are slices.

    With a number of answers there are so many outputs for every p, and targets are drawn with `frequencies`.
    """

    def __init__(
        self, kind: str, stream: Stream, answers: int | None = None, frequencies: Frequencies = "uniform"
    ) -> None:
        self.kind, self.stream = check_kind(kind), stream
        self.answers, self.frequencies = check_answers(answers, frequencies)
        self._longest: Arrays | None = None

    def of(self, p: int) -> Arrays:
        if self._longest is None or len(self._longest.targets) < p:
            self._longest = self._made(p)
        longest = self._longest
        m = p if self.answers is None else self.answers
        outputs = longest.outputs[:p, :m] if longest.decoupled else longest.outputs[:m]
        return Arrays(longest.inputs[:p], outputs, longest.targets[:p])

    def _made(self, p: int) -> Arrays:
        m = p if self.answers is None else self.answers
        # Outputs in float32, centred in float64, and as many intermediate numbers.
        numbers = self.stream.d * (max(p, m) if self.kind == ORIGINAL else p * m)
        Budget().require(28 * numbers, f"a verdict on the {self.kind} problem")
        inputs = np.asarray(self.stream.inputs(p))
        if self.kind == ORIGINAL:
            outputs = np.asarray(self.stream.outputs(m))
        else:
            columns = self.stream.grouped_outputs(p, sets_of_outputs(self.kind, p), m)
            outputs = np.ascontiguousarray(np.asarray(columns).transpose(0, 2, 1))
        if self.answers is None:
            return Arrays(inputs, outputs, np.arange(p, dtype=np.int32))
        return Arrays(inputs, outputs, self.stream.targets(p, m, self.frequencies))


def instance_capacity(
    kind: str,
    stream: Stream,
    around: int | None = None,
    limits: ProofLimits = DEFAULT_LIMITS,
    progress: Callable[[int, Verdict], None] | None = None,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
    family: str | Subspace = "full",
) -> InstanceCapacity:
    """The exact capacity of one stream. `around` is a first guess; `progress` is called with each p and its verdict.

    answers, frequencies: see `Prefixes`.
    family: only matrices of a linear family may store; a random mask is drawn from the seed of the stream.
    """
    prefixes = Prefixes(kind, stream, answers, frequencies)
    subspace = subspace_of(family, stream.d, stream.seed)
    # One association alone is storable; the first question is p = 2.
    low, high = 1, None
    p = max(2, stream.d if around is None else whole("around", around, 1))
    stride = max(1, p // 16)
    found: list[tuple[int, Outcome]] = []
    start, witness, seconds = None, None, 0.0
    while high is None or high - low > 1:
        verdict = decide(prefixes.of(p), limits, start, family=subspace or "full")
        found.append((p, verdict.verdict))
        seconds += verdict.seconds
        if progress:
            progress(p, verdict)
        if verdict.verdict == Outcome.UNDECIDED:
            return InstanceCapacity(None, low, high or _NONE_FOUND, tuple(found), seconds, witness)
        # The last W is near the solution of the next, neighbouring instance.
        start = verdict.last
        if verdict.verdict == Outcome.STORABLE:
            low, witness = p, verdict.witness
        elif verdict.verdict == Outcome.NOT_STORABLE:
            high = p
        if high is None:
            p, stride = p + stride, 2 * stride
        elif low == 1 and high > 2:
            p, stride = max(2, high - stride), 2 * stride
        else:
            p = (low + high) // 2
    return InstanceCapacity(low, low, high, tuple(found), seconds, witness)
