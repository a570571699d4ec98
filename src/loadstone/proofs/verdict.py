"""What a search for a proof returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

STORABLE, NOT_STORABLE, UNDECIDED = "storable", "not storable", "undecided"


@dataclass(frozen=True)
class Verdict:
    """Storable, with a witness; not storable, with a certificate; or undecided, with a reason.

    `margin` is the proven smallest margin of the witness at unit norm. `bound` is what the certificate proves: no W of
    unit norm has all margins above it (it is zero but for rounding).
    """

    verdict: str
    newton_steps: int
    cg_products: int
    dense_solves: int
    seconds: float
    witness: Float64[np.ndarray, "d d"] | None = None
    margin: float | None = None
    certificate: Float64[np.ndarray, "n m"] | None = None
    bound: float | None = None
    reason: str = ""
    last: Float64[np.ndarray, "d d"] | None = None  # the last iterate: a start for a neighbouring instance
