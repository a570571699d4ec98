"""Exact capacity of a stream: how many of its associations fit, with every step of the search proved.

A new association only adds inequalities. So along a stream storability is lost for good at some p, and bisection finds
the largest p whose first p associations are storable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import instance_of, refuse
from loadstone.measurements.scores import moments, targets_by_length
from loadstone.measurements.spectrum import matrix_singular_values
from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.budget import Budget
from loadstone.problems.instance import Instance
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.readable import readable
from loadstone.solvers.decide import DEFAULT_LIMITS, ProofLimits, decide
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.task import OneAtATime, numbers, require_linear

#: Stands for the smallest p that is not storable if none was proved to be so.
_NONE_PROVED = 2**31


@dataclass(frozen=True)
class InstanceCapacity:
    """The largest number of associations of a stream that can be stored, with the verdicts that prove it.

    p_c: the first p_c associations are storable and the first p_c + 1 are not; None if some verdict was undecided.
    storable: the largest p proved storable, 1 if none was (one association has no rival).
    not_storable: the smallest p proved not storable, 2^31 if none was.
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

    __repr__ = readable


def exact_capacity(
    instance: Instance,
    limits: ProofLimits = DEFAULT_LIMITS,
    *,
    progress: Callable[[int, Verdict], None] | None = None,
    family: str | Subspace = "full",
) -> InstanceCapacity:
    """How many of the first associations of a stream can be stored, looking first around the p of an instance.

    limits: of each verdict; the first one that is undecided ends the search.
    progress: called with each p and its verdict.
    family: only matrices of a linear family may store; a random mask is drawn from the seed of the stream.

    Example:
        >>> exact = loadstone.exact_capacity(loadstone.Instance(loadstone.Stream(seed=1, d=6), p=12))
        >>> exact.p_c, exact.storable, exact.not_storable
        (14, 14, 15)
    """
    instance_of("instance", instance, Instance, "an Instance, such as Instance(Stream(0, 20), 85)")
    if progress is not None and not callable(progress):
        raise refuse("progress", progress, "a function of p and its verdict")
    subspace = subspace_of(family, instance.d, seed=instance.stream.seed)
    # One association alone is always storable.
    low, high, p = 1, None, instance.p
    stride = max(1, p // 16)
    verdicts: list[tuple[int, Outcome]] = []
    start, witness, seconds = None, None, 0.0
    while high is None or high - low > 1:
        verdict = decide(instance.first(p), limits, start=start, family=subspace or "full")
        verdicts.append((p, verdict.verdict))
        seconds += verdict.seconds
        if progress:
            progress(p, verdict)
        if verdict.verdict == Outcome.UNDECIDED:
            return InstanceCapacity(None, low, high or _NONE_PROVED, tuple(verdicts), seconds, witness)
        # The last W is near the solution of the next, neighbouring instance.
        start = verdict.last
        if verdict.verdict == Outcome.STORABLE:
            low, witness = p, verdict.witness
        else:
            high = p
        if high is None:
            p, stride = p + stride, 2 * stride
        elif low == 1 and high > 2:
            p, stride = max(2, high - stride), 2 * stride
        else:
            p = (low + high) // 2
    return InstanceCapacity(low, low, high, tuple(verdicts), seconds, witness)


class Proved(OneAtATime):
    """The exact capacity, looking around p first, with the singular values and scores of the memory that proves it."""

    fields = FIELDS["capacity"]

    def check(self, spec: CheckedSpec) -> None:
        require_linear(spec, "an exact capacity, which is proved for linear families")

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        return 0.05 + 0.3 * (spec.d / 20) ** 5

    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        instance = spec.instance
        proved = exact_capacity(instance, family=spec.family)
        fields: dict[str, object] = {
            "status": "undecided" if proved.p_c is None else "proved",
            "p_c": proved.p_c,
            "storable": proved.storable,
            "not_storable": proved.not_storable,
            "verdicts": [[p, verdict] for p, verdict in proved.verdicts],
        }
        if proved.p_c is not None and proved.witness is not None:
            by_length = targets_by_length(instance.first(proved.p_c).arrays(), proved.witness)
            values = matrix_singular_values(proved.witness, spec.d)
            fields |= {"singular_values": numbers(values), "own_target": moments(by_length)}
        return fields


CAPACITY = Proved()
