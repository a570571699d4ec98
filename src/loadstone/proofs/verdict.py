"""What a search for a proof returns, and what the proof says in words."""

from __future__ import annotations

import decimal
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float64

from loadstone.memories.subspaces.registry import name_of
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.readable import readable

#: What a certificate with a single pair proves.
TIE = "A rival ties with its target under every W."


class Outcome(StrEnum):
    """The verdict on an instance. Each value equals its plain string."""

    STORABLE = "storable"
    NOT_STORABLE = "not storable"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Verdict:
    """Storable, with a witness; not storable, with a certificate; or undecided, with a reason.

    verdict: the outcome.
    newton_steps: Newton steps taken.
    cg_products: products with the Hessian, over all steps.
    dense_solves: how often the d^2 x d^2 Hessian was formed and factorised.
    seconds: time of the search.
    witness: a W of unit norm that stores the instance, if it is storable.
    margin: proven lower bound on the smallest margin of the witness.
    certificate: the multipliers lambda that exclude every W, if the instance is not storable.
    reason: in one sentence, what is proved, or why nothing is.
    last: the last W of the search, a good start for a neighbouring instance.
    passes: passes of L-BFGS before Newton's method.
    memory: the witness as a memory, which can be measured, saved and asked.
    family: the linear family that the verdict is about; None: all matrices.
    """

    verdict: Outcome
    newton_steps: int
    cg_products: int
    dense_solves: int
    seconds: float
    witness: Float64[np.ndarray, "d d"] | None = field(default=None, repr=False)
    margin: float | None = None
    certificate: Float64[np.ndarray, "n m"] | None = field(default=None, repr=False)
    reason: str = ""
    last: Float64[np.ndarray, "d d"] | None = field(default=None, repr=False)
    passes: int = 0
    memory: Any = field(default=None, repr=False)
    family: Subspace | None = None

    __repr__ = readable


def what_a_witness_proves(margin: float, family: Subspace | None) -> str:
    """What a witness proves, in one sentence. `family` is a linear family, None for all matrices."""
    witness = "The witness" if family is None else f"The witness, a W of the family {name_of(family)!r},"
    return f"{witness} stores every association: at unit norm each margin is above {_rounded(margin, up=False)}."


def what_a_certificate_proves(family: Subspace | None) -> str:
    """What a certificate proves, in one sentence. `family` as above."""
    return f"No W{_of(family)} stores every association."


def what_a_bound_proves(share: float, family: Subspace | None) -> str:
    """What multipliers prove that make the sum of all pairs small, but not zero. `family` as above."""
    which, largest = _of(family), "" if family is None else " in any W"
    return (
        f"No W{which} has all margins above {_rounded(share, up=True)} of the largest that they can be{largest}; "
        f"a W{which} whose margins are all positive but smaller is not excluded."
    )


def _of(family: Subspace | None) -> str:
    return "" if family is None else f" of the family {name_of(family)!r}"


def _rounded(value: float, up: bool) -> str:
    """Three digits, rounded so that the statement about a bound (up) or a margin (down) stays true."""
    context = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR)
    return f"{context.create_decimal(value):g}"
