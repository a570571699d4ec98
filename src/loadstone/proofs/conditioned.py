"""An instance in numbers of moderate size, and the way back from a W or multipliers there to a proof about it.

Neither the lengths of inputs nor the scale or a common shift of the outputs change what is storable, but they do change
rounding errors. A proof is always about the numbers that were given, and is checked on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float64

from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.proofs.rounding import certain_tie, least_margin
from loadstone.proofs.scaling import scaled
from loadstone.proofs.strict import excludes_all
from loadstone.proofs.verdict import TIE, Outcome, what_a_certificate_proves, what_a_witness_proves

#: Multipliers below these shares of the largest are left out, one share after the other, until the rest is a proof.
_LEFT_OUT = (1e-30, 1e-12, 1e-9, 1e-6, 1e-3)


@dataclass(frozen=True)
class Proof:
    """A proof that an instance is storable, or that it is not.

    outcome: storable or not storable.
    reason: what is proved, in one sentence.
    witness, certificate: the one or the other, for the instance as it was given.
    margin: a lower bound on the smallest margin of the witness.
    """

    outcome: Outcome
    reason: str
    witness: Float64[np.ndarray, "d d"] | None = None
    margin: float | None = None
    certificate: Float64[np.ndarray, "n m"] | None = None


class Conditioned:
    """An instance, and the family of the matrices that may store it.

    given: the instance.
    arrays: the same with inputs of unit length and outputs about their mean, in float64.
    subspace: the family; None: all matrices.
    """

    def __init__(self, given: Arrays, subspace: Subspace | None = None) -> None:
        self.given, self.subspace = given, subspace
        inputs, exponents = scaled(given.inputs, axis=1)
        lengths = np.linalg.norm(inputs, axis=1, keepdims=True)
        inputs /= np.where(lengths > 0, lengths, 1.0)
        # Divisors that turn multipliers for inputs of unit length into those of the given inputs, up to a common factor
        # that keeps them within range.
        middle = (exponents.min() + exponents.max()) // 2
        with np.errstate(over="ignore"):
            self._lengths = np.ldexp(lengths, (exponents - middle)[:, None])
        outputs, _ = scaled(given.outputs)
        outputs -= outputs.mean(axis=-2, keepdims=True)
        self.arrays = Arrays(inputs, outputs, given.targets)

    def inside(self, matrix: Float64[Any, "d d"], xp: ModuleType = np) -> Float64[Any, "d d"]:
        """The nearest matrix of the family."""
        return matrix if self.subspace is None else self.subspace.projected(matrix, xp)

    def tie(self) -> Proof | None:
        """A certificate that needs no search: a rival that ties with its target under every W."""
        if (tie := certain_tie(self.given)) is None:
            return None
        certificate = np.zeros((len(self.given.targets), self.given.outputs.shape[-2]))
        certificate[tie] = 1.0
        return Proof(Outcome.NOT_STORABLE, TIE, certificate=certificate)

    def witness(self, weights: Float64[np.ndarray, "d d"]) -> Proof | None:
        """W as a witness, if it is one beyond doubt."""
        size = np.abs(weights).max()
        if not (np.isfinite(size) and size > 0):
            return None
        witness = self.inside(weights / size)
        if not witness.any():
            return None
        witness = witness / np.linalg.norm(witness)
        margin = least_margin(self.given, witness, self.subspace)
        if margin < 0:
            return None
        return Proof(Outcome.STORABLE, what_a_witness_proves(margin, self.subspace), witness, margin)

    def certificate(self, multipliers: Float64[np.ndarray, "n m"], most_bytes: int | None = None) -> Proof | None:
        """Multipliers of the conditioned instance as a certificate of the given one, if they are one beyond doubt.

        Where some inputs or outputs depend on each other, the small multipliers among them belong to pairs that a proof
        must do without. So they are left out, more and more of them.
        """
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            certificate = multipliers / self._lengths
        kept = multipliers.size + 1
        for least in _LEFT_OUT:
            few = np.where(multipliers > least * multipliers.max(), certificate, 0.0)
            if np.count_nonzero(few) < kept and excludes_all(self.given, few, self.subspace, most_bytes):
                return Proof(Outcome.NOT_STORABLE, what_a_certificate_proves(self.subspace), certificate=few)
            kept = min(kept, int(np.count_nonzero(few)))
        return None
