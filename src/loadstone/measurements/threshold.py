"""Exact capacity of an instance: how many associations of one stream fit, every step of the search proved.

A new association only adds inequalities. So along one stream storability is lost once and for all at some p, and
bisection finds the largest p whose first p associations are storable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import choice, whole
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.stream import Stream
from loadstone.proofs.verdict import NOT_STORABLE, STORABLE, UNDECIDED, Verdict
from loadstone.solvers.newton import DEFAULT_LIMITS, ProofLimits, decide

KINDS = ("original", "decoupled")


@dataclass(frozen=True)
class InstanceCapacity:
    """The first `p_c` associations are storable and the first p_c + 1 are not, both proved.

    If some verdict was undecided, p_c is None and the capacity lies in [storable, not_storable).
    """

    p_c: int | None
    storable: int
    not_storable: int
    verdicts: tuple[tuple[int, str], ...]
    seconds: float
    #: A memory that stores the first `storable`; nearly the only one, up to its scale.
    witness: Float64[np.ndarray, "d d"] | None = None


class Prefixes:
    """First p associations of a stream as arrays; longer ones are made when needed, shorter ones are cut out."""

    def __init__(self, kind: str, stream: Stream) -> None:
        self.kind, self.stream = choice("problem", kind, KINDS), stream
        self._longest: Arrays | None = None

    def of(self, p: int) -> Arrays:
        if self._longest is None or len(self._longest.targets) < p:
            self._longest = self._made(p)
        whole_one = self._longest
        outputs = whole_one.outputs[:p, :p] if whole_one.own else whole_one.outputs[:p]
        return Arrays(whole_one.inputs[:p], outputs, whole_one.targets[:p])

    def _made(self, p: int) -> Arrays:
        # Outputs in float32, in float64 about their mean, and as many numbers in between.
        numbers = p * self.stream.d * (p if self.kind == "decoupled" else 1)
        Budget().require(28 * numbers, f"a verdict on the {self.kind} problem")
        inputs = np.asarray(self.stream.inputs(p))
        if self.kind == "original":
            outputs = np.asarray(self.stream.outputs(p))
        else:
            outputs = np.ascontiguousarray(np.asarray(self.stream.decoupled_outputs(0, p, p)).transpose(0, 2, 1))
        return Arrays(inputs, outputs, np.arange(p, dtype=np.int32))


def instance_capacity(
    kind: str,
    stream: Stream,
    around: int | None = None,
    limits: ProofLimits = DEFAULT_LIMITS,
    progress: Callable[[int, Verdict], None] | None = None,
) -> InstanceCapacity:
    """The exact capacity of one stream. `around` is a guess; `progress` sees each p with its verdict."""
    prefixes = Prefixes(kind, stream)
    # One association has no rival, so it is storable; p = 2 is the least question that can be asked.
    low, high = 1, None
    p = max(2, whole("around", around, 1) if around else stream.d)
    stride = max(1, p // 16)
    found: list[tuple[int, str]] = []
    start, witness, seconds = None, None, 0.0
    while high is None or high - low > 1:
        verdict = decide(prefixes.of(p), limits, start)
        found.append((p, verdict.verdict))
        seconds += verdict.seconds
        if progress:
            progress(p, verdict)
        if verdict.verdict == UNDECIDED:
            return InstanceCapacity(None, low, high or 2**31, tuple(found), seconds, witness)
        # The last iterate is near the solution of the next, neighbouring instance.
        start = verdict.last
        if verdict.verdict == STORABLE:
            low, witness = p, verdict.witness
        elif verdict.verdict == NOT_STORABLE:
            high = p
        if high is None:
            p, stride = p + stride, 2 * stride
        elif low == 1 and high > 2:
            p, stride = max(2, high - stride), 2 * stride
        else:
            p = (low + high) // 2
    return InstanceCapacity(low, low, high, tuple(found), seconds, witness)
