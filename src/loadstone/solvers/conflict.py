"""Which facts cannot be stored together? A certificate names facts that no W stores; here is a minimal set.

One fact after the other is left out. If the rest is still not storable, the fact was not needed, and neither is any
other that the new certificate does without. What is left in the end is a conflict of which every member is needed:
without any one of them, the others can be stored.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from loadstone.arguments import positive, refuse
from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of
from loadstone.problems.arrays import Arrays, HasArrays, arrays_of
from loadstone.proofs.conditioned import Conditioned
from loadstone.proofs.strict import TooLargeError, excludes_all
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.readable import readable
from loadstone.solvers.decide import decide

#: Multipliers below this share of the largest are rounding; whether a conflict does without them is proved anyway.
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Conflict:
    """Facts that no W stores together.

    facts: their rows in the instance.
    proof: the verdict on these facts alone, with its certificate.
    minimal: whether it is proved of each of them that the others can be stored without it.
    """

    facts: tuple[int, ...]
    proof: Verdict
    minimal: bool

    __repr__ = readable


def conflict_in(
    instance: HasArrays,
    verdict: Verdict | None = None,
    *,
    seconds: float | None = None,
    family: str = "full",
) -> Conflict | None:
    """A small conflict of an instance that is not storable; None if no proof was found that it is not.

    verdict: the verdict on the instance, if it is known. It is checked: one on another instance is refused.
    seconds: most time; then the conflict may not be minimal.
    family: the linear family of W.

    Example:
        >>> from loadstone.solvers.conflict import conflict_in
        >>> inputs = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]  # the first and the last are the same, their answers are not
        >>> conflict_in(loadstone.facts(inputs, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).facts
        (0, 2)
    """
    arrays = arrays_of(instance)
    if arrays.decoupled:
        raise refuse("instance", "a decoupled one", "one with shared outputs, whose facts can be left out one by one")
    deadline = Deadline(None if seconds is None else positive("seconds", seconds))
    if verdict is not None:
        _check_belongs(verdict, arrays, family)
    proof = verdict or decide(arrays, seconds=seconds, family=family)
    if proof.verdict != Outcome.NOT_STORABLE:
        return None
    rows, proof = _needed(arrays, np.arange(len(arrays.targets)), proof, deadline, family)
    untried, minimal = set(rows.tolist()), True
    while untried:
        if deadline.is_over:
            minimal = False
            break
        # Those that weigh least in the certificate are the likeliest to be left out.
        weights = _weights(proof)
        row = min((index for index in range(len(rows)) if rows[index] in untried), key=lambda index: weights[index])
        untried.discard(int(rows[row]))
        rest = np.delete(rows, row)
        if not len(rest):
            break
        without_it = decide(_part(arrays, rest), seconds=deadline.share(1.0), family=family)
        if without_it.verdict == Outcome.UNDECIDED:
            minimal = False
        elif without_it.verdict == Outcome.NOT_STORABLE:
            rows, proof = _needed(arrays, rest, without_it, deadline, family)
            untried &= set(rows.tolist())
    return Conflict(tuple(rows.tolist()), proof, minimal)


def _check_belongs(verdict: Verdict, arrays: Arrays, family: str) -> None:
    """Refuse a verdict whose proof does not hold for this instance and family."""
    if not isinstance(verdict, Verdict):
        raise refuse("verdict", verdict, "None, or what decide returned for this instance")
    subspace, d = subspace_of(family, arrays.inputs.shape[1]), arrays.inputs.shape[1]
    certificate, witness, holds = verdict.certificate, verdict.witness, verdict.verdict == Outcome.UNDECIDED
    if verdict.verdict == Outcome.NOT_STORABLE and certificate is not None:
        holds = certificate.shape == (len(arrays.targets), len(arrays.outputs))
        with contextlib.suppress(TooLargeError):  # then it cannot be judged here, as it could be where it was proved
            holds = holds and excludes_all(arrays, certificate, subspace)
    if verdict.verdict == Outcome.STORABLE and witness is not None:
        holds = witness.shape == (d, d) and Conditioned(arrays, subspace).witness(witness) is not None
    if not holds:
        allowed = f"one on this instance and the family {family!r}, for which its proof does not hold"
        raise refuse("verdict", str(verdict.verdict), allowed)


def _needed(
    arrays: Arrays, rows: Int[np.ndarray, "k"], proof: Verdict, deadline: Deadline, family: str
) -> tuple[Int[np.ndarray, "j"], Verdict]:
    """The facts that a certificate needs, and the proof about them alone; all of them if that is not decided."""
    weights = _weights(proof)
    needed = weights > _NEGLIGIBLE * weights.max()
    if needed.all():
        return rows, proof
    alone = decide(_part(arrays, rows[needed]), seconds=deadline.share(1.0), family=family)
    return (rows[needed], alone) if alone.verdict == Outcome.NOT_STORABLE else (rows, proof)


def _weights(proof: Verdict) -> Float64[np.ndarray, "k"]:
    """How much each fact weighs in a certificate."""
    assert proof.certificate is not None
    return proof.certificate.sum(axis=1)


def _part(arrays: Arrays, rows: Int[np.ndarray, "k"]) -> Arrays:
    return Arrays(arrays.inputs[rows], arrays.outputs, arrays.targets[rows])
