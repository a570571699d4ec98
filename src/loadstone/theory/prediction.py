"""Everything that the theory says about one size, in one object: the answer of `loadstone predict`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loadstone.arguments import positive, rank_fraction, refuse, whole
from loadstone.theory.capacity import (
    MOST_DIMENSION,
    asymptotic_capacity_associations,
    bits_per_parameter,
    capacity,
    capacity_associations,
    finite_capacity,
    hebbian_associations,
    parameters,
)
from loadstone.theory.cone import MOST, merge_law
from loadstone.theory.hebbian import finite_accuracy, finite_probability_all_stored
from loadstone.theory.load import load as alpha
from loadstone.theory.load import nearest_associations, nearest_dimension
from loadstone.theory.storable import probability_storable


@dataclass(frozen=True)
class Prediction:
    """What the theory says about d dimensions, p associations and rank fraction kappa."""

    #: Dimension of the embeddings.
    d: int
    #: Number of associations.
    p: int
    #: Rank fraction m / d of the memory.
    kappa: float
    #: 'd' or 'p' if that one was not given but set to the capacity, else None.
    filled_in: str | None
    #: Free parameters of the memory: d^2 at full rank, 2 d m - m^2 in general.
    parameters: int
    #: Load p log p / d^2.
    alpha: float
    #: Load at capacity in the limit of large sizes.
    alpha_c: float
    #: Load at capacity for this p.
    alpha_c_finite: float
    #: Capacity of this d at finite size; its integer part is the largest p that is more likely storable than not.
    p_c: float
    #: Capacity of this d by the limit alone.
    p_c_asymptotic: float
    #: Number of associations that the Hebbian rule stores at this d, in the limit.
    p_hebbian: float
    #: Least dimension whose capacity is at least p.
    d_c: int
    #: D(p), the mean number of rivals that the projection onto the cone merges with the target (cone.py).
    D: float
    #: The variance of that number.
    var_k: float
    #: Probability that a decoupled instance of this size is storable; None below full rank, where it is not known.
    probability_storable: float | None
    #: log2(p!) bits over the number of parameters.
    bits_per_parameter: float
    #: The same at the capacity of this d.
    bits_per_parameter_at_capacity: float
    #: Expected share of the associations that the Hebbian rule recalls at this size.
    hebbian_accuracy: float
    #: Probability that the Hebbian rule recalls all of them.
    hebbian_probability_all_stored: float


def predict(d: int | None = None, p: int | None = None, load: float | None = None, kappa: float = 1.0) -> Prediction:
    """The prediction for a dimension, a number of associations, or both; a load may stand for either of them.

    With d alone, p is set to the capacity of d; with p alone, d to the least dimension that holds p.
    """
    kappa = rank_fraction("kappa", kappa)
    d, p, filled_in = _size(d, p, load, kappa)
    law = merge_law(p)
    p_c = float(capacity_associations(d, kappa))
    load = float(alpha(p, d))
    return Prediction(
        d=d,
        p=p,
        kappa=kappa,
        filled_in=filled_in,
        parameters=int(parameters(d, kappa)),
        alpha=load,
        alpha_c=float(capacity(kappa)),
        alpha_c_finite=float(finite_capacity(p, kappa)),
        p_c=p_c,
        p_c_asymptotic=float(asymptotic_capacity_associations(d, kappa)),
        p_hebbian=float(hebbian_associations(d)),
        d_c=least_dimension(p, kappa),
        D=law.mean,
        var_k=law.variance,
        probability_storable=float(probability_storable(p, d)) if kappa == 1 else None,
        bits_per_parameter=float(bits_per_parameter(p, d, kappa)),
        bits_per_parameter_at_capacity=float(bits_per_parameter(p_c, d, kappa)),
        hebbian_accuracy=finite_accuracy(p, d),
        hebbian_probability_all_stored=finite_probability_all_stored(p, d),
    )


def least_dimension(p: int, kappa: float = 1.0) -> int:
    """The least whole d whose capacity is at least p: 2 alpha_c(kappa) d^2 >= p D(p)."""
    # Subtracting 1e-9 accepts a d for which p D(p) = d^2 holds exactly but for rounding (p = 2, d = 1).
    kappa = rank_fraction("kappa", kappa)
    needed, room = p * merge_law(p).mean, 2 * float(capacity(kappa))
    return max(1, math.ceil(math.sqrt(needed) / math.sqrt(room) - 1e-9))  # needed / room may overflow


def _size(d: int | None, p: int | None, load: float | None, kappa: float) -> tuple[int, int, str | None]:
    if d is not None and p is not None and load is not None:
        raise ValueError("The size is overdetermined: give at most two of d, p and load.")
    d = None if d is None else whole("d", d, 1, MOST_DIMENSION)
    p = None if p is None else whole("p", p, 2, MOST)
    if d is not None and p is not None:
        return d, p, None
    if load is not None:
        return *_size_of_load(d, p, positive("load", load)), None
    if d is not None:
        return d, max(2, math.floor(capacity_associations(d, kappa) + 1e-9)), "p"
    if p is not None:
        least = least_dimension(p, kappa)
        if least > MOST_DIMENSION:
            raise refuse("p", p, f"small enough to fit at kappa = {kappa:g} in d = {MOST_DIMENSION:g}")
        return least, p, "d"
    raise ValueError("The size is not determined: give a dimension d, a number of associations p, or both.")


def _size_of_load(d: int | None, p: int | None, load: float) -> tuple[int, int]:
    """d and p, of which one is given, such that their load is as near to `load` as whole numbers allow."""
    if p is not None:
        d = nearest_dimension(load, p)
        if d > MOST_DIMENSION:
            raise refuse("load", load, f"large enough for p = {p} to have it at d = {MOST_DIMENSION:g} or below")
        return d, p
    if d is None:
        raise ValueError("The size is not determined: give a dimension d or a number of associations p with the load.")
    p = nearest_associations(load, d)
    if p < 2:
        raise refuse("load", load, f"large enough for two associations at d = {d}")
    return d, p
